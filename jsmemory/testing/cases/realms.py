"""Authority belongs to one keyspace: what was seen in one says nothing of another."""

import json

from jsmemory.errors import EntryExistsError, EntryNotFoundError, StaleEntryError
from jsmemory.scope import Scope
from jsmemory.store import Store
from jsmemory.testing.case import Theme
from jsmemory.testing.expecting import expect_equal, expect_value, keys_of, refused
from jsmemory.testing.harness import Harness, Need

THEME = Theme[Harness]("realms")


@THEME.case(Need.NEIGHBOUR)
async def neighbours_do_not_see_each_other(harness: Harness) -> None:
    """Two agents in one bucket use the same keys for different things."""
    store, neighbour = await harness.open(), await harness.neighbour()
    await store.create("note", "mine", "my text", scope=None)
    await store.create("a.note", "mine", "my text", scope=None)
    await neighbour.create("note", "theirs", "their text", scope=None)
    await expect_value(store, "note", "mine", "my text", "my entry")
    await expect_value(neighbour, "note", "theirs", "their text", "the neighbour's entry")
    expect_equal(await keys_of(store), ("a.note", "note"), "my listing")
    expect_equal(await keys_of(neighbour), ("note",), "the neighbour's listing")
    with refused(EntryNotFoundError, "read of what only the neighbour's neighbour has"):
        await neighbour.read("a.note", scope=None)
    expect_equal(await neighbour.delete("note", scope=None), True, "the neighbour's delete")
    expect_equal(await neighbour.delete("a.note", scope=None), False, "the neighbour's delete of my key")
    await expect_value(store, "note", "mine", "my text", "my entry after the neighbour's deletes")


@THEME.case(Need.NEIGHBOUR)
async def authority_over_a_neighbours_key_is_worth_nothing_here(harness: Harness) -> None:
    """One run that works in two keyspaces: having read the one note it has not read the other of the same name."""
    store, neighbour, scope = await harness.open(), await harness.neighbour(), harness.scope()
    await neighbour.create("note", "about", "text", scope=scope)
    await store.create("note", "about", "text", scope=None)
    await _expect_unread(store, scope)
    await _expect_unread(store, _resumed(harness, scope))
    await neighbour.update("note", "about", "second", scope=scope)


@THEME.case(Need.RECREATE)
async def authority_ends_with_the_keyspace(harness: Harness) -> None:
    """A bucket that was deleted and made anew counts from 1 again: an old revision matches an unseen value."""
    store, scope = await harness.open(), harness.scope()
    await store.create("note", "about", "text", scope=scope)
    snapshot = _resumed(harness, scope)
    await harness.recreate()
    anew = await harness.open()
    await anew.create("note", "about", "another run's text", scope=None)
    await _expect_unread(anew, scope)
    await _expect_unread(anew, snapshot)
    await expect_value(anew, "note", "about", "another run's text", "after the refusals")


@THEME.case(Need.RECREATE)
async def a_store_that_was_open_overwrites_nothing_in_a_keyspace_made_anew(harness: Harness) -> None:
    """A fleet's workers live on while an operator makes the bucket anew: what they had read counts for nothing."""
    store, scope = await harness.open(), harness.scope()
    await store.create("note", "about", "text", scope=scope)
    await harness.recreate()
    await (await harness.open()).create("note", "about", "another run's text", scope=None)
    with refused(StaleEntryError, "update on the strength of a read in the deleted keyspace"):
        await store.update("note", "about", "blind", scope=scope)
    await expect_value(await harness.open(), "note", "about", "another run's text", "after the refusal")


@THEME.case(Need.RECREATE)
async def a_store_that_was_open_goes_on_in_a_keyspace_made_anew(harness: Harness) -> None:
    """Nobody restarts a fleet for that: the store finds what is there now, and is neither full nor stuck."""
    store, scope = await harness.open(), harness.scope()
    for number in range(8):
        await store.create("note", "about", f"text {number}", scope=scope)
        await store.delete("note", scope=scope)
    await store.create("note", "about", "old text", scope=scope)
    await harness.recreate()
    await (await harness.open()).create("note", "about", "new text", scope=None)
    await expect_value(store, "note", "about", "new text", "a read in the keyspace made anew")
    expect_equal(await keys_of(store), ("note",), "the listing")
    with refused(EntryExistsError, "create over an entry"):
        await store.create("note", "about", "mine", scope=scope)
    await store.create("other", "about", "mine", scope=scope)
    await store.update("other", "about", "mine again", scope=scope)
    await store.read("note", scope=scope)
    await store.update("note", "about", "merged", scope=scope)
    expect_equal(await store.delete("note", scope=scope), True, "the delete")


async def _expect_unread(store: Store, scope: Scope) -> None:
    with refused(StaleEntryError, "update without authority") as caught:
        await store.update("note", "about", "blind", scope=scope)
    expect_equal(caught.error.reason, "unread", "the reason")


def _resumed(harness: Harness, scope: Scope) -> Scope:
    resumed = harness.scope()
    expect_equal(resumed.restore(json.loads(json.dumps(scope.snapshot()))), None, "the restore")
    return resumed
