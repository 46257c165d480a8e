"""A delete answers exactly: it says True once for each entry."""

from jsmemory.errors import EntryNotFoundError
from jsmemory.testing.case import Theme
from jsmemory.testing.expecting import expect_equal, expect_nothing, expect_value, keys_of, refused
from jsmemory.testing.harness import Harness, Need
from jsmemory.testing.racing import race

THEME = Theme[Harness]("deletion")


@THEME.case()
async def a_deleted_entry_is_gone(harness: Harness) -> None:
    """What a model has deleted must not come back in an index or a read, here or elsewhere."""
    store, other = await harness.open(), await harness.open()
    await store.create("note", "about", "text", scope=None)
    await store.create("other", "about", "text", scope=None)
    expect_equal(await store.delete("note", scope=None), True, "the delete")
    for each in (store, other):
        await expect_nothing(each, "note", "after the delete")
        expect_equal(await keys_of(each), ("other",), "the listing")


@THEME.case()
async def deleting_what_is_absent_answers_false(harness: Harness) -> None:
    """A model is told the truth about a note that was never there; and its neighbour stays."""
    store = await harness.open()
    await store.create("note.two", "about", "text", scope=None)
    expect_equal(await store.delete("note", scope=harness.scope()), False, "a delete of an absent key")
    expect_equal(await store.delete("note.two", scope=None), True, "the first delete")
    expect_equal(await store.delete("note.two", scope=None), False, "the second delete")
    expect_equal(await (await harness.open()).delete("note.two", scope=None), False, "another process's delete")


@THEME.case(Need.PEEK)
async def deleting_what_is_absent_writes_nothing(harness: Harness) -> None:
    """A tombstone for every wrong key would fill a bucket."""
    store = await harness.open()
    await store.delete("note", scope=None)
    expect_equal(await harness.peek("note"), None, "what is stored under the key")
    expect_equal(await store.list(), (), "the listing")


@THEME.case()
async def a_delete_needs_no_read(harness: Harness) -> None:
    """A model deletes a note that it has seen in the index; the guard is about overwriting."""
    store = await harness.open()
    await store.create("note", "about", "text", scope=None)
    expect_equal(await (await harness.open()).delete("note", scope=harness.scope()), True, "the delete")


@THEME.case()
async def a_deleted_key_can_be_used_again(harness: Harness) -> None:
    """Delete, then create: for good, time and again, by any process."""
    stores = [await harness.open(), await harness.open()]
    for number in range(6):
        store, other = stores[number % 2], stores[1 - number % 2]
        await store.create("note", f"about {number}", f"text {number}", scope=None)
        await expect_value(other, "note", f"about {number}", f"text {number}", "after the create")
        expect_equal(await other.delete("note", scope=None), True, "the delete")
    with refused(EntryNotFoundError, "read of a deleted entry"):
        await stores[0].read("note", scope=None)


@THEME.case()
async def of_all_who_delete_one_entry_one_did(harness: Harness) -> None:
    """Two runs that both hear `deleted` both believe that it was their doing; one that hears `absent` knows better."""
    stores = [await harness.open(), await harness.open()]
    for number in range(4):
        await stores[0].create("note", "about", f"text {number}", scope=None)
        answers, refusals = await race(stores[caller % 2].delete("note", scope=None) for caller in range(8))
        expect_equal(refusals, [], "the refusals")
        expect_equal(sorted(answers), [False] * 7 + [True], "the answers")
        await expect_nothing(stores[1], "note", "after the deletes")
