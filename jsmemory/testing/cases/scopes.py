"""A run that is suspended and goes on elsewhere: what its snapshot may carry."""

import json
from typing import Any, Final

from jsmemory.errors import StaleEntryError
from jsmemory.scope import Scope
from jsmemory.store import Store
from jsmemory.testing.case import Theme
from jsmemory.testing.expecting import expect, expect_equal, expect_value, refused
from jsmemory.testing.harness import Harness

THEME = Theme[Harness]("scopes")

_BROKEN: Final[tuple[object, ...]] = (
    None,
    "",
    "{}",
    7,
    [],
    {},
    {"version": 1},
    {"realms": {}},
    {"version": 2, "realms": {}},
    {"version": "1", "realms": {}},
    {"version": 1, "realms": []},
    {"version": 1, "realms": {"r": {"note": 7}}},
    {"version": 1, "realms": {"r": {"note": None}}},
    {"version": 1, "realms": {"r": {"../note": "1"}}},
    {"version": 1, "realms": {"r": {"note": ""}}},
    {"version": 1, "realms": {}, "more": 1},
)


@THEME.case()
async def a_snapshot_carries_the_authority_to_another_process(harness: Harness) -> None:
    """A run that was suspended goes on where another process resumes it, without reading everything again."""
    store, scope = await harness.open(), harness.scope()
    await store.create("created", "about", "first", scope=scope)
    await store.create("read", "about", "first", scope=None)
    await store.read("read", scope=scope)
    await store.create("unread", "about", "first", scope=None)
    resumed = _resumed(harness, scope)
    other = await harness.open()
    await other.update("created", "about", "second", scope=resumed)
    await other.update("read", "about", "second", scope=resumed)
    with refused(StaleEntryError, "update of a key that the run never read"):
        await other.update("unread", "about", "second", scope=resumed)


@THEME.case()
async def a_snapshot_knows_no_later_change(harness: Harness) -> None:
    """While the run slept another run wrote: its text must not be lost when the first wakes up."""
    store, scope = await harness.open(), harness.scope()
    await store.create("note", "about", "first", scope=scope)
    theirs = harness.scope()
    await store.read("note", scope=theirs)
    await store.update("note", "about", "their text", scope=theirs)
    with refused(StaleEntryError, "update after the sleep") as caught:
        await (await harness.open()).update("note", "about", "mine", scope=_resumed(harness, scope))
    expect_equal(caught.error.reason, "changed", "the reason")
    await expect_value(store, "note", "about", "their text", "after the refusal")


@THEME.case()
async def a_snapshot_is_plain_data(harness: Harness) -> None:
    """A journal writes JSON: a snapshot comes back from it as it was, and says which version it is."""
    store, scope = await harness.open(), harness.scope()
    await store.create("note", "about", "text", scope=scope)
    snapshot = scope.snapshot()
    expect_equal(json.loads(json.dumps(snapshot)), snapshot, "the snapshot after a way through JSON")
    expect("version" in snapshot, "the snapshot names no version")
    await store.update("note", "about", "later", scope=scope)
    expect(scope.snapshot() != snapshot, "a snapshot changes with the scope after it was taken")


@THEME.case()
async def a_snapshot_that_cannot_be_read_grants_nothing(harness: Harness) -> None:
    """A damaged journal must cost a few reads, never an unread overwrite. The reason is there for the log."""
    store = await harness.open()
    await store.create("note", "about", "text", scope=None)
    for broken in _BROKEN:
        scope = harness.scope()
        reason = scope.restore(broken)
        expect(bool(reason), f"the snapshot {broken!r} was restored without a word")
        expect_equal(scope.snapshot(), harness.scope().snapshot(), f"what the snapshot {broken!r} granted")


@THEME.case()
async def a_damaged_snapshot_grants_nothing_of_the_rest(harness: Harness) -> None:
    """One bad line makes the whole of it doubtful: part of a snapshot is not better than none."""
    store, scope = await harness.open(), harness.scope()
    await store.create("note", "about", "text", scope=scope)
    damages: tuple[dict[str, Any], ...] = ({"../x": "1"}, {"x": 7}, {"x": ""}, {"x": "1" * 100_000})
    for damage in damages:
        snapshot = json.loads(json.dumps(scope.snapshot()))
        for known in snapshot["realms"].values():
            known.update(damage)
        resumed = harness.scope()
        expect(bool(resumed.restore(snapshot)), "a damaged snapshot was restored without a word")
        with refused(StaleEntryError, "update on the strength of a damaged snapshot"):
            await store.update("note", "about", "blind", scope=resumed)


@THEME.case()
async def what_the_scope_has_learnt_since_wins_over_a_snapshot(harness: Harness) -> None:
    """Seeding a scope late must not take back what the run has meanwhile read, nor give back what it has lost."""
    store, scope = await harness.open(), harness.scope()
    await store.create("kept", "about", "first", scope=scope)
    await store.create("lost", "about", "first", scope=scope)
    old = scope.snapshot()
    resumed = harness.scope()
    other = await harness.open()
    await other.read("kept", scope=scope)
    await other.update("kept", "about", "second", scope=scope)
    await store.read("kept", scope=resumed)
    await store.read("lost", scope=resumed)
    await store.delete("lost", scope=resumed)
    await other.create("lost", "about", "first", scope=None)
    expect_equal(resumed.restore(old), None, "the restore")
    await store.update("kept", "about", "third", scope=resumed)
    with refused(StaleEntryError, "update of a key that the run has deleted"):
        await store.update("lost", "about", "blind", scope=resumed)


@THEME.case()
async def a_restore_adds_to_what_is_there(harness: Harness) -> None:
    """A run that reads a note before its journal is replayed keeps both."""
    store, scope, resumed = await harness.open(), harness.scope(), harness.scope()
    await store.create("before", "about", "text", scope=scope)
    await store.create("since", "about", "text", scope=resumed)
    expect_equal(resumed.restore(scope.snapshot()), None, "the restore")
    await store.update("before", "about", "second", scope=resumed)
    await store.update("since", "about", "second", scope=resumed)


@THEME.case()
async def a_snapshot_of_nothing_says_that_there_is_nothing(harness: Harness) -> None:
    """A run that lost its last authority and slept again must not wake up with what an older record says."""
    store, scope = await harness.open(), harness.scope()
    await store.create("note", "about", "text", scope=scope)
    await store.delete("note", scope=scope)
    nothing = scope.snapshot()
    expect(bool(nothing), "a snapshot of nothing is nothing that a journal would write")
    resumed = _resumed(harness, scope)
    await store.create("note", "about", "text", scope=None)
    await _expect_unread(store, resumed)


async def _expect_unread(store: Store, scope: Scope) -> None:
    with refused(StaleEntryError, "update without authority") as caught:
        await store.update("note", "about", "blind", scope=scope)
    expect_equal(caught.error.reason, "unread", "the reason")


def _resumed(harness: Harness, scope: Scope) -> Scope:
    resumed = harness.scope()
    expect_equal(resumed.restore(json.loads(json.dumps(scope.snapshot()))), None, "the restore")
    return resumed
