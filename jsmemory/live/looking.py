"""A feed for what tells nothing by itself: it looks, and looks again."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import Final

from jsmemory.entries import Item
from jsmemory.errors import JsMemoryError, TooManyEntriesError
from jsmemory.live.feed import Feed
from jsmemory.live.picture import Known, Picture

LISTED_EVERY: Final = 0.5
"""Seconds between two listings of a store that has no feed of its own, while somebody waits for changes."""


class LookingFeed(Feed):
    """
    Looks whenever it is to catch up, and now and then while somebody waits for changes.

    Args:
        picture: What to keep.
        look: Gives all that there is.
        every: Seconds between two looks.
    """

    def __init__(self, picture: Picture, look: Callable[[], Awaitable[Iterable[Known]]], *, every: float) -> None:
        self._picture = picture
        self._look = look
        self._every = every
        self._one_looks = asyncio.Lock()
        self._looked_at = float("-inf")

    @classmethod
    def at_listings(
        cls, picture: Picture, listing: Callable[[], Awaitable[tuple[Item, ...]]], *, every: float = LISTED_EVERY
    ) -> "LookingFeed":
        """A feed for any store. A listing shows no revisions: an update that keeps the description goes unnoticed."""

        async def look() -> Iterable[Known]:
            return [Known(item) for item in await listing()]

        return cls(picture, look, every=every)

    async def follow(self) -> None:
        while True:
            if self._picture.is_watched or not self._picture.is_complete:
                try:
                    await self.catch_up()
                except JsMemoryError as error:
                    self._picture.lose(error)
            await asyncio.sleep(self._every)

    async def catch_up(self) -> bool:
        asked_at = asyncio.get_running_loop().time()
        async with self._one_looks:
            # One look serves all who asked before it began.
            if self._looked_at <= asked_at:
                began = asyncio.get_running_loop().time()
                known = await self._look()
                try:
                    self._picture.replace(known)
                except TooManyEntriesError as error:
                    self._picture.lose(error)
                    return False
                self._looked_at = began
        return True
