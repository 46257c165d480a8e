"""Nothing is overwritten unread: what gives a run the authority to update, and what takes it away."""

from jsmemory.errors import EntryExistsError, EntryNotFoundError, StaleEntryError
from jsmemory.scope import Scope
from jsmemory.store import Store
from jsmemory.testing.case import Theme
from jsmemory.testing.expecting import expect_equal, expect_nothing, expect_value, refused
from jsmemory.testing.harness import Harness

THEME = Theme[Harness]("guard")


@THEME.case()
async def an_unread_entry_is_not_overwritten(harness: Harness) -> None:
    """A run that never saw a note cannot know what its update would destroy."""
    store = await harness.open()
    await store.create("note", "about", "another run's text", scope=harness.scope())
    await _expect_no_authority(store, harness.scope(), "note", "unread", "a run that has read nothing")
    await expect_value(store, "note", "about", "another run's text", "after the refusal")


@THEME.case()
async def no_scope_authorises_nothing(harness: Harness) -> None:
    """Code without a run, such as an operator's script, reads and creates, and overwrites nothing by accident."""
    store = await harness.open()
    await store.create("note", "about", "text", scope=None)
    await store.read("note", scope=None)
    await _expect_no_authority(store, None, "note", "unread", "no scope")
    expect_equal(await store.delete("note", scope=None), True, "a delete without a scope")


@THEME.case()
async def an_absent_entry_is_not_updated_into_being(harness: Harness) -> None:
    """An update of a key that holds nothing is a mistake in the key, and must not pass the capacity check by."""
    store = await harness.open()
    await _expect_no_authority(store, harness.scope(), "note", "unread", "a key that holds nothing")
    await expect_nothing(store, "note", "after the refusal")


@THEME.case()
async def a_read_authorises_one_update(harness: Harness) -> None:
    """What a run has read it may replace, through another store object as well: authority is the scope's."""
    store, scope = await harness.open(), harness.scope()
    await store.create("note", "about", "first", scope=None)
    await store.read("note", scope=scope)
    await (await harness.open()).update("note", "about", "second", scope=scope)
    await expect_value(await harness.open(), "note", "about", "second", "after the update")


@THEME.case()
async def a_create_authorises_an_update(harness: Harness) -> None:
    """A run that has just written a note has seen it."""
    store, scope = await harness.open(), harness.scope()
    await store.create("note", "about", "first", scope=scope)
    await store.update("note", "about", "second", scope=scope)
    await expect_value(store, "note", "about", "second", "after the update")


@THEME.case()
async def an_update_authorises_the_next(harness: Harness) -> None:
    """A run that keeps a note up to date need not read it each time, as long as nobody else writes it."""
    store, scope = await harness.open(), harness.scope()
    await store.create("note", "about", "text 0", scope=scope)
    for number in range(1, 6):
        await store.update("note", "about", f"text {number}", scope=scope)
    await expect_value(store, "note", "about", "text 5", "after five updates")


@THEME.case()
async def a_change_by_another_run_is_not_overwritten(harness: Harness) -> None:
    """Two runs read the same note and both write it: the second would silently undo the first."""
    store, mine, theirs = await harness.open(), harness.scope(), harness.scope()
    await store.create("note", "about", "first", scope=mine)
    other = await harness.open()
    await other.read("note", scope=theirs)
    await other.update("note", "about", "their text", scope=theirs)
    await _expect_no_authority(store, mine, "note", "changed", "a revision that was replaced")
    await expect_value(store, "note", "about", "their text", "after the refusal")


@THEME.case()
async def a_mismatch_drops_the_old_revision(harness: Harness) -> None:
    """Told of a change, a run must read before it tries again: a blind update that is repeated is still blind."""
    store, mine, theirs = await harness.open(), harness.scope(), harness.scope()
    await store.create("note", "about", "first", scope=mine)
    await store.read("note", scope=theirs)
    await store.update("note", "about", "their text", scope=theirs)
    await _expect_no_authority(store, mine, "note", "changed", "the first try")
    await _expect_no_authority(store, mine, "note", "unread", "the second try")
    await store.read("note", scope=mine)
    await store.update("note", "about", "merged text", scope=mine)
    await expect_value(store, "note", "about", "merged text", "after a read")


@THEME.case()
async def a_refused_create_grants_no_authority(harness: Harness) -> None:
    """Wording the refusal may take a read of the colliding note; the run has not seen it, and may not overwrite it."""
    store, scope = await harness.open(), harness.scope()
    await store.create("note", "theirs", "their text", scope=harness.scope())
    with refused(EntryExistsError, "create over an entry") as caught:
        await store.create("note", "mine", "my text", scope=scope)
    expect_equal(caught.error.key, "note", "the key in the refusal")
    await _expect_no_authority(store, scope, "note", "unread", "a refused create")
    await expect_value(store, "note", "theirs", "their text", "after both refusals")


@THEME.case()
async def a_listing_grants_no_authority(harness: Harness) -> None:
    """Seeing a key in the index is not reading the note."""
    store, scope = await harness.open(), harness.scope()
    await store.create("note", "about", "text", scope=None)
    await store.list()
    await _expect_no_authority(store, scope, "note", "unread", "a listing")


@THEME.case()
async def two_runs_never_share_authority(harness: Harness) -> None:
    """One store serves many runs at once: what one has read says nothing about another."""
    store, reader, other = await harness.open(), harness.scope(), harness.scope()
    await store.create("note", "about", "text", scope=None)
    await store.read("note", scope=reader)
    await _expect_no_authority(store, other, "note", "unread", "another run's read")
    await store.update("note", "about", "the reader's text", scope=reader)


@THEME.case()
async def authority_is_for_one_key(harness: Harness) -> None:
    """Reading one note is no licence for its neighbour."""
    store, scope = await harness.open(), harness.scope()
    await store.create("note", "about", "text", scope=scope)
    await store.create("note.two", "about", "text", scope=None)
    await _expect_no_authority(store, scope, "note.two", "unread", "authority over another key")


@THEME.case()
async def a_delete_drops_the_authority(harness: Harness) -> None:
    """A note that was deleted and created again by somebody else is not the one that the run once read."""
    store, scope = await harness.open(), harness.scope()
    await store.create("note", "about", "text", scope=scope)
    expect_equal(await store.delete("note", scope=scope), True, "the delete")
    await store.create("note", "theirs", "their text", scope=harness.scope())
    await _expect_no_authority(store, scope, "note", "unread", "authority from before the delete")
    await expect_value(store, "note", "theirs", "their text", "after the refusal")


@THEME.case()
async def a_delete_that_comes_too_late_drops_the_authority_too(harness: Harness) -> None:
    """A run that meant to delete a note has given it up, also where another run was faster."""
    store, scope = await harness.open(), harness.scope()
    await store.create("note", "about", "text", scope=scope)
    other = await harness.open()
    await other.delete("note", scope=None)
    expect_equal(await store.delete("note", scope=scope), False, "the second delete")
    await other.create("note", "about", "text", scope=None)
    await _expect_no_authority(store, scope, "note", "unread", "authority from before the deletes")


@THEME.case()
async def a_deletion_by_another_run_is_a_change(harness: Harness) -> None:
    """An update must not bring a note back that another run has deleted."""
    store, scope = await harness.open(), harness.scope()
    await store.create("note", "about", "text", scope=scope)
    await (await harness.open()).delete("note", scope=None)
    await _expect_no_authority(store, scope, "note", "changed", "a deleted entry")
    await expect_nothing(store, "note", "after the refusal")


@THEME.case()
async def a_note_made_anew_by_another_run_is_a_change(harness: Harness) -> None:
    """Deleted and created again: under the same key stands a text that the run never saw."""
    store, scope = await harness.open(), harness.scope()
    await store.create("note", "about", "first", scope=scope)
    other = await harness.open()
    await other.delete("note", scope=None)
    await other.create("note", "about", "second", scope=None)
    await _expect_no_authority(store, scope, "note", "changed", "an entry that was made anew")
    await expect_value(store, "note", "about", "second", "after the refusal")


@THEME.case()
async def a_read_that_finds_nothing_drops_the_authority(harness: Harness) -> None:
    """A run that was told that a note is gone does not know the next one under its key."""
    store, scope = await harness.open(), harness.scope()
    await store.create("note", "about", "first", scope=scope)
    other = await harness.open()
    await other.delete("note", scope=None)
    with refused(EntryNotFoundError, "read of a deleted entry") as caught:
        await store.read("note", scope=scope)
    expect_equal(caught.error.key, "note", "the key in the refusal")
    await other.create("note", "about", "first", scope=None)
    await _expect_no_authority(store, scope, "note", "unread", "authority from before a read that found nothing")


@THEME.case()
async def with_the_guard_off_an_update_is_one_unconditional_write(harness: Harness) -> None:
    """Who turns the guard off wants the last writer to win, for keys that hold nothing yet as well."""
    store = await harness.open(require_read_before_update=False)
    await store.update("note", "first", "first text", scope=None)
    await expect_value(store, "note", "first", "first text", "an update of an absent key")
    await store.update("note", "second", "second text", scope=harness.scope())
    await expect_value(store, "note", "second", "second text", "an update without a read")
    with refused(EntryExistsError, "create over an entry, with the guard off"):
        await store.create("note", "third", "third text", scope=None)


@THEME.case()
async def an_update_without_the_guard_is_seen_by_a_store_with_it(harness: Harness) -> None:
    """The option is one store's: another store on the same keyspace still refuses what its own runs have not seen."""
    guarded, scope = await harness.open(), harness.scope()
    loose = await harness.open(require_read_before_update=False)
    await guarded.create("note", "about", "first", scope=scope)
    await loose.update("note", "about", "second", scope=None)
    await _expect_no_authority(guarded, scope, "note", "changed", "a revision that was replaced without the guard")
    mine = harness.scope()
    await loose.update("note", "about", "third", scope=mine)
    await guarded.update("note", "about", "fourth", scope=mine)
    await expect_value(guarded, "note", "about", "fourth", "after an update with the authority of a loose one")


async def _expect_no_authority(store: Store, scope: Scope | None, key: str, reason: str, what: str) -> None:
    with refused(StaleEntryError, f"update on the strength of {what}") as caught:
        await store.update(key, "blind", "blind text", scope=scope)
    expect_equal((caught.error.key, caught.error.reason), (key, reason), f"the refusal of {what}")
