"""
The last place: never more than so many entries, however many processes race for it, and whoever is killed.

JetStream counts nothing for us. But between a listing and a publish no more keys can have come
than messages were stored meanwhile. So each first value names, from the last count, the
sequences at which there is a place for it whatever the others do. Stored at one of those it is
an entry at once; far from the limit that is so, unless the rest of the bucket is very busy.

Stored at another it is provisional: no read and no listing shows it, in any process, since its
own sequence tells. Its writer counts, and has it stored once more, as an entry, if it finds
that there is a place for it and for all the provisional ones that came before. Of those that
race, all see the same order; exactly as many become entries as fit. The others are taken back.

A writer that is killed on the way leaves what nobody was told of, and what is no entry. Whom it
keeps from a place waits a moment and removes it: on the condition of its sequence, so that one
who was merely slow is refused, and begins again. Nothing that was acknowledged is ever taken away.
"""

import time
from collections.abc import Awaitable, Callable
from typing import Final

from jsmemory.backend import Record
from jsmemory.backends.jetstream.committing import Committing
from jsmemory.backends.jetstream.confirming import Confirming, refuse_if_over
from jsmemory.backends.jetstream.counting import Counting
from jsmemory.backends.jetstream.deadline import Deadline
from jsmemory.backends.jetstream.finishing import finish
from jsmemory.backends.jetstream.marks import Marks
from jsmemory.backends.jetstream.messages import Window
from jsmemory.backends.jetstream.settling import Landed, Refused
from jsmemory.errors import BackendUnavailableError, EntryExistsError, OutcomeUnknownError, StoreFullError

_NEAR: Final = 256
# Free places below which the bucket is asked whether it is still the one that was counted.


class Places:
    """
    The places of one prefix.

    Args:
        counting: For counting.
        committing: For storing.
        marks: For what each key was last seen to hold.
        make_sure: Called before a create relies on a sequence that was seen some time ago; tells whether it may.
    """

    def __init__(
        self,
        counting: Counting,
        committing: Committing,
        marks: Marks,
        *,
        make_sure: Callable[[float, Deadline], Awaitable[bool]],
    ) -> None:
        self._counting = counting
        self._count = counting.count
        self._confirming = Confirming(counting, committing)
        self._committing = committing
        self._marks = marks
        self._make_sure = make_sure
        self._under_way = 0

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
            await self._find_place(name, capacity, deadline)
            # What is under way is reckoned with by all who come after, before they wait for anything.
            self._under_way += 1
            try:
                window, sequence = await self._put_first(name, record, capacity, deadline)
            finally:
                self._under_way -= 1
            if window.holds(sequence):
                return sequence
            self._count.was_outrun(capacity)
            # Finished, cancelled or not: a place that nobody gets would be kept from others.
            confirmed = await finish(self._confirming.confirm_or_take_back(name, sequence, record, capacity, deadline))
            if confirmed is not None:
                return confirmed
            refuse_if_over(deadline)

    async def _find_place(self, name: str, capacity: int, deadline: Deadline) -> None:
        """Return when there may be a place for one more; raises as `insert` does."""
        while self._count.is_outrun or not (self._count.is_fresh and self._has_places(1, capacity)):
            asked_at = time.monotonic()
            async with self._counting.one_at_a_time:
                if not self._count.is_fresh or (self._count.is_outrun and self._count.seen_at < asked_at):
                    await self._counting.renew(deadline)
                if not self._has_places(1, capacity) and self._count.seen_at < asked_at:
                    await self._counting.changes(deadline)
                if name in self._count.taken or self._count.free(capacity) <= 0:
                    await self._refuse_if_so(name, capacity, asked_at, deadline)
                if self._count.claimed < capacity:
                    return
                # Those to whom the free places belong take or leave them in a moment.
                await self._confirming.make_way(capacity, deadline)
            refuse_if_over(deadline)
            await deadline.pause()

    async def _refuse_if_so(self, name: str, capacity: int, asked_at: float, deadline: Deadline) -> None:
        if self._count.whole_at < asked_at:
            await self._counting.all(deadline)
        if name in self._count.taken:
            raise EntryExistsError(name)
        if self._count.free(capacity) <= 0:
            raise StoreFullError(capacity)

    def _has_places(self, wanted: int, capacity: int) -> bool:
        return self._count.bound + self._under_way + wanted <= capacity

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
            outcome = await self._put_within(window, name, record, expected, deadline)
            if isinstance(outcome, Landed):
                self._count.stored(outcome.sequence, reached_before)
                return window, outcome.sequence
            current = outcome.current
            if current is not None and current.value is not None:
                raise EntryExistsError(name)
            if current is not None and current.is_provisional and not self._confirming.is_lost(name, current.sequence):
                # Somebody is about to create it. Asked again, it tells what became of that.
                refuse_if_over(deadline)
                await deadline.pause()
                continue
            if current is None:
                # What was known of it is gone without a trace: so it can come from nothing again.
                self._marks.drop(name)
            # What stands there in the place of a value is what the new one replaces.
            expected = current.sequence if current is not None else 0

    async def _put_within(
        self, window: Window, name: str, record: Record, expected: int, deadline: Deadline
    ) -> Landed | Refused:
        try:
            return await self._committing.put(name, record, expected=expected, deadline=deadline, window=window)
        except OutcomeUnknownError:
            if not window.is_empty:
                raise
            # Whether it is stored or not: without a place it is no entry, and nobody makes one of it.
            raise BackendUnavailableError("The bucket did not answer in time. Nothing was written.") from None
