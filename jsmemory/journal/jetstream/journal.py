"""A journal in a stream."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Any, Final

import msgspec

from jsmemory.backends.jetstream import translate
from jsmemory.backends.jetstream.deadline import Deadline
from jsmemory.backends.jetstream.facts import StreamFacts
from jsmemory.backends.jetstream.options import WRITE_BUDGET, bind_seconds, check_seconds
from jsmemory.backends.jetstream.wire import Connection, Wire
from jsmemory.errors import (
    BackendError,
    BackendUnavailableError,
    InvalidOptionsError,
    JournalCorruptError,
    RunClaimedError,
    RunExistsError,
    RunNotFoundError,
    StreamNotFoundError,
    StreamUnfitError,
)
from jsmemory.journal import records
from jsmemory.journal.jetstream.appending import START, Appending, Refused
from jsmemory.journal.jetstream.asking import Asking
from jsmemory.journal.jetstream.reading import Reading
from jsmemory.journal.jetstream.recipe import LEGAL_NAME, examine, is_stream_name, missing_stream_cure, root_of
from jsmemory.journal.journal import Journal, RunLine, Tail
from jsmemory.journal.records import Record
from jsmemory.journal.replay import Line, status_in
from jsmemory.keys import is_legal_key, validate_key

_ASKED_AT_ONCE: Final = 32
# Runs whose state a listing asks for at the same time.


class _State(msgspec.Struct, frozen=True):
    subjects: dict[str, int] | None = None


class _Page(msgspec.Struct, frozen=True):
    state: _State = _State()
    total: int = 0


class JetStreamJournal(Journal):
    """
    Runs as subjects of one stream. Made by `bind`.

    A worker needs the right to publish to ``jsmemory.journal.<stream>.>`` and, under
    ``$JS.API``, to ``STREAM.INFO``, ``STREAM.MSG.GET`` and ``DIRECT.GET`` of the stream, as
    `WorkerPermissions` prints it. It then may go on with every run of the stream.
    """

    def __init__(self, wire: Wire, stream: str, budget: float) -> None:
        self._root = root_of(stream)
        self._budget = budget
        self._asking = Asking(wire, stream)
        self._appending = Appending(wire, self._asking)
        self._reading = Reading(wire, stream)

    @classmethod
    async def bind(
        cls,
        nc: Connection,
        stream: str,
        *,
        budget: float = WRITE_BUDGET,
        bind_timeout: float | None = None,
        api_prefix: str | None = None,
    ) -> "JetStreamJournal":
        """
        Bind to a stream that its operator has made; never makes or changes one.

        Args:
            nc: A connection of the host's, of nats-py or of `jsmemory.connect`; never closed here.
            stream: Its name, 1 to 32 characters out of ``A-Z a-z 0-9 _ -``.
            budget: Seconds, 0.1 to 300, for one call and the settling of its outcome.
            bind_timeout: Seconds, 0.1 to 300, for finding and examining the stream. Left out, 10;
                and 20 on a cluster, which outlasts an election in which votes split.
            api_prefix: The subject of the JetStream API; left out, the connection's own or ``$JS.API``.

        Raises:
            StreamNotFoundError: there is no such stream; with the command that makes it.
            StreamUnfitError: it would lose or refuse records; every finding with its cure.
            InvalidOptionsError: no stream can be called so, or another argument is out of range.
            BackendUnavailableError: no answer within `bind_timeout`.
            AccessDeniedError: the credentials may not examine the stream.
        """
        if not is_stream_name(stream):
            raise InvalidOptionsError(
                "stream",
                "is no name that the stream of a journal can have",
                f"Use {LEGAL_NAME}.",
            )
        wire = Wire(nc, api_prefix or getattr(nc, "jetstream_api_prefix", None) or "$JS.API")
        seconds = bind_seconds(bind_timeout, is_clustered=wire.is_clustered)
        check_seconds(budget=budget, bind_timeout=seconds)
        raw = await Asking(wire, stream).describe(Deadline(seconds))
        try:
            facts = StreamFacts.of(raw)
        except msgspec.DecodeError:
            error = translate.decode(raw).error
            if error is not None and error.err_code == translate.STREAM_NOT_FOUND:
                raise StreamNotFoundError(stream, missing_stream_cure(stream, is_clustered=wire.is_clustered)) from None
            raise BackendUnavailableError("The server could not describe the stream of the journal.") from None
        if findings := examine(facts, max_payload=nc.max_payload):
            raise StreamUnfitError(stream, findings)
        return cls(wire, stream, budget)

    async def begin(self, run_id: str, record: Record) -> Tail:
        validate_key(run_id)
        try:
            return await self._append(run_id, record, START)
        except Refused:
            raise RunExistsError(run_id) from None

    async def append(self, run_id: str, record: Record, *, after: Tail) -> Tail:
        validate_key(run_id)
        try:
            return await self._append(run_id, record, after)
        except Refused:
            pass
        if await self._asking.last(self._root + run_id, Deadline(self._budget)) is None:
            raise RunNotFoundError(run_id)
        raise RunClaimedError(run_id)

    async def last(self, run_id: str) -> tuple[Tail, Record] | None:
        validate_key(run_id)
        message = await self._asking.last(self._root + run_id, Deadline(self._budget))
        if message is None:
            return None
        tail = Tail(message.sequence, message.operation)
        try:
            return tail, records.decode(message.value or b"")
        except records.UNREADABLE:
            pass
        # Which of them it is, only a replay can tell.
        await self.state(run_id, until=tail)
        raise RunNotFoundError(run_id)

    async def pages(self, run_id: str, *, until: Tail | None = None) -> AsyncIterator[Sequence[Line]]:
        validate_key(run_id)
        subject = self._root + run_id
        if until is None:
            # A replica that lags would show an end that is none: the leader names it.
            message = await self._asking.last(subject, Deadline(self._budget))
            if message is None:
                return
            until = Tail(message.sequence, message.operation)
        async for page in self._reading.pages(subject, run_id, until, self._budget):
            yield page

    async def runs(self) -> tuple[RunLine, ...]:
        slots = asyncio.Semaphore(_ASKED_AT_ONCE)

        async def look(run_id: str) -> RunLine | None:
            async with slots:
                return await self._run(run_id)

        try:
            async with asyncio.TaskGroup() as group:
                looks = [group.create_task(look(run_id)) async for run_id in self._names()]
        except* BackendError as failures:
            raise failures.exceptions[0] from None
        found = [line for task in looks if (line := task.result()) is not None]
        return tuple(sorted(found, key=lambda run: (-run.updated, run.run_id)))

    async def _append(self, run_id: str, record: Record, after: Tail) -> Tail:
        line = records.encode(record)
        sequence = await self._appending.append(self._root + run_id, run_id, line, record.id, after, self._budget)
        return Tail(sequence, record.id)

    async def _names(self) -> AsyncIterator[str]:
        offset = 0
        while True:
            raw = await self._asking.describe(Deadline(self._budget), subjects=f"{self._root}>", offset=offset)
            try:
                page: Any = msgspec.json.decode(raw, type=_Page)
            except msgspec.DecodeError:
                raise BackendUnavailableError("The server could not list the runs of the journal.") from None
            subjects = page.state.subjects or {}
            for subject in subjects:
                run_id = subject.removeprefix(self._root)
                if is_legal_key(run_id):
                    yield run_id
            offset += len(subjects)
            if not subjects or offset >= page.total:
                return

    async def _run(self, run_id: str) -> RunLine | None:
        try:
            found = await self.last(run_id)
            if found is None:
                return None
            tail, record = found
            return RunLine(run_id, status_in(record) or (await self.state(run_id, until=tail)).status, record.at)
        except (JournalCorruptError, RunNotFoundError):
            return RunLine(run_id, None, 0.0)
