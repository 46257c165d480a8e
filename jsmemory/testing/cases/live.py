"""A live view is never short of what a listing shows, and tells every difference once."""

import asyncio
from collections.abc import Iterator
from functools import partial
from itertools import cycle
from typing import Final

from jsmemory.errors import InvalidOptionsError, StaleEntryError
from jsmemory.layers.live import LiveStore
from jsmemory.limits import MAX_ENTRIES
from jsmemory.live import Change, Changes
from jsmemory.scope import Scope
from jsmemory.store import Store
from jsmemory.testing.case import Theme
from jsmemory.testing.corpora import DESCRIPTIONS, FOREIGN_VALUES
from jsmemory.testing.expecting import PromiseBroken, expect, expect_equal, refused
from jsmemory.testing.filling import fill, numbered
from jsmemory.testing.harness import Harness, Need
from jsmemory.testing.racing import change, meanwhile

THEME = Theme[Harness]("live")

_PATIENCE: Final = 30.0
# Seconds to wait for a change. A feed takes milliseconds, a store that is looked at a second.


@THEME.case()
async def a_view_lists_what_the_store_lists(harness: Harness) -> None:
    """An index out of memory that is not the index would hide notes, or send a model to notes that are gone."""
    store, other = await harness.open(), await harness.open()
    for number, (given, _) in enumerate(DESCRIPTIONS):
        await store.create(f"d{number:02}", given, "text", scope=None)
    async with store.live() as view:
        expect_equal(await view.list(), await store.list(), "the view of what was there")
        for number in range(0, len(DESCRIPTIONS), 2):
            await other.delete(f"d{number:02}", scope=None)
        for key in ("b", "a.b", "a-b", "a", "Z", "0", "_"):
            await other.create(key, f"about {key}", "text", scope=None)
        expect_equal(await view.list(), await store.list(), "the view of what came and went")
        expect_equal(await view.count(), len(await store.list()), "the count")


@THEME.case()
async def a_view_shows_every_write_that_was_acknowledged(harness: Harness) -> None:
    """Whoever has written, in this process or in another one: what returned before the call is in it."""
    store, other = await harness.open(), await harness.open()
    async with store.live() as view:
        for number in range(12):
            key, writer = f"n{number:02}", (store, other)[number % 2]
            await writer.create(key, "about", "text", scope=None)
            expect(key in {item.key for item in await view.list()}, "an entry that was just created is not shown")
            if number % 3 == 0:
                await writer.delete(key, scope=None)
                expect(key not in {item.key for item in await view.list()}, "an entry that was just deleted is shown")
            expect_equal(await view.count(), number - number // 3, "the count")


@THEME.case()
async def a_view_is_complete_in_a_busy_store(harness: Harness) -> None:
    """A key that is rewritten while it is looked at, and looked at while it is rewritten, must not drop out."""
    store = await harness.open()
    keys = numbered(30)
    await fill(harness, store, keys)
    writers = [await harness.open(), await harness.open()]
    turns = [(writers[part % 2], harness.scope(), cycle(keys[part::4])) for part in range(4)]
    steps = [partial(_rewrite, writer, scope, some) for writer, scope, some in turns]
    async with store.live() as view, meanwhile(*steps):
        for number in range(15):
            await writers[0].create(f"new-{number:02}", "about", "text", scope=None)
            shown = [item.key for item in await view.list()]
            expect_equal(shown, [*keys, *(f"new-{each:02}" for each in range(number + 1))], "the keys")


@THEME.case()
async def changes_tell_what_was_created_updated_and_deleted(harness: Harness) -> None:
    """Who mirrors the notes, or waits for one, acts on each change as what it is."""
    store, other, scope = await harness.open(), await harness.open(), harness.scope()
    await store.create("before", "was there", "text", scope=None)
    async with store.live() as view:
        await view.list()
        changes = view.changes()
        await store.create("note", "first", "text 1", scope=scope)
        expect_equal(_without_revision(await _next(changes)), Change("created", "note", "first"), "the create")
        await other.read("note", scope=scope)
        await other.update("note", "second", "text 2", scope=scope)
        expect_equal(_without_revision(await _next(changes)), Change("updated", "note", "second"), "the update")
        await store.delete("note", scope=scope)
        expect_equal(await _next(changes), Change("deleted", "note", "second"), "the delete")
        await other.create("last", "the last", "text", scope=None)
        expect_equal(_without_revision(await _next(changes)), Change("created", "last", "the last"), "what came then")


@THEME.case()
async def a_change_names_the_revision_or_none(harness: Harness) -> None:
    """A store that tells revisions also tells an update which leaves the description as it is."""
    store, scope = await harness.open(), harness.scope()
    async with store.live() as view:
        changes = view.changes()
        await store.create("note", "the same", "text 1", scope=scope)
        created = await _next(changes)
        if created.revision is None:
            return
        expect_equal(created.revision, (await store.read("note", scope=scope)).revision, "the revision")
        await store.update("note", "the same", "text 2", scope=scope)
        updated = await _next(changes)
        revision = (await store.read("note", scope=scope)).revision
        expect_equal(updated, Change("updated", "note", "the same", revision), "the update")


@THEME.case()
async def a_slow_reader_is_told_the_difference(harness: Harness) -> None:
    """One that cannot keep up must neither miss the outcome nor make a queue grow."""
    store, scope = await harness.open(), harness.scope()
    for key in ("changed", "gone", "back", "same"):
        await store.create(key, f"{key} before", "text", scope=scope)
    async with store.live() as view:
        await view.list()
        changes = view.changes()
        for turn in range(5):
            await store.update("changed", f"turn {turn}", f"text {turn}", scope=scope)
            await store.create("passing", "about", f"text {turn}", scope=None)
            await view.list()
            await store.delete("passing", scope=None)
        await store.delete("gone", scope=None)
        await store.delete("back", scope=None)
        await view.list()
        await store.create("back", "back after", "text 2", scope=None)
        await store.create("new", "about", "text", scope=None)
        await store.update("same", "same after", "text 2", scope=scope)
        await view.list()
        told = [_without_revision(await _next(changes)) for _ in range(5)]
        wanted = [
            Change("updated", "back", "back after"),
            Change("updated", "changed", "turn 4"),
            Change("deleted", "gone", "gone before"),
            Change("created", "new", "about"),
            Change("updated", "same", "same after"),
        ]
        expect_equal(sorted(told, key=lambda each: each.key), wanted, "the changes")
        await store.create("last", "about", "text", scope=None)
        expect_equal((await _next(changes)).key, "last", "what is told after all that")


@THEME.case()
async def changes_may_begin_with_what_is_there(harness: Harness) -> None:
    """Who starts from nothing gets all of it, and what comes then, without a gap between the two."""
    store = await harness.open()
    for key in ("b", "a"):
        await store.create(key, f"about {key}", "text", scope=None)
    async with store.live() as view:
        changes = view.changes(initial=True)
        told = [_without_revision(await _next(changes)) for _ in range(2)]
        expect_equal(told, [Change("present", key, f"about {key}") for key in ("a", "b")], "the beginning")
        await store.create("c", "about c", "text", scope=None)
        expect_equal(_without_revision(await _next(changes)), Change("created", "c", "about c"), "what came then")
        await store.delete("a", scope=None)
        expect_equal(await _next(changes), Change("deleted", "a", "about a"), "what went")


@THEME.case()
async def a_view_serves_all_who_open_it(harness: Harness) -> None:
    """Runs come and go: each has its own changes, and who leaves takes the view from nobody."""
    store = await harness.open()
    async with store.live() as view:
        mine = view.changes()
        async with store.live() as shared:
            theirs = shared.changes()
            await store.create("one", "about", "text", scope=None)
            for changes in (mine, theirs):
                expect_equal((await _next(changes)).key, "one", "what each is told")
            await theirs.aclose()
            expect_equal([each async for each in theirs], [], "what is told after the end")
        await store.create("two", "about", "text", scope=None)
        expect_equal((await _next(mine)).key, "two", "what is told after another one left")
        expect_equal(await view.count(), 2, "the count after another one left")


@THEME.case()
async def a_view_that_was_left_answers_as_the_store_does(harness: Harness) -> None:
    """A run that outlives its host's view must not be shown the notes of yesterday."""
    store = await harness.open()
    await store.create("one", "about", "text", scope=None)
    async with store.live() as view:
        changes = view.changes()
    await store.create("two", "about", "text", scope=None)
    expect_equal([item.key for item in await view.list()], ["one", "two"], "the listing")
    expect_equal(await view.count(), 2, "the count")
    async with asyncio.timeout(_PATIENCE):
        expect_equal([each async for each in changes], [], "the changes")
        expect_equal([each async for each in view.changes()], [], "changes that are asked for afterwards")
    async with store.live() as again:
        expect_equal(await again.list(), await store.list(), "another view")


@THEME.case()
async def a_view_grants_no_authority(harness: Harness) -> None:
    """What a run has only seen in a list it has not read."""
    store, scope = await harness.open(), harness.scope()
    await store.create("note", "about", "text", scope=None)
    async with store.live() as view:
        changes = view.changes(initial=True)
        await view.list()
        await _next(changes)
        with refused(StaleEntryError, "an update of what was only seen in a view"):
            await store.update("note", "about", "blind", scope=scope)


@THEME.case()
async def a_view_counts_a_full_store_exactly(harness: Harness) -> None:
    """A host that asks whether there is room gets the number, and not a page of it."""
    store = await harness.open()
    await fill(harness, store, numbered(MAX_ENTRIES - 1))
    async with store.live() as view:
        expect_equal(await view.count(), MAX_ENTRIES - 1, "the count below the limit")
        await store.create("one-more", "about", "text", scope=None)
        expect_equal(await view.count(), MAX_ENTRIES, "the count at the limit")
        await store.delete("entry-0000", scope=None)
        expect_equal(await view.count(), MAX_ENTRIES - 1, "the count after a delete")
        expect_equal(await view.list(), await store.list(), "the view")


@THEME.case()
async def a_view_of_the_store_itself_is_taken(harness: Harness) -> None:
    """A host gives its runs the view of the store that it gives them."""
    store = await harness.open()
    await store.create("note", "about", "text", scope=None)
    async with store.live() as view:
        expect_equal(await LiveStore(store, view).list(), await store.list(), "the listing out of the view")


@THEME.case(Need.NEIGHBOUR)
async def a_view_of_a_neighbour_is_refused(harness: Harness) -> None:
    """A host that mixes up two views would show one agent's notes to the model of another."""
    store, neighbour = await harness.open(), await harness.neighbour()
    async with store.live() as mine, neighbour.live() as theirs:
        for one, view in ((store, theirs), (neighbour, mine)):
            with refused(InvalidOptionsError, "a view of another keyspace"):
                LiveStore(one, view)


@THEME.case("plant")
async def a_view_shows_what_others_put_there(harness: Harness) -> None:
    """Values of other programs are listed with the descriptions that are in them; names that are no keys are not."""
    store = await harness.open()
    for number, (value, _, _) in enumerate(FOREIGN_VALUES[::2]):
        await harness.plant(f"before-{number:02}", value)
    async with store.live() as view:
        expect_equal(await view.list(), await store.list(), "the view of what was there")
        for number, (value, _, _) in enumerate(FOREIGN_VALUES[1::2]):
            await harness.plant(f"after-{number:02}", value)
        await harness.plant("no~key", b"text")
        expect_equal(await view.list(), await store.list(), "the view of what came")
        changes = view.changes()
        await harness.plant("after-00", b"---\ndescription: changed by hand\n---\n\ntext")
        expect_equal(_without_revision(await _next(changes)), Change("updated", "after-00", "changed by hand"), "it")
        expect_equal(await view.list(), await store.list(), "the view of what changed")


@THEME.case("recreate")
async def a_keyspace_that_was_made_anew_is_seen_and_told(harness: Harness) -> None:
    """Notes of a bucket that is gone must not be shown as if they were there; nobody would learn that they are lost."""
    store, scope = await harness.open(), harness.scope()
    for key in ("kept", "lost"):
        await store.create(key, "about", f"text of {key}", scope=scope)
    async with store.live() as view:
        changes = view.changes(initial=True)
        has_revisions = [(await _next(changes)).revision is not None for _ in range(2)]
        await harness.recreate()
        other = await harness.open()
        # The same words under the same key, and where revisions are numbers, under the same one.
        # A store that tells none is only known by its listing.
        await other.create("kept", "about" if all(has_revisions) else "anew", "text of kept", scope=None)
        expect_equal([item.key for item in await view.list()], ["kept"], "the view of the new keyspace")
        expect_equal(await view.count(), 1, "the count")
        told = sorted([(each.kind, each.key) for each in [await _next(changes), await _next(changes)]])
        expect_equal(told, [("deleted", "lost"), ("updated", "kept")], "the changes")
        await other.create("new", "about", "text", scope=None)
        expect_equal((await _next(changes)).key, "new", "what came then")


async def _next(changes: Changes) -> Change:
    try:
        async with asyncio.timeout(_PATIENCE):
            return await anext(changes)
    except TimeoutError:
        raise PromiseBroken("a change was not told") from None


def _without_revision(told: Change) -> Change:
    return Change(told.kind, told.key, told.description)


async def _rewrite(store: Store, scope: Scope, keys: Iterator[str]) -> None:
    await change(store, next(keys), scope, lambda content: f"{content}+"[-64:])
