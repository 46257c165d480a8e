"""Descriptions of values that other programs wrote: in the bodies, and nowhere else."""

from collections.abc import Mapping
from typing import Final

import anyio

from jsmemory import frontmatter
from jsmemory.backends.jetstream.binding import MadeAnew
from jsmemory.backends.jetstream.deadline import Deadline
from jsmemory.backends.jetstream.reading import Reading
from jsmemory.errors import BackendError

_AT_ONCE: Final = 32
# Bodies that are fetched side by side.


async def describe(reading: Reading, foreign: Mapping[str, int], deadline: Deadline) -> dict[str, str]:
    """
    Read descriptions out of bodies.

    Args:
        reading: Reads them.
        foreign: Names, each with the sequence that it is known to have reached.
        deadline: When to give up.

    Returns:
        The descriptions by name, without those of values that are gone since.

    Raises:
        BackendError: a body was not to be had.
        MadeAnew: the bucket is another one.
    """
    found: dict[str, str] = {}
    if not foreign:
        return found
    some_at_once = anyio.CapacityLimiter(_AT_ONCE)

    async def fetch(name: str, sequence: int) -> None:
        async with some_at_once:
            message = await reading.newest(name, deadline, at_least=sequence)
        if message is not None and message.value is not None:
            found[name] = frontmatter.read_description(message.value)

    try:
        async with anyio.create_task_group() as tasks:
            for name, sequence in foreign.items():
                tasks.start_soon(fetch, name, sequence)
    except* (BackendError, MadeAnew) as group:
        raise group.exceptions[0] from None
    return found
