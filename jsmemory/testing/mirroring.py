"""A reader of a view's changes that keeps a copy, and minds whether each change fits those before it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from jsmemory.entries import Item
from jsmemory.live import Change, LiveView
from jsmemory.store import Store
from jsmemory.testing.expecting import expect, expect_equal

LONGEST_S: Final = 60.0
"""Seconds after which a change counts as not told: an election, on a machine that others use as well."""


class Mirror:
    """
    What changes have told, applied one after the other.

    Attributes:
        entries: The descriptions, by key.
        told: The changes.
    """

    def __init__(self) -> None:
        self.entries: dict[str, str] = {}
        self.told: list[Change] = []
        self._applied = asyncio.Event()

    def apply(self, change: Change) -> None:
        """
        Take in one change.

        Raises:
            PromiseBroken: it cannot follow upon those before it.
        """
        is_new = change.key not in self.entries
        expect(
            (change.kind in ("created", "present")) == is_new, f"after all that was told, this makes no sense: {change}"
        )
        self.told.append(change)
        self._applied.set()
        if change.kind == "deleted":
            del self.entries[change.key]
        else:
            self.entries[change.key] = change.description

    async def becomes(self, items: tuple[Item, ...]) -> None:
        """
        Wait until the mirror shows what a listing shows.

        Raises:
            PromiseBroken: it does not within a minute.
        """
        listed = {item.key: item.description for item in items}
        try:
            async with asyncio.timeout(LONGEST_S):
                while self.entries != listed:
                    self._applied.clear()
                    await self._applied.wait()
        except TimeoutError:
            expect_equal(self.entries, listed, "what was told")

    async def agrees(self, view: LiveView, store: Store) -> None:
        """
        The view lists and counts what another store on the same keyspace lists, at once; and the mirror gets there.

        Raises:
            PromiseBroken: it does not.
        """
        listed = await store.list()
        expect_equal(await view.list(), listed, "the view")
        expect_equal(await view.count(), len(listed), "the count")
        await self.becomes(listed)


@asynccontextmanager
async def mirrored(view: LiveView) -> AsyncIterator[Mirror]:
    """
    A mirror that follows a view while the block lasts.

    Raises:
        PromiseBroken: a change made no sense.
        JsMemoryError: as the changes do.
    """
    mirror = Mirror()
    changes = view.changes(initial=True)

    async def follow() -> None:
        async for change in changes:
            mirror.apply(change)

    following = asyncio.create_task(follow())
    try:
        yield mirror
    finally:
        await changes.aclose()
        await following
