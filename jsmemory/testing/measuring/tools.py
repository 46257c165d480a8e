"""What a tool call costs over the call of the store that it makes."""

from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Final

from jsmemory.errors import BackendUnavailableError
from jsmemory.scope import Scope
from jsmemory.store import Store
from jsmemory.testing.measuring.comparing import Comparison, Turns
from jsmemory.testing.measuring.operations import UNMEASURED, Report
from jsmemory.tools import MemoryTools, Trace
from jsmemory.tools.tracing import log

ROUNDS: Final = 1000
MAX_TOOL_RATIO: Final = 1.1
"""
What a tool call takes at most, where the store's own call takes 1: with 4 KiB of ASCII, in a bucket.

A tool shows what it read as JSON, which costs by the byte, and more where it is no ASCII: to read
64 KiB takes up to 1.3, and up to 1.8 in other scripts. On files, whose own read is quicker, it is up to
1.2 for 4 KiB, and 2.1 for 64.
"""

_SPARE_KEYS: Final = 200
# Both sides create this many before they are deleted again: far from the limit of a store.

_LISTINGS: Final = 30 + UNMEASURED
# A listing takes as long as a hundred reads.


async def measure_tools(
    store: Store, listed: Store, *, rounds: int = ROUNDS, size: int = 4096, report: Report = lambda tool, part: None
) -> Mapping[str, Comparison]:
    """
    Time tool calls, as a provider's calls go in and its results come out, against the store's.

    The two take turns; each does the same to a key of its own. Everything that was written is
    deleted again.

    Args:
        store: An empty one that nobody else uses.
        listed: One with the entries that are listed. Not the same: what has been deleted there takes time too.
        rounds: How often each is timed; a listing 30 times at most.
        size: Bytes of a content.
        report: Told the tool and which part of it is done.

    Returns:
        By the name of the tool; ``memory_write`` creates, ``memory_overwrite`` is the same tool
        replacing what it has read. ``raw`` is the store.

    Raises:
        BackendUnavailableError: a call was refused, so the times mean nothing.
    """
    return await _Measuring(store, listed, rounds + UNMEASURED, size, report).measure()


class _Measuring:
    def __init__(self, store: Store, listed: Store, rounds: int, size: int, report: Report) -> None:
        self._store = store
        self._listed = listed
        self._rounds = rounds
        self._size = size
        self._report = report
        self._scope = Scope()
        self._tools = MemoryTools(store, Scope(), hook=self._note)
        self._written = 0
        self._codes: set[str] = set()

    async def measure(self) -> Mapping[str, Comparison]:
        create, delete = await self._create_and_delete()
        for key in ("own", "tool"):
            await self._store.create(key, *self._text(), scope=None)
        try:
            measured = {
                "memory_list": await self._list(),
                "memory_read": await self._read(),
                "memory_write": create,
                "memory_overwrite": await self._overwrite(),
                "memory_delete": delete,
            }
        finally:
            for key in ("own", "tool"):
                await self._store.delete(key, scope=None)
        if self._codes != {"ok"}:
            raise BackendUnavailableError("A measured call was refused.", "Let nobody else use the store meanwhile.")
        return measured

    async def _list(self) -> Comparison:
        turns = Turns(UNMEASURED)
        tools = MemoryTools(self._listed, Scope(), hook=self._note)
        rounds = min(self._rounds, _LISTINGS)
        for done in range(rounds):
            await turns.either(_call(tools, "memory_list"), self._listed.list)
            self._report("memory_list", done / rounds)
        return turns.comparison()

    async def _read(self) -> Comparison:
        turns = Turns(UNMEASURED)
        for done in range(self._rounds):
            await turns.either(
                self._call("memory_read", key="tool"), partial(self._store.read, "own", scope=self._scope)
            )
            self._report("memory_read", done / self._rounds)
        return turns.comparison()

    async def _overwrite(self) -> Comparison:
        turns = Turns(UNMEASURED)
        for done in range(self._rounds):
            await turns.either(
                self._write("tool", overwrite=True),
                partial(self._store.update, "own", *self._text(), scope=self._scope),
            )
            self._report("memory_overwrite", done / self._rounds)
        return turns.comparison()

    async def _create_and_delete(self) -> tuple[Comparison, Comparison]:
        creates, deletes = Turns(UNMEASURED), Turns(UNMEASURED)
        numbers = range(self._rounds)
        for begin in range(0, self._rounds, _SPARE_KEYS):
            some = numbers[begin : begin + _SPARE_KEYS]
            for number in some:
                await creates.either(
                    self._write(f"tool-{number}"),
                    partial(self._store.create, f"own-{number}", *self._text(), scope=self._scope),
                )
                self._report("memory_write", number / self._rounds)
            for number in some:
                await deletes.either(
                    self._call("memory_delete", key=f"tool-{number}"),
                    partial(self._store.delete, f"own-{number}", scope=self._scope),
                )
                self._report("memory_delete", number / self._rounds)
        return creates.comparison(), deletes.comparison()

    def _write(self, key: str, **how: object) -> Callable[[], Awaitable[object]]:
        description, content = self._text()
        return self._call("memory_write", key=key, description=description, content=content, **how)

    def _call(self, name: str, **arguments: object) -> Callable[[], Awaitable[object]]:
        return _call(self._tools, name, **arguments)

    def _note(self, trace: Trace) -> None:
        # As for a host that asks for nothing else: the line is made where its log is on.
        log(trace)
        self._codes.add(trace.code)

    def _text(self) -> tuple[str, str]:
        self._written += 1
        description = f"What was measured in write {self._written} of this run: cafés, 'quotes' and a colon"
        return description, f"{self._written:08}".ljust(self._size, "x")[: self._size]


def _call(tools: MemoryTools, name: str, **arguments: object) -> Callable[[], Awaitable[object]]:
    # The call is what a provider's client has made already when the clock begins.
    call = {"type": "tool_use", "id": "toolu_measured", "name": name, "input": arguments}
    return partial(tools.dispatch, call)
