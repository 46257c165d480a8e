"""What differs between what a reader was told last and what there is now, one key at a time."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Literal

from jsmemory.live.picture import Known, Picture

Kind = Literal["present", "created", "updated", "deleted"]


@dataclass(frozen=True, slots=True)
class Change:
    """
    What has become of one key since the reader was last told of it.

    Attributes:
        kind: ``created``, ``updated`` or ``deleted``; ``present`` for what was there when the
            iteration began, and only where that was asked for.
        key: The key.
        description: The description; that of the last value known for a key that is deleted.
        revision: The revision. None for a key that is deleted, and from a store that tells none.
    """

    kind: Kind
    key: str
    description: str
    revision: str | None = None


class Changes(AsyncIterator[Change]):
    """
    An iteration over the changes of a view; made by `LiveView.changes`.

    A reader that is slow is told less often, not later: a key has one change to be told at
    most, from what the reader knows to what there is. What came and went meanwhile is nothing.
    So what waits is never more than the view knows, and the reader knew.
    """

    def __init__(self, picture: Picture, *, initial: bool) -> None:
        self._picture = picture
        self._present = {item.key for item in picture.items()} if initial else set[str]()
        # By key, what the reader knows of it; in the order in which the keys began to differ.
        self._told: dict[str, Known | None] = dict.fromkeys(sorted(self._present))
        self._stirred = asyncio.Event()
        self._is_over = False
        self._raised: Exception | None = None
        picture.watch(self)

    def note(self, key: str, before: Known | None, now: Known | None) -> None:
        """Called by the picture."""
        told = self._told.setdefault(key, before)
        if told == now:
            # The reader knows it like that.
            del self._told[key]
            self._present.discard(key)
        self._stirred.set()

    def wake(self) -> None:
        """Called by the picture: see whether it is still worth to wait."""
        self._stirred.set()

    async def __anext__(self) -> Change:
        while not self._is_over:
            self._stirred.clear()
            for key in self._told:
                return self._take(key)
            self._raise_if_lost()
            await self._stirred.wait()
        raise StopAsyncIteration

    def _raise_if_lost(self) -> None:
        lost = self._picture.lost
        # The same trouble once: whoever goes on after it waits for what becomes of it.
        if lost is not None and (lost is not self._raised or lost is self._picture.failure):
            self._raised = lost
            # The same error again and again: what it went through the time before would only pile up.
            raise lost.with_traceback(None)

    async def aclose(self) -> None:
        """End the iteration, also for who waits in it."""
        self._picture.unwatch(self)
        self.end()

    def end(self) -> None:
        """Called by the picture: there will be no more changes."""
        self._is_over = True
        self._told.clear()
        self._stirred.set()

    def _take(self, key: str) -> Change:
        told, now = self._told.pop(key), self._picture.get(key)
        is_present = key in self._present
        self._present.discard(key)
        if now is None:
            description = "" if told is None else told.item.description
            return Change("deleted", key, description)
        kind: Kind = "updated" if told is not None else "present" if is_present else "created"
        return Change(kind, key, now.item.description, now.revision)
