"""A host gives a call up in the middle: the old value or the new one is there, and nothing else."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

from jsmemory.errors import EntryNotFoundError
from jsmemory.store import Store
from jsmemory.testing.case import Theme
from jsmemory.testing.expecting import expect, expect_equal, keys_of
from jsmemory.testing.harness import Harness
from jsmemory.testing.racing import change, cut_short, race

THEME = Theme[Harness]("cancellation")

_MOMENTS: Final = (0, 1, 2, 3, 4, 6, 8, 12, 16, 24)
# Turns of the event loop after which a call is given up.

_SOON: Final = 5.0
# Seconds within which a cancelled call has ended. It takes milliseconds.


@THEME.case()
async def a_cancelled_create_leaves_the_entry_or_nothing(harness: Harness) -> None:
    """A run that is stopped while it writes must not leave half a note, or a key that nobody can use."""
    store, other = await harness.open(), await harness.open()
    for moment in _MOMENTS:
        key = f"note-{moment}"
        await cut_short(store.create, key, "about", "x" * 50_000, scope=harness.scope(), after=moment)
        content = await _content_of(other, key)
        expect(content in (None, "x" * 50_000), "a cancelled create left something else")
        await race([store.create(key, "about", "x" * 50_000, scope=None)])
        await change(other, key, harness.scope(), lambda content: content)


@THEME.case()
async def a_cancelled_update_leaves_the_old_value_or_the_new(harness: Harness) -> None:
    """A run that is stopped while it overwrites must not tear the note, nor keep the others from writing it."""
    store, other = await harness.open(), await harness.open()
    await store.create("note", "about", "old", scope=None)
    for moment in _MOMENTS:
        scope = harness.scope()
        _, old = await store.read("note", scope=scope)
        new = f"{moment} " * 9_000
        await cut_short(store.update, "note", "about", new, scope=scope, after=moment)
        expect(await _content_of(other, "note") in (old, new), "a cancelled update left something else")
        await change(other, "note", harness.scope(), lambda _: "old")
        expect_equal(await keys_of(store), ("note",), "the listing")


@THEME.case()
async def a_cancelled_delete_leaves_the_entry_or_nothing(harness: Harness) -> None:
    """A run that is stopped while it deletes: the note is there or gone, for everybody."""
    store, other = await harness.open(), await harness.open()
    for moment in _MOMENTS:
        await race([store.create("note", "about", "text", scope=None)])
        await cut_short(store.delete, "note", scope=None, after=moment)
        expect(await _content_of(other, "note") in (None, "text"), "a cancelled delete left something else")
        await other.delete("note", scope=None)
        await store.delete("note", scope=None)
        expect_equal(await keys_of(store), (), "the listing")


@THEME.case()
async def a_cancelled_call_holds_nobody_up(harness: Harness) -> None:
    """A lock that a cancelled call keeps would stop the fleet."""
    store, other, scope = await harness.open(), await harness.open(), harness.scope()
    await store.create("note", "about", "0", scope=scope)
    for moment in _MOMENTS:
        await asyncio.gather(
            cut_short(store.list, after=moment),
            cut_short(store.read, "note", scope=harness.scope(), after=moment),
            cut_short(store.create, f"other-{moment}", "about", "text", scope=None, after=moment),
            cut_short(store.update, "note", "about", f"{moment}", scope=scope, after=moment),
            cut_short(store.delete, f"other-{moment}", scope=None, after=moment),
        )
        await change(store, "note", scope, lambda content: f"{content}+")
        await change(other, "note", harness.scope(), lambda content: f"{content}-")
        await store.list()


@THEME.case()
async def a_cancellation_is_never_lost(harness: Harness) -> None:
    """A worker in a loop must stop when its host says so, also where the answer comes at that very moment."""
    store = await harness.open()
    await store.create("note", "about", "text", scope=None)
    calls = (lambda: store.read("note", scope=None), store.list, lambda: store.delete("absent", scope=None))
    for call in calls:
        for turns in range(60):

            async def work(call: Callable[[], Awaitable[object]] = call) -> None:
                while True:
                    await call()
                    await asyncio.sleep(0)

            worker = asyncio.create_task(work())
            for _ in range(turns):
                await asyncio.sleep(0)
            worker.cancel()
            ended, _ = await asyncio.wait([worker], timeout=_SOON)
            # Cancelled again and again, so that nothing is left of it when this case has failed.
            while not worker.done():
                worker.cancel()
                await asyncio.sleep(0)
            expect(bool(ended) and worker.cancelled(), "a worker went on although it was cancelled")


async def _content_of(store: Store, key: str) -> str | None:
    try:
        return (await store.read(key, scope=None)).content
    except EntryNotFoundError:
        return None
