"""What an operator has said of memory holds for every run on it, without a host that repeats it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from jsmemory import FileJournal, InProcessStore, MemoryTools, ReadOnlyStoreError, Run, Scope, Store, Terms, open_store
from jsmemory.layers.no_index import NoIndexStore
from jsmemory.layers.read_only import ReadOnlyStore
from jsmemory.layers.retry import RetryingStore
from jsmemory.layers.wrapping import WrappingStore
from jsmemory.running.gate import Gate

READING = ["memory_list", "memory_read"]
WRITING = ["memory_write", "memory_delete"]

LAYERS: dict[str, Callable[[Store], Store]] = {
    "wrapping": WrappingStore,
    "retry": RetryingStore,
    "gate": lambda store: Gate(store, "night"),
    "read-only": ReadOnlyStore,
    "no index": NoIndexStore,
    "two": lambda store: RetryingStore(WrappingStore(store)),
}


class Archive(WrappingStore):
    """A store of an outsider that never takes a write, and says so."""

    def terms(self) -> Terms:
        return Terms(read_only=True)


@pytest.fixture
async def inner() -> Store:
    """A store that somebody has written to."""
    store = InProcessStore()
    await store.create("build", "How to build", "make all", scope=None)
    return store


@pytest.fixture
async def journal(tmp_path: Path) -> FileJournal:
    """Where the runs are recorded."""
    return await FileJournal.open(tmp_path / "journal")


def names(tools: MemoryTools) -> list[str]:
    return [tool.name for tool in tools.specs()]


# -- Read-only ------------------------------------------------------------------------------


async def test_a_run_on_a_store_that_was_opened_read_only_is_offered_no_tools_that_write(
    inner: Store, journal: FileJournal
) -> None:
    """A model spends calls on every tool that it sees or hears of; started, rotated, or resumed."""
    store = await open_store({"read_only": True}, identity="alice", store=inner)
    async with Run.start(store, journal, "night") as run:
        assert names(run.tools) == READING
        assert names(await run.rotate()) == READING
        assert not any(name in run.system_note() for name in WRITING)
        await run.suspend()
    async with Run.resume(store, journal, "night") as run:
        assert names(run.tools) == READING


async def test_no_host_makes_read_only_memory_writable(inner: Store, journal: FileJournal) -> None:
    """The operator's word would be worth nothing."""
    store = await open_store({"read_only": True}, identity="alice", store=inner)
    assert names(MemoryTools(store, Scope(), read_only=False)) == READING
    async with Run.start(store, journal, "night", read_only=False) as run:
        assert names(run.tools) == READING
        answer = await run.tools.call("memory_delete", {"key": "build"})
        assert answer.code == "read_only"
        with pytest.raises(ReadOnlyStoreError):
            await run.store.delete("build", scope=run.scope)
    assert (await inner.read("build", scope=None)).content == "make all"


@pytest.mark.parametrize("layer", LAYERS.values(), ids=LAYERS)
async def test_a_layer_on_read_only_memory_does_not_bring_the_tools_back(
    inner: Store, layer: Callable[[Store], Store]
) -> None:
    """A host adds a layer for its retries, and would offer strangers what the operator has taken away."""
    tools = MemoryTools(layer(ReadOnlyStore(inner)), Scope())
    assert names(tools) == READING
    assert "memory_write" not in tools.system_note()


async def test_a_view_on_read_only_memory_does_not_bring_the_tools_back(inner: Store, journal: FileJournal) -> None:
    """Who shares one view among its runs wraps the store of each."""
    store = ReadOnlyStore(inner)
    async with store.live() as view, Run.start(store, journal, "night", live=view) as run:
        assert names(run.tools) == READING
        assert "build" in await run.index()


async def test_a_store_of_an_outsider_can_say_that_it_is_read_only(inner: Store) -> None:
    """An archive that never takes a write would have a model try."""
    assert names(MemoryTools(Archive(inner), Scope())) == READING


# -- Without an index -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("configured", "asked", "shown"),
    [
        (True, {}, False),
        (True, {"no_index": False}, True),
        (True, {"no_index": True}, False),
        (False, {}, True),
        (False, {"no_index": True}, False),
    ],
)
async def test_a_run_begins_with_an_index_as_configured_unless_its_host_says_otherwise(
    inner: Store, journal: FileJournal, configured: bool, asked: dict[str, Any], shown: bool
) -> None:
    """An operator who turns it off, for a memory that strangers write to, would find it in every prompt."""
    store = await open_store({"no_index": configured}, identity="alice", store=inner)
    async with Run.start(store, journal, "night", **asked) as run:
        assert ("build" in await run.index()) is shown
        assert ("index" in run.system_note()) is shown
        await run.suspend()
    async with Run.resume(store, journal, "night", **asked) as run:
        assert ("build" in await run.index()) is shown
    assert (await MemoryTools(store, Scope(), **asked).index() != "") is shown


@pytest.mark.parametrize("layer", LAYERS.values(), ids=LAYERS)
async def test_a_layer_does_not_bring_the_index_back(inner: Store, layer: Callable[[Store], Store]) -> None:
    """What the operator said is not about one layer."""
    assert await MemoryTools(layer(NoIndexStore(inner)), Scope()).index() == ""


async def test_no_index_leaves_all_else_as_it_is(inner: Store) -> None:
    """It is about how a run begins, not about what can be asked."""
    store = await open_store({"no_index": True}, identity="alice", store=inner)
    assert store.keyspace_names() == inner.keyspace_names()
    assert await store.list() == await inner.list()
    await store.update("build", "How to build", "make -j2", scope=await reader(store))
    assert names(MemoryTools(store, Scope())) == READING + WRITING


async def reader(store: Store) -> Scope:
    scope = Scope()
    await store.read("build", scope=scope)
    return scope


async def test_both_hold_at_once(inner: Store, journal: FileJournal) -> None:
    """Two words of an operator, of which neither takes the other back."""
    store = await open_store({"no_index": True, "read_only": True}, identity="alice", store=inner)
    assert store.terms() == Terms(read_only=True, no_index=True)
    async with Run.start(store, journal, "night") as run:
        assert names(run.tools) == READING
        assert await run.index() == ""
