"""What a view knows of its keyspace, and who is to be told when that changes."""

import asyncio
import weakref
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Protocol

from jsmemory.entries import Item
from jsmemory.errors import JsMemoryError, TooManyEntriesError
from jsmemory.limits import MAX_ENTRIES

MAX_KNOWN: Final = 16 * MAX_ENTRIES
"""Entries that a view keeps at most. A store has 1,024; a bucket that is viewed whole may hold more."""


@dataclass(frozen=True, slots=True)
class Known:
    """
    What a view knows of one entry. Two that are equal stand for the same stored value.

    Attributes:
        item: Its line in a listing.
        revision: Its revision; None where the feed cannot tell.
        stamp: What tells the value from another one that could have the same revision, as in a
            keyspace that was made anew.
    """

    item: Item
    revision: str | None = None
    stamp: str = ""


class Watcher(Protocol):
    """Who is told of every change."""

    def note(self, key: str, before: Known | None, now: Known | None) -> None: ...
    def wake(self) -> None: ...
    def end(self) -> None: ...


class Picture:
    """
    The newest value of each key, as far as a feed has told. Bounded: see `MAX_KNOWN`.

    Attributes:
        is_complete: Whether it was like the keyspace when the feed last looked.
        trouble: What keeps the feed from following just now; None while it follows.
        failure: Why there is nothing more to follow.
    """

    def __init__(self) -> None:
        self.is_complete = False
        self.trouble: JsMemoryError | None = None
        self.failure: Exception | None = None
        self._known: dict[str, Known] = {}
        self._items: tuple[Item, ...] | None = None
        self._watchers: weakref.WeakSet[Watcher] = weakref.WeakSet()
        self._moved = asyncio.Event()

    # -- For feeds --------------------------------------------------------------------------

    def get(self, key: str) -> Known | None:
        """What is known of a key."""
        return self._known.get(key)

    def replace(self, known: Iterable[Known]) -> None:
        """
        This is all that there is: a complete look, whatever was missed since the one before.

        Raises:
            TooManyEntriesError: it is more than a view keeps; the picture is as it was.
        """
        after = {each.item.key: each for each in known}
        if len(after) > MAX_KNOWN:
            raise TooManyEntriesError(MAX_KNOWN)
        before, self._known = self._known, after
        gone = before.keys() - after.keys()
        # Asked first whether it is the same object: mostly nothing has changed.
        different = [key for key, now in after.items() if (was := before.get(key)) is not now and was != now]
        for key in sorted([*gone, *different]):
            self._tell(key, before.get(key), after.get(key))
        self.is_complete, self.trouble = True, None
        self.move()

    def put(self, key: str, now: Known | None) -> None:
        """
        The key holds this value now, or none.

        Raises:
            TooManyEntriesError: it is one more than a view keeps; the picture is as it was.
        """
        was = self._known.get(key)
        if was == now:
            return
        if now is None:
            del self._known[key]
        elif was is None and len(self._known) >= MAX_KNOWN:
            raise TooManyEntriesError(MAX_KNOWN)
        else:
            self._known[key] = now
        self._tell(key, was, now)

    def lose(self, trouble: JsMemoryError) -> None:
        """The feed does not follow any more, for the time being."""
        self.is_complete, self.trouble = False, trouble
        self.move()

    def move(self) -> None:
        """Wake whoever waits for the feed to get on."""
        moved, self._moved = self._moved, asyncio.Event()
        moved.set()
        if self.trouble is not None:
            self._wake()

    # -- For views --------------------------------------------------------------------------

    def items(self) -> tuple[Item, ...]:
        """What is known, as a listing: sorted by key in byte order."""
        if self._items is None:
            self._items = tuple(self._known[key].item for key in sorted(self._known))
        return self._items

    async def moved(self) -> None:
        """Wait until the feed gets on, or into trouble."""
        await self._moved.wait()

    def watch(self, watcher: Watcher) -> None:
        """Tell `watcher` of every change from now on, for as long as somebody holds it."""
        self._watchers.add(watcher)

    def unwatch(self, watcher: Watcher) -> None:
        """Tell it nothing more."""
        self._watchers.discard(watcher)

    def end(self) -> None:
        """Tell nobody anything more."""
        for watcher in list(self._watchers):
            watcher.end()
        self._watchers.clear()

    @property
    def is_watched(self) -> bool:
        """Whether anybody is told of changes."""
        return len(self._watchers) > 0

    def fail(self, failure: Exception) -> None:
        """There is nothing more to follow."""
        self.failure = failure
        self.is_complete = False
        self.move()
        self._wake()

    @property
    def lost(self) -> Exception | None:
        """What keeps the feed from following, where waiting does not mend it before somebody acts."""
        if self.failure is None and self.trouble is not None and not self.trouble.retryable:
            return self.trouble
        return self.failure

    def _tell(self, key: str, before: Known | None, now: Known | None) -> None:
        self._items = None
        for watcher in self._watchers:
            watcher.note(key, before, now)

    def _wake(self) -> None:
        for watcher in self._watchers:
            watcher.wake()
