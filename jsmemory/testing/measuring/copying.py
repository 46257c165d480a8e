"""What a verified copy of a store takes over reading and writing the same entries at the same time."""

from collections.abc import Awaitable, Callable, Iterable
from functools import partial
from typing import Final

import anyio

from jsmemory.errors import BackendUnavailableError
from jsmemory.moving import Outcome, copy_entries
from jsmemory.moving.crew import AT_ONCE
from jsmemory.store import Store
from jsmemory.testing.measuring.comparing import Comparison, Turns
from jsmemory.testing.measuring.operations import Report

NAME: Final = "copy"

ROUNDS: Final = 4


async def measure_copy(
    source: Store,
    open_empty: Callable[[str], Awaitable[Store]],
    *,
    at_once: int = AT_ONCE,
    rounds: int = ROUNDS,
    report: Report = lambda operation, part: None,
) -> Comparison:
    """
    Time copies of a store against reads and creates of the same entries, as many at once.

    The two take turns, each into an empty store of its own.

    Args:
        source: What is copied.
        open_empty: Opens an empty store that nobody else uses, by a name that is a legal key
            without a dot. Asked for the same name again, it may empty the one of before.
        at_once: Entries that are on their way at once.
        rounds: How often each is timed.
        report: Told how far it is.

    Raises:
        BackendUnavailableError: an entry was not copied, so the times mean nothing.
    """
    entries = len(await source.list())
    turns = Turns(0)
    for number in range(rounds):
        report(NAME, number / rounds)
        bare, copied = await open_empty("bare"), await open_empty("copied")
        read_and_write = partial(_read_and_write, source, bare, at_once)
        # Each is first as often as second: what the first leaves for the disk to do slows the other.
        if number % 2:
            await turns.raw(read_and_write)
        moved = await turns.store(partial(copy_entries, source, copied, at_once=at_once))
        if moved.counts != {Outcome.CREATED: entries}:
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
