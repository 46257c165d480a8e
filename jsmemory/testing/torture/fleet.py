"""The worker processes: started, given orders, paused, killed, and replaced by others of another name."""

import asyncio
import contextlib
import os
import random
import signal
import sys
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

import msgspec

import jsmemory.errors
from jsmemory.testing.torture.jobs import Job, Order, encode
from jsmemory.testing.torture.recording import Recorder
from jsmemory.testing.torture.records import Died

WORKER: Final = "jsmemory.testing.torture.worker"

_GRACE_S: Final = 10.0
# Seconds beyond a store's budget in which a worker that was told to stop has stopped.


class Fleet:
    """
    So many workers at a time.

    Args:
        job: What all of them do; name and seed are filled in.
        size: How many at a time.
        recorder: For the deaths.
        unexamined: Every how many-th worker opens its stores without examining the bucket; 0 for none.
    """

    def __init__(self, job: Job, size: int, recorder: Recorder, *, unexamined: int = 0) -> None:
        self._job = job
        self._size = size
        self._recorder = recorder
        self._unexamined = unexamined
        self._workers: dict[int, tuple[str, asyncio.subprocess.Process]] = {}
        self._lives = 0

    @property
    def names(self) -> list[str]:
        """The workers that are there now."""
        return [name for name, _ in self._workers.values()]

    @asynccontextmanager
    async def working(self) -> AsyncIterator[None]:
        """All of them at work until the block ends; they finish what is under way, or are killed."""
        try:
            for place in range(self._size):
                await self._start(place)
            await asyncio.gather(*(_ready(process) for _, process in self._workers.values()))
            yield
        except BaseException:
            # Nobody waits for calls that servers in trouble may not answer for half a minute.
            for _, process in self._workers.values():
                _signal(process, signal.SIGKILL)
            raise
        finally:
            await asyncio.gather(*(self._stop(place) for place in list(self._workers)))

    async def kill(self, name: str) -> None:
        """End a worker with SIGKILL, and start another one in its place."""
        place = self._place(name)
        _, process = self._workers[place]
        _signal(process, signal.SIGKILL)
        await self._bury(place)
        await self._start(place)

    def pause(self, name: str) -> None:
        """Stop a worker in its tracks."""
        _signal(self._process(name), signal.SIGSTOP)

    def resume(self, name: str) -> None:
        """Let a worker go on."""
        _signal(self._process(name), signal.SIGCONT)

    def order(self, name: str, order: Order) -> None:
        """Give a worker an order."""
        process = self._process(name)
        if process.stdin is not None and not process.stdin.is_closing():
            process.stdin.write(encode(order) + b"\n")

    def any(self, lot: random.Random) -> str:
        """One of them by lot."""
        return lot.choice(self.names)

    async def replace_dead(self) -> None:
        """Start another worker for each that has ended by itself: one that has found no server in time."""
        for place, (_, process) in list(self._workers.items()):
            if process.returncode is not None:
                await self._bury(place)
                await self._start(place)

    def _place(self, name: str) -> int:
        return next(place for place, (each, _) in self._workers.items() if each == name)

    def _process(self, name: str) -> asyncio.subprocess.Process:
        return self._workers[self._place(name)][1]

    async def _start(self, place: int) -> None:
        name = f"w{self._lives}"
        examines = not self._unexamined or self._lives % self._unexamined != self._unexamined - 1
        job = msgspec.structs.replace(
            self._job, worker=name, seed=self._job.seed * 1_000 + self._lives, examines=examines
        )
        self._lives += 1
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-P",
            "-m",
            WORKER,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            env=environment_of(os.environ),
            start_new_session=True,
        )
        self._workers[place] = name, process
        if process.stdin is not None:
            process.stdin.write(encode(job) + b"\n")

    async def _stop(self, place: int) -> None:
        name, process = self._workers[place]
        self.order(name, Order("stop"))
        try:
            async with asyncio.timeout(self._job.budget + _GRACE_S):
                await process.wait()
        except TimeoutError:
            _signal(process, signal.SIGKILL)
        await self._bury(place)

    async def _bury(self, place: int) -> None:
        name, process = self._workers.pop(place)
        await process.wait()
        self._recorder.write(Died(name, time.monotonic()))


async def _ready(process: asyncio.subprocess.Process) -> None:
    """Wait until a worker is at work, or has ended."""
    if process.stdout is not None:
        await process.stdout.readline()


def _signal(process: asyncio.subprocess.Process, number: signal.Signals) -> None:
    # Not by the process object, which would reap the process behind the back of the event loop.
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(process.pid, number)


def environment_of(environment: Mapping[str, str]) -> dict[str, str]:
    """
    The variables of a process of ours.

    It runs this very package, also from a checkout that was never installed; and it connects
    where it is told to, not where a variable says.
    """
    root = str(Path(jsmemory.errors.__file__).parent.parent)
    kept = {name: value for name, value in environment.items() if not name.startswith("NATS_")}
    return kept | {"PYTHONPATH": os.pathsep.join(filter(None, [root, environment.get("PYTHONPATH", "")]))}
