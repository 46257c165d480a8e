"""What a run writes to its journal: one record after the other, each behind the last."""

import asyncio

from jsmemory.errors import InvalidRecordError, OutcomeUnknownError, RunClaimedError
from jsmemory.journal import records
from jsmemory.journal.journal import Journal, Tail
from jsmemory.journal.records import Record, Status
from jsmemory.scope import Scope


class Writer:
    """
    The end of a run's records, held by the one process that may add to them.

    Args:
        journal: Where they are.
        run_id: The run.
        tail: The last of them.
    """

    def __init__(self, journal: Journal, run_id: str, tail: Tail) -> None:
        self._journal = journal
        self._run_id = run_id
        self._tail = tail
        self._in_doubt = ""
        self._turn = asyncio.Lock()

    async def write(self, record: Record) -> None:
        """
        Append a record; calls that overlap take turns.

        Raises:
            RunClaimedError: another process has taken the run over; the reason is ``lost``.
            InvalidRecordError: the record is over its limit.
            OutcomeUnknownError: sent, answer lost. The next record settles it.
        """
        async with self._turn:
            try:
                self._tail = await self._append(record)
            except (OutcomeUnknownError, asyncio.CancelledError):
                self._in_doubt = record.id
                raise
            self._in_doubt = ""

    async def write_revisions(self, scope: Scope, status: Status) -> str | None:
        """
        Append what the scope holds; of nothing, too, so that nothing older counts.

        Returns:
            None, or why less was written: it was more than a record holds.
        """
        record = records.memory_revisions(scope.snapshot(), status)
        try:
            records.encode(record)
        except InvalidRecordError:
            await self.write(records.memory_revisions(Scope().snapshot(), status))
            return "The scope holds more keys than a record of the journal; the run must read keys again."
        await self.write(record)
        return None

    async def _append(self, record: Record) -> Tail:
        try:
            return await self._journal.append(self._run_id, record, after=self._tail)
        except RunClaimedError:
            if not self._in_doubt:
                raise RunClaimedError(self._run_id, "lost") from None
        # What came first may be a record of our own whose acknowledgement was lost.
        last = await self._journal.last(self._run_id)
        if last is None or last[0].id != self._in_doubt:
            raise RunClaimedError(self._run_id, "lost")
        self._tail = last[0]
        return await self._journal.append(self._run_id, record, after=self._tail)
