"""The journal: append-only records of runs, and who may append to one."""

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Any

from jsmemory.errors import RunNotFoundError
from jsmemory.journal import records
from jsmemory.journal.records import Record, Status
from jsmemory.journal.replay import Line, Replay, RunState


@dataclass(frozen=True, slots=True)
class Tail:
    """
    The end of a run's records: what an append is conditional on. Opaque to callers.

    Attributes:
        place: Where the next record may go: the byte after the last one, or its sequence.
        id: The id of the last record.
    """

    place: int
    id: str


@dataclass(frozen=True, slots=True)
class RunLine:
    """
    One line of a listing of runs.

    Attributes:
        run_id: The name of the run.
        status: What it is doing, or how a process left it; None where its journal cannot be read.
        updated: When its last record was written, in seconds since 1970; 0 where it cannot be read.
    """

    run_id: str
    status: Status | None
    updated: float


@dataclass(frozen=True, slots=True)
class HostRecord:
    """
    One of the host's own records, on its way back.

    Attributes:
        name: The host's word for it.
        at: When it was written, in seconds since 1970.
        data: What the host gave.
    """

    name: str
    at: float
    data: Any


class Journal(ABC):
    """
    Records of runs that outlive the process; shared by any number of processes.

    Every record lands behind the one that its writer believed to be the last, or not at all:
    so a process that has lost a run to another one can add nothing to it any more. A journal
    owns nothing to release, and never changes or removes a record.

    Every method may raise `BackendUnavailableError` (nothing written, safe to try again) and
    `AccessDeniedError`. Every method that takes the name of a run raises `InvalidKeyError`
    before any I/O where it is outside the grammar of keys.
    """

    @abstractmethod
    async def begin(self, run_id: str, record: Record) -> Tail:
        """
        Write the first record of a run.

        Raises:
            RunExistsError: the journal holds a run of that name.
            OutcomeUnknownError: sent, answer lost, and the journal could not be asked in time.
        """

    @abstractmethod
    async def append(self, run_id: str, record: Record, *, after: Tail) -> Tail:
        """
        Write a record, if `after` is still the end.

        Of all processes that append behind one tail, exactly one succeeds.

        Raises:
            RunClaimedError: another process was quicker; nothing was written.
            RunNotFoundError: the run is not in the journal any more.
            InvalidRecordError: the record is over its limit.
            OutcomeUnknownError: sent, answer lost, and the journal could not be asked in time.
        """

    @abstractmethod
    async def last(self, run_id: str) -> tuple[Tail, Record] | None:
        """
        The end of a run, and the record there. None where the journal holds no such run.

        Raises:
            JournalCorruptError: what lies there is no record.
        """

    @abstractmethod
    def pages(self, run_id: str, *, until: Tail | None = None) -> AsyncIterator[Sequence[Line]]:
        """
        The lines of a run in their order, a bounded number of bytes at a time.

        Args:
            run_id: The run.
            until: Stop behind this record; None reads to the end.

        Raises:
            JournalCorruptError: records are missing.
        """

    @abstractmethod
    async def runs(self) -> tuple[RunLine, ...]:
        """Every run, the one that was written to last first; one that cannot be read is listed as well."""

    async def state(self, run_id: str, *, until: Tail | None = None) -> RunState:
        """
        Where a run stands.

        Args:
            run_id: The run.
            until: Fold no more than up to this record.

        Raises:
            RunNotFoundError: the journal holds no such run.
            JournalCorruptError: its records are not what a run writes.
        """
        fold = Replay(run_id)
        async for page in self.pages(run_id, until=until):
            for line in page:
                fold.add(line)
        if fold.state is None:
            raise RunNotFoundError(run_id)
        return fold.state

    async def history(self, run_id: str) -> AsyncIterator[HostRecord]:
        """
        The host's own records of a run, oldest first.

        Raises:
            RunNotFoundError: the journal holds no such run.
            JournalCorruptError: its records are not what a run writes.
        """
        fold = Replay(run_id)
        async for page in self.pages(run_id):
            for line in page:
                fold.add(line)
                record = records.decode(line.text)
                if record.kind == records.HOST:
                    yield HostRecord(record.name, record.at, fold.data_of(record, line))
        if fold.state is None:
            raise RunNotFoundError(run_id)
