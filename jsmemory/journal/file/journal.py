"""A journal in a directory."""

import os
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import contextmanager
from functools import partial

from jsmemory.backends.file.atomic import settle_write
from jsmemory.backends.file.directory import Directory
from jsmemory.backends.file.threads import Waiting, in_thread
from jsmemory.errors import (
    BackendError,
    JournalCorruptError,
    RunClaimedError,
    RunExistsError,
    RunNotFoundError,
)
from jsmemory.journal import records
from jsmemory.journal.file import lines
from jsmemory.journal.file.opening import SUFFIX, locked, name_of, open_to_read, taken
from jsmemory.journal.file.refusals import JOURNAL, OPENING, READING, WRITING
from jsmemory.journal.journal import Journal, RunLine, Tail
from jsmemory.journal.records import Record
from jsmemory.journal.replay import Line, Replay, replay, status_in
from jsmemory.keys import is_legal_key, validate_key


class FileJournal(Journal):
    """
    One file of JSON lines a run, in one directory. Made by `open`.

    Keeps its promises among all processes of one host that share the directory; not across
    hosts that mount it over a network. Holds nothing open between two calls.
    """

    def __init__(self, directory: Directory) -> None:
        self._directory = directory

    @classmethod
    async def open(cls, directory: str | os.PathLike[str]) -> "FileJournal":
        """
        Open a directory, and make it where it is missing.

        Args:
            directory: Where the files of the runs lie. It may be a link; what lies in it may not.

        Raises:
            InvalidOptionsError: no path can be written like that, or something else lies there.
            AccessDeniedError: the directory can be neither made nor opened.
            BackendUnavailableError: the disk is full or failing.
        """
        journal = cls(Directory.of(directory, ""))
        await in_thread(JOURNAL, OPENING, journal._open)
        return journal

    async def begin(self, run_id: str, record: Record) -> Tail:
        validate_key(run_id)
        return await in_thread(JOURNAL, WRITING, partial(self._begin, run_id, record.id, records.encode(record)))

    async def append(self, run_id: str, record: Record, *, after: Tail) -> Tail:
        validate_key(run_id)
        return await in_thread(
            JOURNAL, WRITING, partial(self._append, run_id, record.id, records.encode(record), after)
        )

    async def last(self, run_id: str) -> tuple[Tail, Record] | None:
        validate_key(run_id)
        return await in_thread(JOURNAL, READING, partial(self._last, run_id))

    async def pages(self, run_id: str, *, until: Tail | None = None) -> AsyncIterator[Sequence[Line]]:
        validate_key(run_id)
        at = seen = 0
        end = None if until is None else until.place
        while page := await in_thread(JOURNAL, READING, partial(self._page, run_id, at, seen, end)):
            yield page
            at, seen = lines.behind(page[-1]), seen + len(page)

    async def runs(self) -> tuple[RunLine, ...]:
        found = await in_thread(JOURNAL, READING, self._runs)
        return tuple(sorted(found, key=lambda run: (-run.updated, run.run_id)))

    # -- In the worker thread ---------------------------------------------------------------

    def _open(self, waiting: Waiting) -> None:
        self._directory.make()
        with self._directory.opened():
            pass

    def _begin(self, run_id: str, record_id: str, line: bytes, waiting: Waiting) -> Tail:
        with (
            self._directory.opened() as directory,
            locked(directory, name_of(run_id), make=True, waiting=waiting) as file,
        ):
            assert file is not None  # noqa: S101 - it is made where it is missing
            # A first line that is not whole belongs to a run that never began.
            if lines.end_of(file, run_id):
                raise RunExistsError(run_id)
            if not lines.is_begun(file):
                raise taken()
            end = lines.add(file, 0, line)
            settle_write(directory, run_id)
        return Tail(end, record_id)

    def _append(self, run_id: str, record_id: str, line: bytes, after: Tail, waiting: Waiting) -> Tail:
        with (
            self._directory.opened() as directory,
            locked(directory, name_of(run_id), make=False, waiting=waiting) as file,
        ):
            end = 0 if file is None else lines.end_of(file, run_id)
            if file is None or not end:
                raise RunNotFoundError(run_id)
            if not lines.is_at(file, run_id, end, after):
                raise RunClaimedError(run_id)
            return Tail(lines.add(file, end, line), record_id)

    def _last(self, run_id: str, waiting: Waiting) -> tuple[Tail, Record] | None:
        with self._reading(run_id) as file:
            end = 0 if file is None else lines.end_of(file, run_id)
            if file is None or not end:
                return None
            # A file system that ignores case gives the file of another run as well, and a file
            # can be copied: such a run must not be claimed before it is known for a foreign one.
            Replay(run_id).add(lines.page_at(file, run_id, 0, 0, None)[0])
            line = lines.last_line(file, run_id, end)
            try:
                record = records.decode(line.text)
            except records.UNREADABLE:
                record = None
            if record is None:
                # Which of them it is, only a replay can tell.
                _replayed(file, run_id)
                raise RunNotFoundError(run_id)
            return Tail(end, record.id), record

    def _page(self, run_id: str, at: int, seen: int, until: int | None, waiting: Waiting) -> list[Line]:
        with self._reading(run_id) as file:
            return [] if file is None or at == until else lines.page_at(file, run_id, at, seen, until)

    @contextmanager
    def _reading(self, run_id: str) -> Iterator[int | None]:
        with self._directory.opened() as directory:
            file = open_to_read(directory, name_of(run_id))
        try:
            yield file
        finally:
            if file is not None:
                os.close(file)

    def _runs(self, waiting: Waiting) -> list[RunLine]:
        with self._directory.opened() as directory, os.scandir(directory) as found:
            names = [entry.name for entry in found if entry.is_file(follow_symlinks=False)]
        runs = []
        for run_id in (name.removesuffix(SUFFIX) for name in names if name.endswith(SUFFIX)):
            waiting()
            if is_legal_key(run_id) and (line := self._run(run_id, waiting)) is not None:
                runs.append(line)
        return runs

    def _run(self, run_id: str, waiting: Waiting) -> RunLine | None:
        try:
            last = self._last(run_id, waiting)
            if last is None:
                return None
            status = status_in(last[1])
            if status is None:
                with self._reading(run_id) as file:
                    status = None if file is None else _replayed(file, run_id)
        except (JournalCorruptError, RunNotFoundError, BackendError):
            return RunLine(run_id, None, 0.0)
        return RunLine(run_id, status, last[1].at)


def _replayed(file: int, run_id: str) -> records.Status | None:
    state = replay(run_id, (line for page in lines.pages(file, run_id) for line in page))
    return None if state is None else state.status
