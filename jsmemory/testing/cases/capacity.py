"""1,024 entries: at rest never more, and every free place can be used by everybody at once."""

from typing import Final

from jsmemory.errors import EntryExistsError, StaleEntryError, StoreFullError
from jsmemory.testing.case import Theme
from jsmemory.testing.corpora import NAMES_OF_OTHERS
from jsmemory.testing.expecting import expect, expect_equal, expect_nothing, expect_value, keys_of, refused
from jsmemory.testing.filling import fill, numbered
from jsmemory.testing.harness import Harness, Need
from jsmemory.testing.racing import race

THEME = Theme[Harness]("capacity")

_FULL: Final = 1_024


@THEME.case()
async def a_store_takes_1024_entries_and_not_one_more(harness: Harness) -> None:
    """The limit keeps an index within a context window; a store that stops short of it breaks the promise as well."""
    stores = [await harness.open(), await harness.open()]
    keys = numbered(_FULL)
    for start in range(0, _FULL, 64):
        _, refusals = await race(
            stores[place % 2].create(key, "about", "text", scope=None)
            for place, key in enumerate(keys[start : start + 64])
        )
        expect_equal(refusals, [], f"the creates after {start} entries")
    for store in stores:
        with refused(StoreFullError, "create number 1,025") as caught:
            await store.create("one-more", "about", "text", scope=None)
        expect_equal(caught.error.limit, _FULL, "the limit in the refusal")
        await expect_nothing(store, "one-more", "after the refusal")
    expect_equal(await keys_of(stores[0]), tuple(keys), "the listing")


@THEME.case()
async def a_full_store_still_says_that_an_entry_exists(harness: Harness) -> None:
    """A model that hears `full` deletes something; one that hears `exists` reads and updates. The second is right."""
    store = await harness.open()
    await fill(harness, store, numbered(_FULL))
    with refused(EntryExistsError, "create over an entry of a full store"):
        await store.create("entry-0007", "about", "text", scope=harness.scope())
    await expect_value(store, "entry-0007", "about entry-0007", "text", "after the refusal")


@THEME.case()
async def a_full_store_can_be_read_updated_and_emptied(harness: Harness) -> None:
    """Full is no dead end: an overwrite adds nothing, and a delete makes room."""
    store, scope = await harness.open(), harness.scope()
    await fill(harness, store, numbered(_FULL))
    await store.read("entry-0500", scope=scope)
    await store.update("entry-0500", "new", "new text", scope=scope)
    await expect_value(store, "entry-0500", "new", "new text", "after an update")
    expect_equal(await store.delete("entry-0500", scope=scope), True, "the delete")
    await store.create("in-its-place", "about", "text", scope=scope)
    with refused(StoreFullError, "create in a full store"):
        await store.create("one-more", "about", "text", scope=scope)


@THEME.case()
async def a_place_freed_by_anybody_can_be_used_by_everybody(harness: Harness) -> None:
    """A count that is kept in one process says `full` long after others have deleted."""
    store, other = await harness.open(), await harness.open()
    await fill(harness, store, numbered(_FULL))
    with refused(StoreFullError, "create in a full store"):
        await store.create("a", "about", "text", scope=None)
    for number, key in enumerate(numbered(3)):
        await other.delete(key, scope=None)
        await store.create(f"in-its-place-{number}", "about", "text", scope=None)
        with refused(StoreFullError, "create in a store that is full again"):
            await other.create("b", "about", "text", scope=None)


@THEME.case()
async def a_place_taken_by_anybody_is_taken_for_everybody(harness: Harness) -> None:
    """A count that is kept in one process lets it store more than there is room for."""
    store, other = await harness.open(), await harness.open()
    await fill(harness, store, numbered(_FULL - 4))
    for number in range(4):
        await (store, other)[number % 2].create(f"last-{number}", "about", "text", scope=None)
    for each in (store, other):
        with refused(StoreFullError, "create in a full store"):
            await each.create("one-more", "about", "text", scope=None)
    expect_equal(len(await store.list()), _FULL, "how many entries are listed")


@THEME.case()
async def of_all_who_race_for_the_last_place_one_gets_it(harness: Harness) -> None:
    """Each process counts 1,023 and creates: at rest there must not be more than 1,024, nor a place that nobody got."""
    store, other = await harness.open(), await harness.open()
    await fill(harness, store, numbered(_FULL - 1))
    through, refusals = await race(
        (store, other)[number % 2].create(f"racer-{number}", "about", "text", scope=None) for number in range(12)
    )
    expect(all(isinstance(refusal, StoreFullError) for refusal in refusals), f"the refusals were {refusals!r}")
    expect_equal(len(through), 1, "how many racers got the place")
    expect_equal(len(await store.list()), _FULL, "how many entries are listed")


@THEME.case()
async def racers_fill_the_last_places_and_no_more(harness: Harness) -> None:
    """The same race for a few places, met by processes that have not yet counted."""
    first = await harness.open()
    await fill(harness, first, numbered(_FULL - 5))
    stores = [await harness.open() for _ in range(3)]
    _, refusals = await race(
        stores[number % 3].create(f"racer-{number}", "about", "text", scope=None) for number in range(24)
    )
    expect(all(isinstance(refusal, StoreFullError) for refusal in refusals), f"the refusals were {refusals!r}")
    expect_equal(len(await first.list()), _FULL, "how many entries are listed")
    expect_equal(len(refusals), 19, "how many racers were refused")


@THEME.case()
async def an_update_adds_nothing_to_a_full_store(harness: Harness) -> None:
    """With the guard on an update of an absent key is stale; without, it is a create, and counts like one."""
    store = await harness.open()
    loose = await harness.open(require_read_before_update=False)
    await fill(harness, store, numbered(_FULL))
    with refused(StaleEntryError, "update of an absent key"):
        await store.update("one-more", "about", "text", scope=harness.scope())
    with refused(StoreFullError, "update of an absent key with the guard off"):
        await loose.update("one-more", "about", "text", scope=None)
    await loose.update("entry-0000", "about", "new text", scope=None)
    expect_equal(len(await store.list()), _FULL, "how many entries are listed")


@THEME.case(Need.PLANT)
async def what_is_no_key_does_not_count(harness: Harness) -> None:
    """Another program's names in the bucket cannot be listed, so nobody could delete them to make room."""
    for name in NAMES_OF_OTHERS:
        await harness.plant(name, b"not ours")
    store = await harness.open()
    await fill(harness, store, numbered(_FULL - 1))
    await store.create("the-last", "about", "text", scope=None)
    with refused(StoreFullError, "create in a full store"):
        await store.create("one-more", "about", "text", scope=None)
    expect_equal(len(await store.list()), _FULL, "how many entries are listed")


@THEME.case()
async def deleted_entries_do_not_count(harness: Harness) -> None:
    """Tombstones are no entries: a store in which notes come and go must not fill up."""
    store, other = await harness.open(), await harness.open()
    await fill(harness, store, numbered(_FULL - 8))
    for generation in range(4):
        keys = [f"passing-{generation}-{number}" for number in range(8)]
        _, refusals = await race(store.create(key, "about", "text", scope=None) for key in keys)
        expect_equal(refusals, [], "the creates")
        deleted, _ = await race(other.delete(key, scope=None) for key in keys)
        expect_equal(deleted, [True] * 8, "the deletes")
    expect_equal(len(await store.list()), _FULL - 8, "how many entries are listed")
