"""Read, update, create and delete, each against the one request that does the same."""

from collections.abc import Callable
from functools import partial
from typing import Final

from jsmemory.scope import Scope
from jsmemory.store import Store
from jsmemory.testing.measuring.comparing import Comparison, Turns
from jsmemory.testing.measuring.plain import Plain, marker_headers, value_and_headers

UNMEASURED: Final = 10
_SPARE_KEYS: Final = 500
# A create far from the limit of a store needs no count: the keys are taken away this often.

Report = Callable[[str, float], None]


class Operations:
    """
    Measures one store.

    Args:
        store: Over the prefix `inside`.
        plain: Over the same bucket.
        inside: The prefix of the store.
        beside: Another one of the same length, for raw creates: they would make the store count anew.
        size: Bytes of a content.
        rounds: How often each call is timed.
    """

    def __init__(self, store: Store, plain: Plain, inside: str, beside: str, *, size: int, rounds: int) -> None:
        self._store = store
        self._plain = plain
        self._inside = inside
        self._beside = beside
        self._size = size
        self._rounds = rounds + UNMEASURED
        self._written = 0

    async def read(self, report: Report) -> Comparison:
        """A read against a direct get of the same key."""
        await self._store.create("read", *self._text(), scope=None)
        turns = Turns(UNMEASURED)
        for done in range(self._rounds):
            await turns.raw(partial(self._plain.read, f"{self._inside}.read"))
            await turns.store(partial(self._store.read, "read", scope=Scope()))
            report("read", done / self._rounds)
        return turns.comparison()

    async def update(self, report: Report) -> Comparison:
        """An update against a conditional publish to the same key, with headers and value of the same size."""
        await self._store.create("update", *self._text(), scope=None)
        turns = Turns(UNMEASURED)
        scope = Scope()
        for done in range(self._rounds):
            entry = await self._store.read("update", scope=scope)
            value, headers = value_and_headers(*self._text(), int(entry.revision))
            await turns.raw(partial(self._plain.publish, f"{self._inside}.update", value, headers))
            await self._store.read("update", scope=scope)
            await turns.store(partial(self._store.update, "update", *self._text(), scope=scope))
            report("update", done / self._rounds)
        return turns.comparison()

    async def create_and_delete(self, report: Report) -> tuple[Comparison, Comparison]:
        """A create, warm, against a publish that expects nothing there; a delete against a marker."""
        creates, deletes = Turns(UNMEASURED), Turns(UNMEASURED)
        keys = [f"new-{number:06}" for number in range(self._rounds)]
        for begin in range(0, self._rounds, _SPARE_KEYS):
            some = keys[begin : begin + _SPARE_KEYS]
            stored_at: dict[str, int] = {}
            for done, key in enumerate(some, begin):
                value, headers = value_and_headers(*self._text(), 0)
                stored_at[key] = await creates.raw(
                    partial(self._plain.publish, f"{self._beside}.{key}", value, headers)
                )
                await creates.store(partial(self._store.create, key, *self._text(), scope=None))
                report("create", done / self._rounds)
            for done, key in enumerate(some, begin):
                headers = marker_headers(stored_at[key])
                await deletes.raw(partial(self._plain.publish, f"{self._beside}.{key}", b"", headers))
                await deletes.store(partial(self._store.delete, key, scope=None))
                report("delete", done / self._rounds)
        return creates.comparison(), deletes.comparison()

    def _text(self) -> tuple[str, str]:
        # Another description each time: one that repeats could be answered from a cache.
        self._written += 1
        description = f"What was measured in write {self._written} of this run: cafés, 'quotes' and a colon"
        return description, f"{self._written:08}".ljust(self._size, "x")[: self._size]
