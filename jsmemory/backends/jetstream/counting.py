"""
What was counted last, and the most places that can be taken by now.

A bucket that was deleted and made anew counts from 1 again, and nobody tells a store at once. So
what is known is held against what is shown: a write that is stored at a sequence which was
reached before it was sent, or a listing that ends before what was known, is of another bucket,
or of one whose end an operator has purged. Then nothing that was known before counts. And a
count that is some seconds old is made sure of before it is used.
"""

import asyncio
import sys
import time
from collections import deque
from collections.abc import Awaitable, Callable, Iterable
from typing import Final, NamedTuple

from jsmemory.backends.jetstream.binding import Binding
from jsmemory.backends.jetstream.deadline import Deadline
from jsmemory.backends.jetstream.inbox import Row
from jsmemory.backends.jetstream.listing import Listings
from jsmemory.backends.jetstream.messages import Window
from jsmemory.backends.jetstream.wire import Denied
from jsmemory.errors import BackendUnavailableError, IncompleteListingError
from jsmemory.keys import Prefix

_KEPT: Final = 4096
# Sequences of own writes that are known to have added no key; what is forgotten only counts for more.

_FRESH_FOR: Final = 2.0
# Seconds for which a count is used as it is. That a disk went back to a snapshot, or a bucket was
# made anew and filled, is found out after them.
_FEW: Final = 256
# Messages; of so many that come to a bucket between two creates most windows hold none any more.
_RENEWED_WITHIN: Final = 2.0
# Seconds for which it is tried to count again.


class Begun(NamedTuple):
    """
    What was known when a listing began.

    Attributes:
        at: When that was, in monotonic time.
        reached: What the prefix had come to, as far as was known.
        position: What the whole stream had come to, as far as was known.
    """

    at: float
    reached: int
    position: int


class Count:
    """
    The places of one prefix, counted by a listing, and bounded by sequences since.

    Attributes:
        taken: The names that hold a value, as of the last count.
        provisional: The names that hold a first value without a place yet, and its sequence.
        last: The last sequence of the prefix then.
        base: The last sequence of the whole stream that is known to have been before that count.
        seen_at: When what was seen was asked for, in monotonic time.
        whole_at: The same, of the last listing of all there is.
        reached: What the prefix is known to have come to, by a write of this process or a listing.
        is_made: Whether there is a count to go by.
        is_outrun: Whether so much is stored elsewhere in the bucket that it is better to ask before each create.
        is_doubtful: Whether there is a sign of something that a listing of changes would not tell.
    """

    def __init__(self) -> None:
        self.taken: set[str] = set()
        self.provisional: dict[str, int] = {}
        self.last = 0
        self.base = 0
        self.seen_at = 0.0
        self.whole_at = 0.0
        self.reached = 0
        self.is_made = False
        self.is_outrun = False
        self.is_doubtful = False
        self._uncertain = 0
        # Messages before `base` of which it is not known whether they added a key.
        self._harmless: deque[int] = deque(maxlen=_KEPT)

    @property
    def is_fresh(self) -> bool:
        """Whether what was counted need not be made sure of."""
        return self.is_made and time.monotonic() - self.seen_at <= _FRESH_FOR

    @property
    def claimed(self) -> int:
        """How many names had, or were to have, a place."""
        return len(self.taken) + len(self.provisional)

    def free(self, capacity: int) -> int:
        """How many places no entry has; provisional values may be before others for them."""
        return capacity - len(self.taken)

    @property
    def bound(self) -> int:
        """The most places that can be taken at the sequence that is known to be reached."""
        if not self.is_made:
            return sys.maxsize
        return self.claimed + self._uncertain + self._unknown_since

    @property
    def _unknown_since(self) -> int:
        return max(0, self.reached - self.base - len(self._harmless))

    def window(self, capacity: int) -> Window:
        """Where a first value has a place: each message since the count may have taken one, but those known not to."""
        after = max(self.reached, self.base)
        if not self.is_made:
            return Window(after, after)
        places = capacity - self.claimed - self._uncertain
        return Window(after, max(after, self.base + len(self._harmless) + places))

    def rank(self, sequence: int) -> int:
        """Which of the provisional values is the one at a sequence: the first gets the first place that is free."""
        return sum(each <= sequence for each in self.provisional.values())

    def spare(self, sequence: int) -> None:
        """A write of this process is stored at `sequence` that added no key."""
        if sequence > self.base:
            self._harmless.append(sequence)
        self.reached = max(self.reached, sequence)

    def stored(self, sequence: int, reached_before: int) -> None:
        """A value was stored at `sequence`; so far the bucket was known to have come before it was sent."""
        if sequence <= reached_before:
            self.is_made = False
        self.reached = max(self.reached, sequence)

    def was_outrun(self, capacity: int) -> None:
        """A first value was stored too late for its window; where there are places, others wrote so much."""
        self.is_outrun = self.claimed < capacity - _FEW

    def confirmed(self, name: str, replaced: int, sequence: int) -> None:
        """The provisional value of `name` at the sequence `replaced` has become an entry, at `sequence`."""
        if self.provisional.get(name) == replaced:
            del self.provisional[name]
            self.taken.add(name)
        self.spare(sequence)

    def removed(self, name: str, replaced: int, sequence: int) -> None:
        """The provisional value of `name` at the sequence `replaced` has been removed, by a marker at `sequence`."""
        if self.provisional.get(name) == replaced:
            del self.provisional[name]
        self.spare(sequence)

    def still_holds(self, position: int, asked_at: float) -> None:
        """The prefix ended at `reached` when the stream had come to `position`, 0 where that is not known."""
        self.seen_at, self.is_outrun = asked_at, False
        if position > self.base:
            self._uncertain += self._unknown_since
            self._begin_at(position)

    def take_over(self, rows: Iterable[tuple[str, Row]], last: int, begun: Begun, *, is_whole: bool) -> None:
        """
        Use a complete listing.

        Args:
            rows: The names that count, and what they hold.
            last: The last sequence of the prefix when it ended.
            begun: What was known when it began.
            is_whole: Whether it is of all there is, rather than of what has changed since the last count.
        """
        if is_whole:
            self.taken, self.provisional = set(), {}
            self.whole_at, self.is_doubtful = begun.at, False
        for name, row in rows:
            self.taken.discard(name)
            self.provisional.pop(name, None)
            if row.is_value:
                self.taken.add(name)
            elif row.is_provisional:
                self.provisional[name] = row.sequence
        if last < begun.reached and self.reached == begun.reached:
            # Else something was stored meanwhile, and it is not known before or after what.
            self.reached = last
        self.seen_at, self.last, self._uncertain = begun.at, last, 0
        self.reached = max(self.reached, last)
        self._begin_at(max(last, begun.position))
        # Own writes while it was taken count as anybody's: they may have been in its way.
        self._harmless.clear()
        self.is_made = True

    def _begin_at(self, sequence: int) -> None:
        self.is_outrun = self.is_made and sequence - self.base - len(self._harmless) > _FEW
        self.base = sequence
        self._harmless = deque((each for each in self._harmless if each > sequence), maxlen=_KEPT)


class Counting:
    """
    Takes the count of one prefix, for all tasks of a process.

    Args:
        listings: Of the prefix.
        prefix: Which names count.
        examined: Examines the bucket if the credentials may, and tells how far the stream has come.

    Attributes:
        count: What was counted last.
        one_at_a_time: To be held while counting, and while acting on it: those who wait share the count.
    """

    def __init__(self, listings: Listings, prefix: Prefix, examined: Callable[[Deadline], Awaitable[Binding]]) -> None:
        self._listings = listings
        self._prefix = prefix
        self._examined = examined
        self.count = Count()
        self.one_at_a_time = asyncio.Lock()

    def begin(self) -> Begun:
        """To be asked before a listing that `learn` is to be told of."""
        return Begun(time.monotonic(), self.count.reached, self.count.base)

    def learn(self, rows: Iterable[tuple[str, Row]], last: int, begun: Begun) -> None:
        """Use a complete listing that was taken for another reason, if it is news; see `Count.take_over`."""
        if self.count.is_made and last >= max(self.count.last, begun.reached) and not self.one_at_a_time.locked():
            self.count.take_over(rows, last, begun, is_whole=True)

    async def renew(self, deadline: Deadline) -> None:
        """
        Make sure of a count that is not fresh, or was outrun.

        Where the prefix ends with what is known, it is still the one that was counted. Else it is
        counted again, all of it unless the count is fresh; if that is not to be had, since so few
        servers are left that nobody can list, the old count has to do.

        Raises:
            BackendError: nothing was counted yet, and it cannot be; or the leader does not answer.
            MadeAnew: the bucket is another one.
        """
        asked_at, count = time.monotonic(), self.count
        if not count.is_made:
            await self.all(deadline)
            return
        position = (await self._examined(deadline)).position
        try:
            goal = await self._listings.goal(deadline)
        except Denied:
            # So is a listing, which says what is missing.
            await self.all(deadline)
            return
        if goal == count.reached:
            count.still_holds(position, asked_at)
            return
        try:
            await self.changes(Deadline(deadline.at_most(_RENEWED_WITHIN)))
        except BackendUnavailableError:
            if deadline.has_passed or goal < count.reached:
                raise
            count.is_doubtful = True
            count.still_holds(0, asked_at)

    async def changes(self, deadline: Deadline) -> None:
        """Count what has changed since the last count, or all where that may not tell; raises what `renew` does."""
        tells = self.count.is_fresh and not self.count.is_doubtful
        if not tells or not await self._take(deadline, self.count.last):
            await self.all(deadline)

    async def all(self, deadline: Deadline) -> None:
        """Count all there is: what was purged or has expired leaves no change; raises what `renew` does."""
        await self._take(deadline)

    async def _take(self, deadline: Deadline, after: int = 0) -> bool:
        """Whether what was listed could be used: a change says nothing where what was before may not be there."""
        begun = self.begin()
        begun = begun._replace(position=(await self._examined(deadline)).position)
        if after and not begun.position:
            return False
        try:
            listing = await self._listings.take(deadline, after=after)
        except IncompleteListingError as error:
            raise BackendUnavailableError(f"{error.problem} Nothing was written.", error.remedy) from None
        if after and listing.last < begun.reached:
            return False
        rows = (each for each in listing.rows.items() if self._prefix.strip(each[0]) is not None)
        self.count.take_over(rows, listing.last, begun, is_whole=not after)
        return True
