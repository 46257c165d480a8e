"""A layer keeps the contract that it passes on; one that refuses writes still keeps the rest."""

from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from typing import Any

import anyio
import pytest

from jsmemory import EntryNotFoundError, ReadOnlyStoreError, Scope, StaleEntryError, Store
from jsmemory.backed_store import BackedStore
from jsmemory.backend import Backend
from jsmemory.layers.live import LiveStore
from jsmemory.layers.read_only import ReadOnlyStore
from jsmemory.layers.retry import RetryingStore
from jsmemory.layers.wrapping import WrappingStore
from jsmemory.testing import Fault, FaultyBackend, Harness, seeded
from jsmemory.testing.corpora import DESCRIPTIONS, FOREIGN_VALUES
from jsmemory.testing.harnesses.in_process import InProcessHarness
from jsmemory.testing.pytest_cases import store_cases


class Wrapped(InProcessHarness):
    async def open(self, *, require_read_before_update: bool = True) -> Store:
        return WrappingStore(await super().open(require_read_before_update=require_read_before_update))


class Retried(InProcessHarness):
    async def open(self, *, require_read_before_update: bool = True) -> Store:
        return RetryingStore(await super().open(require_read_before_update=require_read_before_update))


class Stacked(InProcessHarness):
    async def open(self, *, require_read_before_update: bool = True) -> Store:
        return WrappingStore(RetryingStore(await super().open(require_read_before_update=require_read_before_update)))


class Live(InProcessHarness):
    """What lists comes from a view, all else from the store."""

    def __init__(self) -> None:
        super().__init__()
        self._stack = AsyncExitStack()

    async def __aexit__(self, *failure: Any) -> None:
        await self._stack.aclose()

    async def open(self, *, require_read_before_update: bool = True) -> Store:
        store = await super().open(require_read_before_update=require_read_before_update)
        return LiveStore(store, await self._stack.enter_async_context(store.live()))


class Interleaved(InProcessHarness):
    """Three calls in ten take a while, and the others get on meanwhile."""

    async def drive(self) -> Backend:
        return FaultyBackend(await super().drive(), seeded(1, [Fault.DELAY], rate=0.3), delay=0.0)


class Flickering(InProcessHarness):
    """Three calls in ten fail without a trace, and are made again."""

    async def open(self, *, require_read_before_update: bool = True) -> Store:
        backend = FaultyBackend(await self.drive(), seeded(1, [Fault.UNAVAILABLE], rate=0.3))
        store = BackedStore(backend, require_read_before_update=require_read_before_update)
        return RetryingStore(store, attempts=20, sleep=lambda _: anyio.sleep(0))


test_a_layer_that_adds_nothing = store_cases(Wrapped)
test_a_layer_that_tries_again = store_cases(Retried)
test_layers_on_layers = store_cases(Stacked)
test_a_layer_that_lists_out_of_a_view = store_cases(Live)
test_a_driver_that_takes_its_time = store_cases(Interleaved)
test_a_driver_that_fails_now_and_then_below_a_layer_that_tries_again = store_cases(Flickering)

WRITES: dict[str, Callable[[Store, Scope | None], Awaitable[object]]] = {
    "create": lambda store, scope: store.create("new", "about", "text", scope=scope),
    "create over an entry": lambda store, scope: store.create("d00", "about", "text", scope=scope),
    "update": lambda store, scope: store.update("d00", "about", "text", scope=scope),
    "update of an absent key": lambda store, scope: store.update("new", "about", "text", scope=scope),
    "delete": lambda store, scope: store.delete("d00", scope=scope),
    "delete of an absent key": lambda store, scope: store.delete("new", scope=scope),
}


async def _filled(harness: Harness) -> Store:
    store = await harness.open()
    for number, (given, _) in enumerate(DESCRIPTIONS):
        await store.create(f"d{number:02}", given, f"text {number}", scope=None)
    for number, (value, _, _) in enumerate(FOREIGN_VALUES):
        await harness.plant(f"f{number:02}", value)
    return store


async def test_a_read_only_store_shows_what_the_inner_one_shows() -> None:
    """A fleet endpoint that must not write still reads: every entry, and the listing, as they are."""
    async with InProcessHarness() as harness:
        inner = await _filled(harness)
        store = ReadOnlyStore(inner)
        assert store.info() == inner.info()
        items = await store.list()
        assert items == await inner.list()
        for item in items:
            assert await store.read(item.key, scope=Scope()) == await inner.read(item.key, scope=None)
        with pytest.raises(EntryNotFoundError):
            await store.read("new", scope=None)


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
async def test_a_read_only_store_writes_nothing(
    write: Callable[[Store, Scope | None], Awaitable[object]],
) -> None:
    """Caller-supplied text could talk a model into planting a note that a later run believes."""
    async with InProcessHarness() as harness:
        inner, scope = await _filled(harness), harness.scope()
        store = ReadOnlyStore(inner)
        await store.read("d00", scope=scope)
        before = [(item, await inner.read(item.key, scope=None)) for item in await inner.list()]
        for each in (scope, None):
            with pytest.raises(ReadOnlyStoreError):
                await write(store, each)
        assert [(item, await inner.read(item.key, scope=None)) for item in await inner.list()] == before


async def test_a_read_through_a_read_only_store_counts_for_one_that_writes() -> None:
    """The scope belongs to the run, not to the layer: a host may read through one store and write through another."""
    async with InProcessHarness() as harness:
        inner, scope = await _filled(harness), harness.scope()
        with pytest.raises(StaleEntryError):
            await inner.update("d00", "about", "blind", scope=scope)
        await ReadOnlyStore(inner).read("d00", scope=scope)
        await inner.update("d00", "about", "read before", scope=scope)
