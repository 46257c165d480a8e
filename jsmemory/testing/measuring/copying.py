"""What a verified copy of a store takes over reading and writing the same entries at the same time."""

from collections.abc import Awaitable, Callable, Iterable
from functools import partial
from typing import Final

import anyio

from jsmemory.errors import BackendUnavailableError
from jsmemory.limits import MAX_CONTENT_BYTES, MAX_ENTRIES
from jsmemory.moving import Outcome, copy_entries
from jsmemory.moving.crew import AT_ONCE
from jsmemory.store import Store
from jsmemory.testing.measuring.comparing import Comparison, Turns

MAX_COPY_RATIO: Final = 1.5
"""What a copy takes at most, where reading and writing alone take 1: it reads back and compares too."""

ROUNDS: Final = 4


async def measure_copy(
    open_empty: Callable[[str], Awaitable[Store]],
    *,
    entries: int = MAX_ENTRIES,
    size: int = MAX_CONTENT_BYTES,
    at_once: int = AT_ONCE,
    rounds: int = ROUNDS,
) -> Comparison:
    """
    Time copies of a store against reads and creates of the same entries, as many at once.

    The two take turns, each into an empty store of its own.

    Args:
        open_empty: Opens an empty store that nobody else uses, by a name that is a legal key
            without a dot. The stores stay as they are in the end.
        entries: How many entries are copied, at most 1,024.
        size: Bytes of the content of each.
        at_once: Entries that are on their way at once.
        rounds: How often each is timed.

    Raises:
        BackendUnavailableError: an entry was not copied, so the times mean nothing.
    """
    source = await open_empty("source")
    keys = [f"entry-{number:04}" for number in range(entries)]
    await _each(
        keys, at_once, lambda key: source.create(key, f"What was copied as {key}", key.ljust(size, "x"), scope=None)
    )
    turns = Turns(0)
    for number in range(rounds):
        bare, copied = await open_empty(f"bare-{number}"), await open_empty(f"copied-{number}")
        read_and_write = partial(_read_and_write, source, bare, at_once)
        # Each is first as often as second: what the first leaves for the disk to do slows the other.
        if number % 2:
            await turns.raw(read_and_write)
        report = await turns.store(partial(copy_entries, source, copied, at_once=at_once))
        if report.counts != {Outcome.CREATED: entries}:
            raise BackendUnavailableError("An entry was not copied.", "Let nobody else use the stores meanwhile.")
        if not number % 2:
            await turns.raw(read_and_write)
    return turns.comparison()


async def _read_and_write(source: Store, destination: Store, at_once: int) -> None:
    async def carry(key: str) -> None:
        description, content = await source.read(key, scope=None)
        await destination.create(key, description, content, scope=None)

    await _each([item.key for item in await source.list()], at_once, carry)


async def _each(keys: Iterable[str], at_once: int, do: Callable[[str], Awaitable[None]]) -> None:
    left = iter(keys)

    async def work() -> None:
        for key in left:
            await do(key)

    async with anyio.create_task_group() as tasks:
        for _ in range(at_once):
            tasks.start_soon(work)
