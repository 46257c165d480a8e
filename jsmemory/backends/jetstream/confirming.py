"""
From a provisional value to an entry, or to nothing.

All who have stored a provisional value see the same order of them, and exactly as many become
entries as there are places. Who is further behind waits for those before it: they confirm
theirs, or are told that the store is full, within a few round trips. One that does neither has
lost its writer, and gives way.
"""

import time
from contextlib import suppress
from typing import Final

from jsmemory.backend import Record
from jsmemory.backends.jetstream.committing import Committing
from jsmemory.backends.jetstream.counting import Counting
from jsmemory.backends.jetstream.deadline import Deadline
from jsmemory.backends.jetstream.settling import Landed
from jsmemory.errors import BackendError, BackendUnavailableError, OutcomeUnknownError, StoreFullError

_PATIENCE: Final = 1.0
# Seconds for which a provisional value of somebody else is left alone that could be confirmed. A
# writer needs a few round trips for that; one that is slower than this begins again.
_LONG_PATIENCE: Final = 4.0
# The same for any of them, also one that may be waiting itself: so the many that are left of one
# process do not have to be waited for one after the other.

_MET_AT_MOST: Final = 4096
# Such values that are remembered: creates with less time than that get on at last, too.


class Confirming:
    """
    The provisional values of one prefix.

    Args:
        counting: For counting them.
        committing: For storing and removing.
    """

    def __init__(self, counting: Counting, committing: Committing) -> None:
        self._counting = counting
        self._committing = committing
        self._patience = _Patience(_PATIENCE)
        self._long_patience = _Patience(_LONG_PATIENCE)

    def is_lost(self, name: str, sequence: int) -> bool:
        """Whether what `name` holds at `sequence` has been in the way for so long that its writer counts as lost."""
        return self._patience.is_over(name, sequence)

    async def confirm_or_take_back(
        self, name: str, sequence: int, record: Record, capacity: int, deadline: Deadline
    ) -> int | None:
        """
        Make an entry of the provisional value at `sequence`, or remove it.

        Returns:
            The sequence of the entry; None where the value is not there any more: somebody's patience was over.

        Raises:
            StoreFullError: entries have all places.
            OutcomeUnknownError: sent, and the bucket could not be asked in time.
            BackendError: it is no entry, and will be none.
            MadeAnew: the bucket is another one.
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
        count, begun_at = self._counting.count, time.monotonic()
        asked_at = 0.0
        while True:
            async with self._counting.one_at_a_time:
                # A count may be as old as the value: what came later gives way to it.
                if count.last < sequence or count.seen_at < asked_at or not count.is_made:
                    await self._counting.changes(deadline)
                if count.free(capacity) <= 0 and count.whole_at < begun_at:
                    await self._counting.all(deadline)
                if count.provisional.get(name) != sequence:
                    return None
                if count.free(capacity) <= 0:
                    raise StoreFullError(capacity)
                if count.rank(sequence) > count.free(capacity):
                    await self.make_way(capacity, deadline, own=sequence)
                # All of it as it is now: other tasks of this process went on meanwhile.
                is_there = count.provisional.get(name) == sequence
                has_place = is_there and count.rank(sequence) <= count.free(capacity)
            if has_place:
                return await self._store_again(name, sequence, record, deadline)
            refuse_if_over(deadline)
            await deadline.pause()
            asked_at = time.monotonic()

    async def _store_again(self, name: str, sequence: int, record: Record, deadline: Deadline) -> int | None:
        outcome = await self._committing.put(name, record, expected=sequence, deadline=deadline)
        if not isinstance(outcome, Landed):
            return None
        self._counting.count.confirmed(name, sequence, outcome.sequence)
        return outcome.sequence

    async def make_way(self, capacity: int, deadline: Deadline, *, own: int = 0) -> None:
        """
        Remove the provisional values whose writers count as lost, as they were counted last.

        Args:
            capacity: How many places there are.
            deadline: When to give up.
            own: The sequence of one that stays.

        Raises:
            BackendError: the bucket does not answer, or takes no marker.
        """
        count = self._counting.count
        free = count.free(capacity)
        in_order = sorted((sequence, name) for name, sequence in count.provisional.items() if sequence != own)
        for rank, (sequence, name) in enumerate(in_order, 1):
            is_lost = rank <= free and self._patience.is_over(name, sequence)
            if self._long_patience.is_over(name, sequence) or is_lost:
                await self._remove(name, sequence, deadline)

    async def _remove(self, name: str, sequence: int, deadline: Deadline) -> None:
        outcome = await self._committing.mark_deleted(name, expected=sequence, deadline=deadline)
        if isinstance(outcome, Landed):
            self._counting.count.removed(name, sequence, outcome.sequence)
        else:
            # It is not there any more, and perhaps nothing is that a listing of changes would name.
            self._counting.count.is_doubtful = True


class _Patience:
    """
    For how long provisional values have been in the way of the creates of this process.

    Args:
        seconds: For how long they may be.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._since: dict[tuple[str, int], float] = {}

    def is_over(self, name: str, sequence: int) -> bool:
        """Whether what `name` holds at `sequence` was first met longer ago than that."""
        now = time.monotonic()
        since = self._since.setdefault((name, sequence), now)
        if len(self._since) > _MET_AT_MOST:
            del self._since[next(iter(self._since))]
        return now - since > self._seconds


def refuse_if_over(deadline: Deadline) -> None:
    """
    Give up where there is no time left.

    Raises:
        BackendUnavailableError: there is none.
    """
    if deadline.has_passed:
        raise BackendUnavailableError("Other writers kept changing the store at the same time. Nothing was written.")
