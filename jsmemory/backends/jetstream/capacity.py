"""
The last place: never more than so many entries, however many processes race for it, and whoever is killed.

JetStream counts nothing for us. But between a listing and a publish no more keys can have come
than messages were stored meanwhile. So each first value names, from the last count, the
sequences at which there is a place for it whatever the others do. Stored at one of those it is
an entry at once, and far from the limit that is always so.

Stored at another it is provisional: no read and no listing shows it, in any process, since its
own sequence tells. Its writer counts, and has it stored once more, as an entry, if it finds
that there is a place for it and for all the provisional ones that came before. Of those that
race, all see the same order; exactly as many become entries as fit. The others are taken back.

A writer that is killed on the way leaves what nobody was told of, and what is no entry. Whom it
keeps from a place waits a moment and removes it: on the condition of its sequence, so that one
who was merely slow is refused, and begins again. Nothing that was acknowledged is ever taken away.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from typing import Final

from jsmemory.backend import Record
from jsmemory.backends.jetstream.committing import Committing
from jsmemory.backends.jetstream.counting import Count
from jsmemory.backends.jetstream.deadline import Deadline
from jsmemory.backends.jetstream.finishing import finish
from jsmemory.backends.jetstream.inbox import Row
from jsmemory.backends.jetstream.listing import Listing, Listings
from jsmemory.backends.jetstream.marks import Marks
from jsmemory.backends.jetstream.messages import Window
from jsmemory.backends.jetstream.settling import Landed
from jsmemory.errors import (
    BackendError,
    BackendUnavailableError,
    EntryExistsError,
    IncompleteListingError,
    OutcomeUnknownError,
    StoreFullError,
)
from jsmemory.keys import Prefix

_NEAR: Final = 256
# Free places below which the bucket is asked whether it is still the one that was counted.

_PATIENCE: Final = 1.0
# Seconds for which somebody else's provisional value is left alone. A writer needs a few round
# trips; one that is slower than this begins again.

_MET_AT_MOST: Final = 4096
# Such values that are remembered: creates with less time than that get on at last, too.


class Places:
    """
    The places of one prefix, as this process last counted them.

    Args:
        listings: For counting.
        committing: For storing.
        marks: For what each key was last seen to hold.
        prefix: Which names count.
        make_sure: Called before a create relies on a sequence that was seen some time ago; tells whether it may.
    """

    def __init__(
        self,
        listings: Listings,
        committing: Committing,
        marks: Marks,
        prefix: Prefix,
        *,
        make_sure: Callable[[float, Deadline], Awaitable[bool]],
    ) -> None:
        self._listings = listings
        self._committing = committing
        self._marks = marks
        self._prefix = prefix
        self._make_sure = make_sure
        self._under_way = 0
        self._one_at_a_time = asyncio.Lock()
        # Those who wait for a count share it.
        self._count = Count()
        self._patience = _Patience()

    @property
    def reached(self) -> int:
        """The highest sequence of the prefix that is known of."""
        return self._count.reached

    def spare(self, sequence: int) -> None:
        """A write of this process is stored at `sequence` that added no key: an update or a delete."""
        self._count.spare(sequence)

    def learn(self, rows: Iterable[tuple[str, Row]], last: int, reached_before: int) -> None:
        """Use a complete listing that was taken for another reason, if it is news; see `Count.take_over`."""
        if self._count.is_made and last >= self._count.last and not self._one_at_a_time.locked():
            self._count.take_over(rows, last, reached_before, is_whole=True)

    async def insert(self, name: str, record: Record, *, capacity: int, deadline: Deadline) -> int:
        """
        Store the first value of a key, where there is a place for it.

        Returns:
            The sequence of the value.

        Raises:
            EntryExistsError: the key holds a value.
            StoreFullError: all places are taken.
            OutcomeUnknownError: sent, and the bucket could not be asked in time.
            BackendUnavailableError: the bucket did not answer, or other writers were faster until the deadline.
        """
        while True:
            await self._count_where_needed(name, capacity, deadline)
            # What is under way is reckoned with by all who come after, before they wait for anything.
            self._under_way += 1
            try:
                window, sequence = await self._put_first(name, record, capacity, deadline)
            finally:
                self._under_way -= 1
            if window.holds(sequence):
                return sequence
            # Finished, cancelled or not: a place that nobody gets would be kept from others.
            confirmed = await finish(self._confirm_or_take_back(name, sequence, record, capacity, deadline))
            if confirmed is not None:
                return confirmed
            _refuse_if_over(deadline)

    # -- Counting -----------------------------------------------------------------------------

    async def _count_where_needed(self, name: str, capacity: int, deadline: Deadline) -> None:
        if not self._has_places(1, capacity):
            async with self._one_at_a_time:
                if not self._has_places(1, capacity):
                    await self._count_changes(deadline)
                if name in self._count.taken or len(self._count.taken) >= capacity:
                    # What was purged or has expired leaves no change to be counted.
                    await self._count_all(deadline)
                    if name in self._count.taken:
                        raise EntryExistsError(name)
                    if len(self._count.taken) >= capacity:
                        raise StoreFullError(capacity)

    def _has_places(self, wanted: int, capacity: int) -> bool:
        return self._count.bound + self._under_way + wanted <= capacity

    async def _count_changes(self, deadline: Deadline) -> None:
        after, reached_before = self._count.last if self._count.is_made else 0, self._count.reached
        listing = await self._list(deadline, after)
        # What has changed since says nothing where what was before is not there any more.
        if after and (listing.last < reached_before or not await self._make_sure(0.0, deadline)):
            await self._count_all(deadline)
        else:
            self._take_over(listing, reached_before, is_whole=not after)

    async def _count_all(self, deadline: Deadline) -> None:
        reached_before = self._count.reached
        self._take_over(await self._list(deadline, 0), reached_before, is_whole=True)

    async def _list(self, deadline: Deadline, after: int) -> Listing:
        try:
            return await self._listings.take(deadline, after=after)
        except IncompleteListingError as error:
            raise BackendUnavailableError(f"{error.problem} Nothing was written.", error.remedy) from None

    def _take_over(self, listing: Listing, reached_before: int, *, is_whole: bool) -> None:
        rows = (each for each in listing.rows.items() if self._prefix.strip(each[0]) is not None)
        self._count.take_over(rows, listing.last, reached_before, is_whole=is_whole)

    # -- Storing ------------------------------------------------------------------------------

    async def _put_first(self, name: str, record: Record, capacity: int, deadline: Deadline) -> tuple[Window, int]:
        """Store a first value on the condition of its key alone, and tell where it had a place, and where it is."""
        mark = self._marks.of(name)
        expected = 0 if mark.is_value or mark.is_provisional else mark.sequence
        if expected and not await self._make_sure(mark.at, deadline):
            expected = 0
        if not self._has_places(_NEAR, capacity):
            await self._make_sure(self._count.seen_at, deadline)
        reached_before = self._count.reached
        while True:
            window = self._count.window(capacity)
            outcome = await self._committing.put(name, record, expected=expected, deadline=deadline, window=window)
            if isinstance(outcome, Landed):
                self._count.stored(outcome.sequence, reached_before)
                return window, outcome.sequence
            current = outcome.current
            if current is not None and current.value is not None:
                raise EntryExistsError(name)
            if current is not None and current.is_provisional and not self._patience.is_over(name, current.sequence):
                # Somebody else is about to create it. Asked again, it tells what became of that.
                _refuse_if_over(deadline)
                await deadline.pause()
                continue
            # What stands there in the place of a value is what the new one replaces.
            expected = current.sequence if current is not None else 0

    # -- Confirming ---------------------------------------------------------------------------

    async def _confirm_or_take_back(
        self, name: str, sequence: int, record: Record, capacity: int, deadline: Deadline
    ) -> int | None:
        """
        Make an entry of the provisional value at `sequence`, or remove it.

        Returns:
            The sequence of the entry; None where somebody's patience was over, and the value is gone.
        """
        try:
            return await self._confirm(name, sequence, record, capacity, deadline)
        except OutcomeUnknownError:
            raise
        except (StoreFullError, BackendError):
            # Where it cannot be removed, it is still no entry, and gives way to who needs the place.
            with suppress(BackendError):
                await self._remove(name, sequence, deadline)
            raise

    async def _confirm(self, name: str, sequence: int, record: Record, capacity: int, deadline: Deadline) -> int | None:
        counted_at = sequence
        while True:
            async with self._one_at_a_time:
                # A count may be as old as the value: what came later gives way to it.
                if not self._count.is_made or self._count.last < counted_at:
                    await self._count_changes(deadline)
                if len(self._count.taken) >= capacity:
                    await self._count_all(deadline)
                provisional, free = self._count.provisional, capacity - len(self._count.taken)
                if provisional.get(name) != sequence:
                    return None
                earlier = {other: stored for other, stored in provisional.items() if stored < sequence}
            if free <= 0:
                raise StoreFullError(capacity)
            if len(earlier) < free:
                return await self._store_again(name, sequence, record, deadline)
            for other, stored in earlier.items():
                if self._patience.is_over(other, stored):
                    await self._remove(other, stored, deadline)
            _refuse_if_over(deadline)
            await deadline.pause()
            counted_at = self._count.last + 1

    async def _store_again(self, name: str, sequence: int, record: Record, deadline: Deadline) -> int | None:
        outcome = await self._committing.put(name, record, expected=sequence, deadline=deadline)
        if not isinstance(outcome, Landed):
            return None
        self._count.confirmed(name, outcome.sequence)
        return outcome.sequence

    async def _remove(self, name: str, sequence: int, deadline: Deadline) -> None:
        outcome = await self._committing.mark_deleted(name, expected=sequence, deadline=deadline)
        if isinstance(outcome, Landed):
            self._count.spare(outcome.sequence)


class _Patience:
    """For how long provisional values have been in the way of the creates of this process."""

    def __init__(self) -> None:
        self._since: dict[tuple[str, int], float] = {}

    def is_over(self, name: str, sequence: int) -> bool:
        """Whether what `name` holds at `sequence` was first met so long ago that its writer counts as lost."""
        now = time.monotonic()
        since = self._since.setdefault((name, sequence), now)
        if len(self._since) > _MET_AT_MOST:
            del self._since[next(iter(self._since))]
        return now - since > _PATIENCE


def _refuse_if_over(deadline: Deadline) -> None:
    if deadline.has_passed:
        raise BackendUnavailableError("Other writers kept changing the store at the same time. Nothing was written.")
