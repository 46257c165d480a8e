"""
What was counted last, and the most places that can be taken by now.

A bucket that was deleted and made anew counts from 1 again, and nobody tells a store at once. So
what is known is held against what is shown: a write that is stored at a sequence which was
reached before it was sent, or a listing that ends before what was known, is of another bucket,
or of one whose end an operator has purged. Then nothing that was known before counts.
"""

import sys
import time
from collections import deque
from collections.abc import Iterable
from typing import Final

from jsmemory.backends.jetstream.inbox import Row
from jsmemory.backends.jetstream.messages import Window

_KEPT: Final = 4096
# Sequences of own writes that are known to have added no key; what is forgotten only counts for more.


class Count:
    """
    The places of one prefix, counted by a listing, and bounded by sequences since.

    Attributes:
        taken: The names that hold a value, as of the last count.
        provisional: The names that hold a first value without a place yet, and its sequence.
        last: The last sequence of the prefix then.
        seen_at: When that was seen, in monotonic time.
        reached: The highest sequence that a write of this process or a listing has shown.
        is_made: Whether there is a count to go by.
    """

    def __init__(self) -> None:
        self.taken: set[str] = set()
        self.provisional: dict[str, int] = {}
        self.last = 0
        self.seen_at = 0.0
        self.reached = 0
        self.is_made = False
        self._harmless: deque[int] = deque(maxlen=_KEPT)

    @property
    def bound(self) -> int:
        """The most places that can be taken at the sequence that is known to be reached."""
        if not self.is_made:
            return sys.maxsize
        return self._claimed + max(0, self.reached - self.last - len(self._harmless))

    @property
    def _claimed(self) -> int:
        return len(self.taken) + len(self.provisional)

    def window(self, capacity: int) -> Window:
        """Where a first value has a place: each message since the count may have taken one, but those known not to."""
        if not self.is_made:
            return Window(self.reached, self.reached)
        until = self.last + len(self._harmless) + capacity - self._claimed
        return Window(self.reached, max(self.reached, until))

    def spare(self, sequence: int) -> None:
        """A write of this process is stored at `sequence` that added no key."""
        if sequence > self.last:
            self._harmless.append(sequence)
        self.reached = max(self.reached, sequence)

    def stored(self, sequence: int, reached_before: int) -> None:
        """A value was stored at `sequence`; so far the bucket was known to have come before it was sent."""
        if sequence <= reached_before:
            self.is_made = False
        self.reached = max(self.reached, sequence)

    def confirmed(self, name: str, sequence: int) -> None:
        """The provisional value of `name` has become an entry, at `sequence`."""
        if self.provisional.pop(name, None) is not None:
            self.taken.add(name)
        self.spare(sequence)

    def take_over(self, rows: Iterable[tuple[str, Row]], last: int, reached_before: int, *, is_whole: bool) -> None:
        """
        Use a complete listing.

        Args:
            rows: The names that count, and what they hold.
            last: The last sequence of the prefix when it ended.
            reached_before: What `reached` was when it began.
            is_whole: Whether it is of all there is, rather than of what has changed since the last count.
        """
        if is_whole:
            self.taken, self.provisional = set(), {}
        for name, row in rows:
            self.taken.discard(name)
            self.provisional.pop(name, None)
            if row.is_value:
                self.taken.add(name)
            elif row.is_provisional:
                self.provisional[name] = row.sequence
        if last < reached_before:
            self._harmless.clear()
            if self.reached == reached_before:
                # Else something was stored meanwhile, and it is not known before or after what.
                self.reached = last
        self.is_made = True
        self._begin_at(last)

    def _begin_at(self, sequence: int) -> None:
        self.last = sequence
        self.seen_at = time.monotonic()
        self.reached = max(self.reached, sequence)
        self._harmless = deque((each for each in self._harmless if each > sequence), maxlen=_KEPT)
