"""The parent's side: workers are started, killed, replaced, and never outlive it."""

import asyncio
import contextlib
import os
import signal
import sys
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import msgspec

import jsmemory
from jsmemory import BackendUnavailableError
from jsmemory.cli.demo.fates import Fate
from jsmemory.cli.demo.gathering import File
from jsmemory.cli.demo.wording import (
    COMPLETE,
    LINE_LIMIT,
    SUSPEND,
    Began,
    Beginning,
    Completed,
    Event,
    Failed,
    Finished,
    Job,
    Kept,
    Resumed,
    Suspended,
    Task,
    Unreadable,
    decode_event,
    line_of,
)

WORKER: Final = "jsmemory.cli.demo.worker"
_END_S: Final = 2.0
_UNASKED_DEATHS: Final = 3
# A worker that somebody else has killed is replaced as well; one that dies again and again is not.


@dataclass(slots=True)
class Tally:
    """
    What has happened so far.

    Attributes:
        kept: The keys of the files whose note and line were stored.
        unreadable: The keys of those that could not be read any more.
        writes: Stored values.
        conflicts: Updates that were refused because another worker came first, and tried again.
        killed: Workers that were killed at work.
        handed_over: Runs that were suspended and whose process was then killed, for a new one to resume.
        started: Processes.
        authority_held: For each that was resumed, whether it still had its authority.
    """

    kept: set[str] = field(default_factory=set)
    unreadable: set[str] = field(default_factory=set)
    writes: int = 0
    conflicts: int = 0
    killed: int = 0
    handed_over: int = 0
    started: int = 0
    authority_held: list[bool] = field(default_factory=list)


class Fleet:
    """
    Workers that share the files among themselves.

    Args:
        server: Where they connect.
        bucket: Where they keep notes.
        stream: Where their runs are recorded.
        identity: Whose notes.
        folder: Where the files are.
        environment: Of every worker.
        on_progress: Told after each event.
    """

    def __init__(
        self,
        *,
        server: str,
        bucket: str,
        stream: str,
        identity: str,
        folder: Path,
        environment: Mapping[str, str],
        on_progress: Callable[[Tally], None],
    ) -> None:
        self._job = Job(server, bucket, stream, identity, os.fsencode(folder))
        self._environment = dict(environment) | {"PYTHONPATH": _python_path(environment)}
        self._on_progress = on_progress
        self.tally = Tally()

    async def run(self, shares: Sequence[Sequence[File]], fates: Sequence[deque[Fate]]) -> Tally:
        """
        Have every share worked off, whatever happens to who does it.

        Raises:
            BackendUnavailableError: a worker failed for good; all others were ended.
        """
        try:
            async with asyncio.TaskGroup() as group:
                for number, (share, own) in enumerate(zip(shares, fates, strict=True), 1):
                    group.create_task(self._see_through(f"worker-{number}", share, own))
        except* BackendUnavailableError as failures:
            raise failures.exceptions[0] from None
        return self.tally

    async def _see_through(self, run_id: str, share: Sequence[File], fates: deque[Fate]) -> None:
        tasks = tuple(Task(file.key, os.fsencode(file.name)) for file in share)
        beginning: Beginning = "start"
        deaths = 0
        while True:
            fate = fates.popleft() if fates else None
            job = msgspec.structs.replace(self._job, tasks=tasks, run_id=run_id, beginning=beginning)
            async with self._process(job) as process:
                life = _Life(process, fate, self._hear)
                last = await life.run()
                if isinstance(last, Suspended):
                    # What the next one needs is in the journal, or it is lost.
                    _kill(process)
            match last:
                case Completed():
                    return
                case Failed(_, message):
                    raise BackendUnavailableError(message, "See what it says, then run the demo again.")
                case Suspended():
                    self.tally.handed_over += 1
                    beginning = "resume"
                case _ if life.is_struck:
                    # The next one redoes the share from its beginning: what is done is found done.
                    self.tally.killed += 1
                    beginning = "take over"
                case _:
                    deaths += 1
                    if deaths > _UNASKED_DEATHS:
                        raise BackendUnavailableError(
                            "A worker was ended again and again.", "Run with fewer --workers."
                        )
                    beginning = "take over"

    @asynccontextmanager
    async def _process(self, job: Job) -> AsyncIterator[asyncio.subprocess.Process]:
        # In a session of its own: a Ctrl-C is the parent's to answer. Not from the working
        # directory: a file there that is named as a module must not take its place.
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-P",
            "-m",
            WORKER,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            env=self._environment,
            limit=LINE_LIMIT,
            start_new_session=True,
        )
        self.tally.started += 1
        try:
            _order(process, line_of(job))
            yield process
        finally:
            await _end(process)

    def _hear(self, event: Event) -> None:
        match event:
            case Kept(key, writes, conflicts):
                self.tally.kept.add(key)
                self._count(writes, conflicts)
            case Unreadable(key):
                self.tally.unreadable.add(key)
            case Resumed(held, writes, conflicts):
                self.tally.authority_held.append(held)
                self._count(writes, conflicts)
        self._on_progress(self.tally)

    def _count(self, writes: int, conflicts: int) -> None:
        self.tally.writes += writes
        self.tally.conflicts += conflicts


class _Life:
    """One process from its start to its end, and what fate has for it."""

    def __init__(self, process: asyncio.subprocess.Process, fate: Fate | None, hear: Callable[[Event], None]) -> None:
        self._process = process
        self._fate = fate
        self._hear = hear
        self._begun = 0
        self.is_struck = False
        """Whether its fate has come."""

    async def run(self) -> Event | None:
        """
        Listen until the end.

        Returns:
            The last word: `Completed`, `Suspended` or `Failed`; None where it died without one.
        """
        striking: asyncio.Task[None] | None = None
        try:
            while self._process.stdout is not None and (line := await self._process.stdout.readline()):
                event = decode_event(line)
                self._hear(event)
                self._begun += isinstance(event, Began)
                if isinstance(event, Completed | Suspended | Failed):
                    return event
                if self._fate is None:
                    if isinstance(event, Finished):
                        _order(self._process, COMPLETE)
                elif striking is None and (self._begun == self._fate.at or isinstance(event, Finished)):
                    # Also where it had less to do than fate thought: one that waits can be killed as well.
                    striking = asyncio.create_task(self._strike(self._fate))
            return None
        finally:
            if striking is not None:
                striking.cancel()

    async def _strike(self, fate: Fate) -> None:
        await asyncio.sleep(fate.delay)
        self.is_struck = True
        if fate.kind == "kill":
            _kill(self._process)
        else:
            _order(self._process, SUSPEND)


async def _end(process: asyncio.subprocess.Process) -> None:
    # Without its input a worker ends by itself, unless somebody has stopped it in its tracks.
    if process.stdin is not None:
        process.stdin.close()
    try:
        async with asyncio.timeout(_END_S):
            await process.wait()
    except TimeoutError:
        _kill(process)
        await process.wait()


def _kill(process: asyncio.subprocess.Process) -> None:
    # Not by the process object, which would reap the process behind the back of the event loop.
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(process.pid, signal.SIGKILL)


def _order(process: asyncio.subprocess.Process, line: bytes) -> None:
    if process.stdin is not None:
        process.stdin.write(line)


def _python_path(environment: Mapping[str, str]) -> str:
    # The workers run this very package, also from a checkout that was never installed.
    root = str(Path(jsmemory.__file__).parent.parent)
    return os.pathsep.join(filter(None, [root, environment.get("PYTHONPATH", "")]))
