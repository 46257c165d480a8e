"""
The last place: no more than so many keys at rest, however many processes race for it.

JetStream counts nothing for us. Three facts stand in for a count.

Between a listing and an acknowledgement no more keys can have come than messages were stored
meanwhile, and every acknowledgement names the stream's sequence: far from the limit one
listing is proof enough for hundreds of creates.

On one server a publish can be made conditional on the last sequence of the whole prefix
(nats-server 2.11 and newer): near the limit a key is stored only if nothing has changed since
it was counted.

Replicas do not check that condition against what is in flight under another one. There a key
is stored on its own condition, and then counted: of those that are too many, the ones that
came last give way. All of them see the same order, so exactly as many stay as fit. What may
have to give way is marked: whoever reads it asks the leader whether it is still there, since a
replica that lags would show what was refused.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

from jsmemory.backend import Record
from jsmemory.backends.jetstream.binding import MadeAnew
from jsmemory.backends.jetstream.committing import Committing
from jsmemory.backends.jetstream.counting import Count
from jsmemory.backends.jetstream.deadline import Deadline
from jsmemory.backends.jetstream.finishing import finish
from jsmemory.backends.jetstream.listing import Listing, Listings
from jsmemory.backends.jetstream.marks import Marks
from jsmemory.backends.jetstream.settling import Landed
from jsmemory.errors import (
    BackendError,
    BackendUnavailableError,
    EntryExistsError,
    IncompleteListingError,
    JsMemoryError,
    OutcomeUnknownError,
    StoreFullError,
)
from jsmemory.keys import Prefix

_FAR: Final = 256
# Free places from which on a create asks for no count. That many messages would have to be
# stored while one publish is in flight before it could be the one too many; and then it is
# found by its own acknowledgement, and taken back.

_CLOSE: Final = 64
# Free places from which on no create is one too many, but by accidents that would have to come
# together: so many others would have to be stored between its count and itself.


class Places:
    """
    The places of one prefix, as this process last counted them.

    Args:
        listings: For counting.
        committing: For storing.
        marks: For what each key was last seen to hold.
        prefix: Which names count.
        is_replicated: Whether a write in flight is not yet seen by a condition on the prefix.
        make_sure: Called before a create relies on a sequence that was seen some time ago; tells whether it may.
    """

    def __init__(
        self,
        listings: Listings,
        committing: Committing,
        marks: Marks,
        prefix: Prefix,
        *,
        is_replicated: bool,
        make_sure: Callable[[float, Deadline], Awaitable[bool]],
    ) -> None:
        self._listings = listings
        self._committing = committing
        self._marks = marks
        self._prefix = prefix
        self._is_replicated = is_replicated
        self._make_sure = make_sure
        self._under_way = 0
        self._one_at_a_time = asyncio.Lock()
        # Tasks of one process that race for a place would only refuse each other.
        self._count = Count()

    @property
    def reached(self) -> int:
        """The highest sequence of the prefix that is known of."""
        return self._count.reached

    def spare(self, sequence: int) -> None:
        """A write of this process is stored at `sequence` that added no key: an update or a delete."""
        self._count.spare(sequence)

    def learn(self, taken: set[str], last: int, reached_before: int) -> None:
        """
        Use a complete listing that was taken for another reason, if it is news.

        Args:
            taken: The names that count and hold a value.
            last: The last sequence of the prefix when it ended.
            reached_before: What `reached` was when it began.
        """
        if self._count.is_made and last >= self._count.last and not self._one_at_a_time.locked():
            self._count.take_over(taken, last, reached_before)

    async def insert(self, name: str, record: Record, *, capacity: int, deadline: Deadline) -> int:
        """
        Store the first value of a key, where there is a place for it.

        Returns:
            The sequence of the value.

        Raises:
            EntryExistsError: the key holds a value.
            StoreFullError: all places are taken.
            BackendUnavailableError: other writers were faster until the deadline.
        """
        async with self._one_at_a_time:
            if not self._count.is_made:
                await self._take_count(deadline)
        if self._is_replicated:
            return await self._insert_ranked(name, record, capacity, deadline)
        while True:
            if self._is_far_from(capacity):
                sequence = await self._insert_far(name, record, capacity, deadline)
            else:
                sequence = await self._insert_near(name, record, capacity, deadline)
            if sequence is not None:
                return sequence
            if deadline.has_passed:
                raise BackendUnavailableError(
                    "Other writers kept changing the store at the same time. Nothing was written."
                )

    async def _insert_ranked(self, name: str, record: Record, capacity: int, deadline: Deadline) -> int:
        if self._count.bound + self._under_way >= capacity:
            async with self._one_at_a_time:
                await self._take_count(deadline)
            self._refuse_if_taken(name, capacity)
        outcome = await self._put_first(name, record, capacity, deadline)
        if self._count.bound <= capacity:
            return outcome.sequence
        # Finished, cancelled or not: what may be one too many is not left behind uncounted.
        if await finish(self._keep_or_take_back(name, outcome.sequence, capacity, deadline)):
            return outcome.sequence
        raise StoreFullError(capacity)

    async def _insert_far(self, name: str, record: Record, capacity: int, deadline: Deadline) -> int | None:
        outcome = await self._put_first(name, record, capacity, deadline)
        if self._count.bound <= capacity:
            return outcome.sequence
        # As above. Taken back, it is tried again near the limit.
        kept = await finish(self._keep_or_take_back(name, outcome.sequence, capacity, deadline))
        return outcome.sequence if kept else None

    async def _keep_or_take_back(self, name: str, sequence: int, capacity: int, deadline: Deadline) -> bool:
        """Whether what was stored at `sequence` stays; what must not is gone when this returns."""
        failure: BackendError | None = None
        try:
            try:
                async with self._one_at_a_time:
                    listing = await self._take_count(deadline)
                if not self._gives_way(sequence, listing, len(self._count.taken) - capacity):
                    return True
            except BackendError as error:
                failure = error
            is_gone = await self._take_back(name, sequence, deadline)
        except MadeAnew:
            # It was stored, and went with its bucket: to begin again would say that it never was.
            return True
        except JsMemoryError:
            # It is stored, and whether it stays nobody can tell.
            raise OutcomeUnknownError(name) from None
        if not is_gone:
            # Somebody has read it and gone on from there: it was stored, and is theirs now.
            return True
        if failure is not None:
            raise failure
        return False

    async def _take_back(self, name: str, sequence: int, deadline: Deadline) -> bool:
        while True:
            try:
                outcome = await self._committing.mark_deleted(name, expected=sequence, deadline=deadline)
            except BackendUnavailableError:
                # A bucket or a disk that is full takes no marker either. Somebody may make room in time.
                if deadline.has_passed:
                    raise
                await deadline.pause()
            else:
                return isinstance(outcome, Landed)

    def _gives_way(self, sequence: int, listing: Listing, too_many: int) -> bool:
        if too_many <= 0 or not self._is_replicated:
            return too_many > 0
        new = [row.sequence for name, row in listing.rows.items() if row.is_new and row.is_value and self._counts(name)]
        return sequence in sorted(new)[-too_many:]

    async def _put_first(self, name: str, record: Record, capacity: int, deadline: Deadline) -> Landed:
        """Store a first value on the condition of its key alone, whatever the count is."""
        mark = self._marks.of(name)
        expected = 0 if mark.is_value else mark.sequence
        if expected and not await self._make_sure(mark.at, deadline):
            expected = 0
        reached_before = self._count.reached
        self._under_way += 1
        try:
            while True:
                is_close = self._count.bound + self._under_way > capacity - _CLOSE
                outcome = await self._committing.put(
                    name, record, expected=expected, deadline=deadline, is_new=self._is_replicated, is_close=is_close
                )
                if isinstance(outcome, Landed):
                    self._count.stored(outcome.sequence, reached_before)
                    return outcome
                if outcome.current is not None and outcome.current.value is not None:
                    raise EntryExistsError(name)
                # A marker stands where the key was: it is what the new value replaces.
                expected = outcome.current.sequence if outcome.current is not None else 0
        finally:
            self._under_way -= 1

    async def _insert_near(self, name: str, record: Record, capacity: int, deadline: Deadline) -> int | None:
        async with self._one_at_a_time:
            await self._make_sure(self._count.seen_at, deadline)
            if len(self._count.taken) < capacity - _FAR:
                # The limit is not near; so much was stored since the count that it could be. In a
                # busy bucket that is always so, and another count has room for hundreds of creates.
                await self._take_count(deadline, after=self._count.last)
                if self._is_far_from(capacity):
                    return None
            if name in self._count.taken or len(self._count.taken) >= capacity:
                # The count is as old as the last listing; the place may have become free since.
                await self._take_count(deadline)
            self._refuse_if_taken(name, capacity)
            outcome = await self._committing.put(
                name, record, expected=self._count.last, within=self._listings.filter, deadline=deadline
            )
            if not isinstance(outcome, Landed):
                # What came since is enough, if it is still the bucket that was counted.
                await self._make_sure(0.0, deadline)
                await self._take_count(deadline, after=self._count.last)
                return None
            self._count.add(name, outcome.sequence)
            return outcome.sequence

    def _refuse_if_taken(self, name: str, capacity: int) -> None:
        if name in self._count.taken:
            raise EntryExistsError(name)
        if len(self._count.taken) >= capacity:
            raise StoreFullError(capacity)

    def _is_far_from(self, capacity: int) -> bool:
        return self._count.bound + self._under_way < capacity - _FAR

    def _counts(self, name: str) -> bool:
        return self._prefix.strip(name) is not None

    async def _take_count(self, deadline: Deadline, *, after: int = 0) -> Listing:
        reached_before = self._count.reached
        try:
            listing = await self._listings.take(deadline, after=after)
        except IncompleteListingError as error:
            raise BackendUnavailableError(f"{error.problem} Nothing was written.", error.remedy) from None
        if after and listing.last < reached_before:
            # What has changed since says nothing where what was before is not there any more.
            return await self._take_count(deadline)
        if after:
            taken = self._count.taken
            for name, row in listing.rows.items():
                if self._counts(name):
                    (taken.add if row.is_value else taken.discard)(name)
        else:
            taken = {name for name, row in listing.rows.items() if row.is_value and self._counts(name)}
        self._count.take_over(taken, listing.last, reached_before)
        return listing
