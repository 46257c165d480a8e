"""
Replay: from the records of a run to where it stands. Pure, and in constant memory.

The newest snapshot wins, one of nothing too; it may stand before or after the terminal
record. Where a process left the run and its snapshot is not there, the newest one is lost, and
no older one is taken instead. What no run has written is reported with its place, and nothing
is taken from such a journal. Which tools a run had is no part of it: a run goes on under other
tools as well, since revisions say what a store held and not what an operator agreed to.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any, Final, NamedTuple, NoReturn

import msgspec

from jsmemory.errors import JournalCorruptError
from jsmemory.journal import records
from jsmemory.journal.records import Left, Meta, Record, Revisions, Status


class Line(NamedTuple):
    """
    A record as it lies in a journal.

    Attributes:
        position: Where: the byte that it begins at in a file, its sequence in a stream.
        text: One line of JSON, without its end.
    """

    position: int
    text: bytes


@dataclass(frozen=True, slots=True)
class RunState:
    """
    Where a run stands.

    Attributes:
        run_id: Its name.
        status: What it is doing, or how a process left it.
        reason: The code of the error that ended it, ``""`` where there was none.
        started: When it was started, in seconds since 1970.
        updated: When its last record was written.
        records: How many records it has.
        claims: How often it was taken up again.
        about: What the host kept of the start.
        snapshot: The newest snapshot of its scope, unchecked: what a scope refuses, where that one
            is lost; None where there never was one.
    """

    run_id: str
    status: Status
    reason: str
    started: float
    updated: float
    records: int
    claims: int
    about: Any = field(repr=False)
    snapshot: Any = field(repr=False)

    def claimed(self, at: float) -> "RunState":
        """Where the run stands once a claim has landed behind all of this, written at a time since 1970."""
        return replace(self, status="running", reason="", updated=at, records=self.records + 1, claims=self.claims + 1)


_LOST: Final = ""
# In place of a snapshot that is not to be had: a scope refuses it, and so nothing older counts.

_META: Final = msgspec.json.Decoder(Meta)
_LEFT: Final = msgspec.json.Decoder(Left)
_REVISIONS: Final = msgspec.json.Decoder(Revisions)


def replay(run_id: str, lines: Iterable[Line]) -> RunState | None:
    """
    Fold the lines of a run.

    Returns:
        Where it stands; None where there are no lines at all.

    Raises:
        JournalCorruptError: one of them is nothing that a run writes.
    """
    fold = Replay(run_id)
    for line in lines:
        fold.add(line)
    return fold.state


class Replay:
    """
    A replay that is given one line after the other.

    Args:
        run_id: The name of the run, which its first record must bear.
    """

    def __init__(self, run_id: str) -> None:
        self._run_id = run_id
        self._records = 0
        self._claims = 0
        self._status: Status = "running"
        self._reason = ""
        self._started = 0.0
        self._updated = 0.0
        self._about: Any = None
        self._snapshot: Any = None
        self._is_told = False
        # Whether there is a snapshot since the run was begun, or claimed, last.

    @property
    def state(self) -> RunState | None:
        """Where the run stands after the lines so far; None before the first."""
        if not self._records:
            return None
        return RunState(
            run_id=self._run_id,
            status=self._status,
            reason=self._reason,
            started=self._started,
            updated=self._updated,
            records=self._records,
            claims=self._claims,
            about=self._about,
            snapshot=_LOST if self._has_lost_one else self._snapshot,
        )

    @property
    def _has_lost_one(self) -> bool:
        # Who leaves a run writes the snapshot last: a torn tail takes it first.
        return self._snapshot is not None and not self._is_told and self._status not in ("running", "completed")

    def add(self, line: Line) -> None:
        """
        Take in the next line.

        Raises:
            JournalCorruptError: it is nothing that a run writes.
        """
        self._records += 1
        try:
            record = records.decode(line.text)
        except records.UNREADABLE:
            self._refuse(line, "is no record")
        if (self._records == 1) != (record.kind == records.META):
            self._refuse(line, "is not in its place: a run begins with a meta record, and has one of them")
        self._updated = record.at
        if record.kind != records.HOST:
            self._take(record, line)

    def data_of(self, record: Record, line: Line) -> Any:
        """
        What a host's record holds, taken in last.

        Raises:
            JournalCorruptError: it is no data of a host's.
        """
        try:
            return msgspec.json.decode(record.data)
        except records.UNREADABLE:
            self._refuse(line, "does not hold what its kind should")

    def _take(self, record: Record, line: Line) -> None:
        try:
            match record.kind:
                case records.META:
                    self._begin(_META.decode(record.data), record.at, line)
                case records.CLAIM:
                    if self._has_lost_one:
                        self._snapshot = _LOST
                    self._claims += 1
                    self._is_told = False
                    self._status, self._reason = "running", ""
                case records.TERMINAL:
                    left = _LEFT.decode(record.data)
                    self._status, self._reason = left.outcome, left.reason
                case records.MEMORY_REVISIONS:
                    self._snapshot = snapshot_in(record).scope
                    self._is_told = True
                case _ if not record.optional:
                    self._refuse(line, "is of a kind that this version does not know")
        except records.UNREADABLE:
            self._refuse(line, "does not hold what its kind should")

    def _begin(self, meta: Meta, at: float, line: Line) -> None:
        if meta.version != records.JOURNAL_VERSION:
            self._refuse(line, f"is of version {meta.version}, and this version reads {records.JOURNAL_VERSION}")
        if meta.run_id != self._run_id:
            self._refuse(line, "belongs to a run of another name")
        self._started = at
        self._about = msgspec.json.decode(meta.about)

    def _refuse(self, line: Line, problem: str) -> NoReturn:
        raise JournalCorruptError(self._run_id, self._records, line.position, problem) from None


def snapshot_in(record: Record) -> Revisions:
    """
    What a ``memory_revisions`` record says.

    One that says it in another form is still the newest: what it holds stands in for the
    snapshot, and the scope refuses it, so that no older one is taken instead.

    Raises:
        msgspec.DecodeError: it holds no JSON.
    """
    try:
        said = _REVISIONS.decode(record.data)
    except msgspec.ValidationError:
        return Revisions(scope=msgspec.json.decode(record.data) or _LOST)
    return said if said.scope is not None else Revisions(scope=_LOST, status=said.status)


def status_in(record: Record) -> Status | None:
    """What a run is doing after `record`, its last one; None where only a replay can tell."""
    try:
        match record.kind:
            case records.META | records.CLAIM:
                return "running"
            case records.TERMINAL:
                return _LEFT.decode(record.data).outcome
            case records.MEMORY_REVISIONS:
                return snapshot_in(record).status
            case _:
                return None
    except records.UNREADABLE:
        return None
