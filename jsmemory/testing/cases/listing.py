"""A listing is complete, sorted, and shows no contents."""

import asyncio
from collections.abc import Iterator
from functools import partial
from itertools import cycle

from jsmemory.scope import Scope
from jsmemory.store import Store
from jsmemory.testing.case import Theme
from jsmemory.testing.corpora import DESCRIPTIONS
from jsmemory.testing.expecting import expect, expect_equal, keys_of
from jsmemory.testing.filling import fill, numbered
from jsmemory.testing.harness import Harness
from jsmemory.testing.racing import change, meanwhile

THEME = Theme[Harness]("listing")


@THEME.case()
async def an_empty_store_lists_nothing(harness: Harness) -> None:
    """The first run of an agent finds an empty memory, not an error and not a wait."""
    expect_equal(await (await harness.open()).list(), (), "the listing of an empty store")


@THEME.case()
async def a_store_of_deleted_entries_lists_nothing(harness: Harness) -> None:
    """A bucket that holds only tombstones must not make a listing wait for values that will never come."""
    store = await harness.open()
    for key in ("a", "b", "c"):
        await store.create(key, "about", "text", scope=None)
        await store.delete(key, scope=None)
    expect_equal(await store.list(), (), "the listing")
    expect_equal(await (await harness.open()).list(), (), "the listing of another process")


@THEME.case()
async def a_listing_is_sorted_by_bytes(harness: Harness) -> None:
    """Two listings of the same entries are the same text: a prompt that is cached stays cached."""
    store = await harness.open()
    keys = ["b", "a.b", "a-b", "a", "Z", "z", "a_b", "a=b", "0", "10", "9", "_", "=", "-", "ab", "aB"]
    for key in keys:
        await store.create(key, f"about {key}", "text", scope=None)
    expect_equal(await keys_of(store), tuple(sorted(keys, key=str.encode)), "the listing")


@THEME.case()
async def an_item_is_a_key_and_its_description(harness: Harness) -> None:
    """An index is made of items: each describes its entry as a read does, however odd the description."""
    store = await harness.open()
    for number, (given, _) in enumerate(DESCRIPTIONS):
        await store.create(f"d{number:02}", given, "text", scope=None)
    for each in (store, await harness.open()):
        items = await each.list()
        expect_equal(
            [(item.key, item.description) for item in items],
            [(f"d{number:02}", wanted) for number, (_, wanted) in enumerate(DESCRIPTIONS)],
            "the listing",
        )


@THEME.case()
async def a_listing_shows_the_newest_description(harness: Harness) -> None:
    """What the process has just written, and what others have, is what the index shows."""
    store, other, scope = await harness.open(), await harness.open(), harness.scope()
    await store.create("note", "first", "text", scope=scope)
    await store.update("note", "second", "text 2", scope=scope)
    for each in (store, other):
        expect_equal([item.description for item in await each.list()], ["second"], "the descriptions")
    await other.read("note", scope=scope)
    await other.update("note", "third", "text 3", scope=scope)
    expect_equal([item.description for item in await other.list()], ["third"], "the descriptions")


@THEME.case()
async def a_full_store_is_listed_completely(harness: Harness) -> None:
    """1,024 entries and not a page of them: the index is all that a model sees of its memory."""
    store = await harness.open()
    await fill(harness, store, numbered(1_024))
    items = await store.list()
    expect_equal(tuple(item.key for item in items), tuple(numbered(1_024)), "the keys")
    expect(all(item.description == f"about {item.key}" for item in items), "a description belongs to another key")


@THEME.case()
async def a_listing_is_complete_while_entries_are_rewritten(harness: Harness) -> None:
    """A key that moves while it is listed must not drop out: a model would take the note for lost."""
    store = await harness.open()
    keys = numbered(40)
    await fill(harness, store, keys)
    writers = [await harness.open(), await harness.open()]
    steps = [partial(_rewrite, writers[part % 2], harness.scope(), cycle(keys[part::4])) for part in range(4)]
    async with meanwhile(*steps):
        for _ in range(15):
            await asyncio.sleep(0)
            expect_equal(await keys_of(store), tuple(keys), "the keys in a busy store")


@THEME.case()
async def a_listing_is_complete_while_entries_come_and_go(harness: Harness) -> None:
    """Whatever else happens in the bucket, what was there before and is there after is in the list, once."""
    store, other = await harness.open(), await harness.open()
    keys = numbered(20)
    await fill(harness, store, keys)
    async with meanwhile(*(partial(_come_and_go, other, f"passing-{number}") for number in range(3))):
        for _ in range(15):
            await asyncio.sleep(0)
            listed = await keys_of(store)
            expect_equal(tuple(key for key in listed if key.startswith("entry-")), tuple(keys), "the lasting keys")
            expect_equal(len(set(listed)), len(listed), "how many keys are listed once")


@THEME.case()
async def a_listing_is_never_older_than_what_this_store_has_done(harness: Harness) -> None:
    """The index after a write shows it, and after a delete does not, also where a replica lags."""
    store = await harness.open()
    for number in range(12):
        await store.create(f"n{number:02}", "about", "text", scope=None)
        expect(f"n{number:02}" in await keys_of(store), "an entry that was just created is not listed")
        if number % 2:
            await store.delete(f"n{number:02}", scope=None)
            expect(f"n{number:02}" not in await keys_of(store), "an entry that was just deleted is listed")


async def _rewrite(store: Store, scope: Scope, keys: Iterator[str]) -> None:
    await change(store, next(keys), scope, lambda content: f"{content}+"[-64:])


async def _come_and_go(store: Store, key: str) -> None:
    await store.create(key, "about", "text", scope=None)
    await asyncio.sleep(0)
    await store.delete(key, scope=None)
