"""The view: what a store would list, answered from memory as soon as that is known to be current."""

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from typing import Final

from jsmemory.entries import Item
from jsmemory.errors import IncompleteListingError, JsMemoryError
from jsmemory.live.changes import Changes
from jsmemory.live.feed import Feed
from jsmemory.live.picture import Picture

BEGIN_S: Final = 20.0
"""Seconds that the first look may take: it outlasts an election in which votes split, as a bind does."""


class LiveView:
    """
    The keys, descriptions and revisions of a store, kept in memory; made by `Store.live`.

        async with store.live() as view:
            print(await view.count())
            async for change in view.changes():
                print(change.kind, change.key, change.description)

    One view may serve any number of tasks. What it shows grants no authority to overwrite.
    After its block it answers as the store does, and tells no more changes.

    Args:
        feed: What keeps the picture.
        picture: What is kept.
        listing: The store's own listing, for when the picture cannot be known to be current.
        names: What the keyspace goes by, of the store: see `Store.keyspace_names`.
    """

    def __init__(
        self,
        feed: Feed,
        picture: Picture,
        listing: Callable[[], Awaitable[tuple[Item, ...]]],
        names: Callable[[], frozenset[Hashable]],
    ) -> None:
        self._feed = feed
        self._picture = picture
        self._listing = listing
        self._names = names
        self._following: asyncio.Task[None] | None = None
        self._is_over = False

    async def list(self) -> tuple[Item, ...]:
        """
        List every key with its description, sorted by key in byte order.

        Promises what `Store.list` promises, for one round trip: every entry that was stored
        before the call began and was not deleted since is in it. Where the view cannot be
        sure of that soon, the store's own listing is the answer. What an operator purges, or
        a bucket lets expire without a marker, may be shown for up to a minute more.

        Raises:
            JsMemoryError: as `Store.list` does.
        """
        if not self._is_over and await self._feed.catch_up():
            return self._picture.items()
        return await self._listing()

    async def count(self) -> int:
        """
        How many entries there are: exact, as of the call.

        Raises:
            JsMemoryError: as `list` does.
        """
        return len(await self.list())

    def changes(self, *, initial: bool = False) -> Changes:
        """
        Iterate over what changes from now on: from what the view knows, and last listed, at this moment.

        After an interruption, and also where the keyspace was made anew meanwhile, it tells
        what differs between before and after, deleted keys as well. Each key is told once,
        however often it changed since the last time: a reader that is slow makes nothing pile up.

        Args:
            initial: Begin with every entry that there is, as ``present``.

        Returns:
            An iterator, which waits for changes for as long as the view lasts.

        Raises:
            JsMemoryError: by the iterator, where waiting does not help: a right is missing, the
                connection was closed, or there is more than a view keeps.
        """
        changes = Changes(self._picture, initial=initial)
        if self._is_over:
            changes.end()
        return changes

    def shows(self, names: frozenset[Hashable]) -> bool:
        """Whether it is a view of the keyspace that goes by these names, of `Store.keyspace_names`."""
        return not self._names().isdisjoint(names)

    @property
    def trouble(self) -> JsMemoryError | None:
        """What keeps the view from following just now; None while it follows. It goes on trying."""
        return self._picture.trouble

    # -- For `shared_view` ------------------------------------------------------------------

    async def begin(self) -> None:
        """
        Follow, and wait until everything has been seen once. May be called by all who share the view.

        Raises:
            JsMemoryError: that is not to be had; as for a listing.
        """
        if self._following is None:
            self._following = asyncio.create_task(self._follow())
        try:
            async with asyncio.timeout(BEGIN_S):
                while not self._picture.is_complete:
                    if self._picture.lost is not None:
                        raise self._picture.lost
                    await self._picture.moved()
        except TimeoutError:
            raise self._picture.trouble or IncompleteListingError() from None

    async def end(self) -> None:
        """Stop following, and end every iteration. Nothing is left behind, here or on a server."""
        self._is_over = True
        self._picture.end()
        if self._following is not None:
            self._following.cancel()
            await asyncio.wait([self._following])

    async def _follow(self) -> None:
        try:
            await self._feed.follow()
        except Exception as failure:
            # Told to whoever iterates; a listing meets it by itself.
            self._picture.fail(failure)
