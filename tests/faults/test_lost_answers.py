"""Fault 4 above any driver: what the store and the scope make of an answer that never came."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from jsmemory import (
    BackendUnavailableError,
    EntryNotFoundError,
    IncompleteListingError,
    JsMemoryError,
    OutcomeUnknownError,
    Scope,
    StaleEntryError,
    Store,
)
from jsmemory.backed_store import BackedStore
from jsmemory.backends.in_process import InProcessBackend
from jsmemory.testing import Fault, FaultyBackend, scripted, seeded

LOST = (Fault.LOST_REQUEST, Fault.LOST_ANSWER)

WRITES: dict[str, Callable[[Store, Scope], Awaitable[object]]] = {
    "create": lambda store, scope: store.create("new", "about", "mine", scope=scope),
    "update": lambda store, scope: store.update("note", "about", "mine", scope=scope),
    "delete": lambda store, scope: store.delete("note", scope=scope),
}
VERBS = {"create": "insert", "update": "replace", "delete": "remove"}


async def _store(*faults: Fault, verb: str, guarded: bool = True) -> tuple[BackedStore, Scope]:
    """A store with one entry that the scope has read, and a driver to which the next faults happen."""
    inner = InProcessBackend()
    scope = Scope()
    await BackedStore(inner).create("note", "about", "first", scope=scope)
    backend = FaultyBackend(inner, scripted(*faults, verbs=[verb]))
    return BackedStore(backend, require_read_before_update=guarded), scope


async def _content_of(store: Store, key: str) -> str | None:
    try:
        return (await store.read(key, scope=None)).content
    except EntryNotFoundError:
        return None


@pytest.mark.parametrize("fault", LOST)
@pytest.mark.parametrize("write", WRITES)
async def test_a_lost_answer_is_told_and_takes_the_authority(write: str, fault: Fault) -> None:
    """A run that does not know what it wrote must look before it overwrites: somebody may have written since."""
    store, scope = await _store(fault, verb=VERBS[write])
    with pytest.raises(OutcomeUnknownError):
        await WRITES[write](store, scope)
    key = "new" if write == "create" else "note"
    with pytest.raises(StaleEntryError) as refused:
        await store.update(key, "about", "blind", scope=scope)
    assert refused.value.reason == "unread"


@pytest.mark.parametrize("fault", LOST)
async def test_after_a_look_the_run_goes_on(fault: Fault) -> None:
    """In doubt is not the end: a read shows what is there, and the next update is sure again."""
    store, scope = await _store(fault, verb="replace")
    with pytest.raises(OutcomeUnknownError):
        await store.update("note", "about", "mine", scope=scope)
    _, content = await store.read("note", scope=scope)
    assert content == ("mine" if fault is Fault.LOST_ANSWER else "first")
    await store.update("note", "about", "merged", scope=scope)
    assert await _content_of(store, "note") == "merged"


@pytest.mark.parametrize("write", WRITES)
async def test_an_unavailable_backend_has_written_nothing_and_leaves_the_authority(write: str) -> None:
    """Told that nothing was written, a host makes the same call again; a delete alone gives up what it had read."""
    store, scope = await _store(Fault.UNAVAILABLE, verb=VERBS[write])
    with pytest.raises(BackendUnavailableError) as refused:
        await WRITES[write](store, scope)
    assert refused.value.retryable
    assert (await _content_of(store, "note"), await _content_of(store, "new")) == ("first", None)
    await WRITES[write](store, scope)


async def test_a_read_that_fails_changes_nothing() -> None:
    """A flickering network must not cost a run what it has read before."""
    store, scope = await _store(Fault.UNAVAILABLE, Fault.LOST_ANSWER, verb="load")
    for _ in range(2):
        with pytest.raises(BackendUnavailableError):
            await store.read("note", scope=scope)
    await store.update("note", "about", "mine", scope=scope)


@pytest.mark.parametrize("fault", [Fault.UNAVAILABLE, Fault.LOST_ANSWER])
async def test_a_listing_that_fails_is_never_an_empty_one(fault: Fault) -> None:
    """Fault 36: a memory that cannot be listed and a memory without entries call for opposite things."""
    store, _ = await _store(fault, verb="scan")
    with pytest.raises((BackendUnavailableError, IncompleteListingError)) as refused:
        await store.list()
    assert refused.value.retryable
    assert [item.key for item in await store.list()] == ["note"]


@pytest.mark.parametrize("fault", LOST)
async def test_without_the_guard_a_lost_answer_is_told_as_well(fault: Fault) -> None:
    """Unconditional is not unheard: a write that may not have landed is not reported as saved, nor sent twice."""
    store, scope = await _store(fault, verb="replace", guarded=False)
    with pytest.raises(OutcomeUnknownError):
        await store.update("note", "about", "mine", scope=scope)
    assert await _content_of(store, "note") == ("mine" if fault is Fault.LOST_ANSWER else "first")


@pytest.mark.parametrize("fault", [Fault.HANG, Fault.HANG_AFTER])
@pytest.mark.parametrize("write", WRITES)
async def test_a_write_that_hangs_can_be_cancelled(write: str, fault: Fault) -> None:
    """The host's own deadline ends the call, and what the run had read is not taken for what is there now."""
    store, scope = await _store(fault, verb=VERBS[write])
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05):
            await WRITES[write](store, scope)
    landed = fault is Fault.HANG_AFTER
    wanted = {"create": ("new", "mine", None), "update": ("note", "mine", "first"), "delete": ("note", None, "first")}
    key, after, before = wanted[write]
    assert await _content_of(store, key) == (after if landed else before)
    if landed:
        with pytest.raises(StaleEntryError):
            await store.update(key, "about", "blind", scope=scope)


@pytest.mark.parametrize("seed", range(8))
async def test_what_was_acknowledged_is_there_and_nothing_is_counted_twice(seed: int) -> None:
    """Five runs add to one number over a bad link: between what they know they added and what they may have added."""
    inner = InProcessBackend()
    await BackedStore(inner).create("count", "how many", "0", scope=None)
    known = doubtful = 0

    async def add(run: int) -> None:
        nonlocal known, doubtful
        faults = [Fault.UNAVAILABLE, Fault.LOST_REQUEST, Fault.LOST_ANSWER, Fault.DELAY]
        store = BackedStore(FaultyBackend(inner, seeded(10 * seed + run, faults, rate=0.4), delay=0.0))
        scope = Scope()
        for _ in range(20):
            try:
                _, content = await store.read("count", scope=scope)
                await asyncio.sleep(0)
                await store.update("count", "how many", str(int(content) + 1), scope=scope)
            except OutcomeUnknownError:
                doubtful += 1
            except JsMemoryError:
                continue
            else:
                known += 1

    await asyncio.gather(*(add(run) for run in range(5)))
    total = int(await _content_of(BackedStore(inner), "count") or "")
    assert known > 0
    assert doubtful > 0
    assert known <= total <= known + doubtful
