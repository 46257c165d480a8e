"""The parent's side: worker processes that do what they are told at the same time, and never outlive it."""

import asyncio
import contextlib
import os
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

import msgspec

import jsmemory.errors
from jsmemory.errors import BackendUnavailableError
from jsmemory.testing.measuring.throughput.orders import LINE_LIMIT, Done, Event, Failed, Job, Order, line_of

_WORKER: Final = "jsmemory.testing.measuring.throughput.worker"
_END_S: Final = 5.0
_EVENT: Final = msgspec.json.Decoder(Event)


class Crew:
    """Workers that are ready."""

    def __init__(self, workers: Sequence[Process]) -> None:
        self._workers = workers

    async def carry_out(self, order: Order) -> list[Done]:
        """
        Have every worker carry out an order, all at the same time.

        Raises:
            BackendUnavailableError: a worker failed.
        """
        return [event for event in await self._all_say(order) if isinstance(event, Done)]

    async def ready(self) -> None:
        """Wait until every worker has everything that it needs; raises as `carry_out` does."""
        await asyncio.gather(*(_heard(worker) for worker in self._workers))

    async def _all_say(self, order: Order) -> list[Event]:
        for worker in self._workers:
            if worker.stdin is not None:
                worker.stdin.write(line_of(order))
        return await asyncio.gather(*(_heard(worker) for worker in self._workers))


@asynccontextmanager
async def crew_of(jobs: Sequence[Job]) -> AsyncIterator[Crew]:
    """
    Worker processes, one a job, for as long as the block lasts.

    Raises:
        BackendUnavailableError: a worker could not begin.
    """
    workers: list[Process] = []
    environment = dict(os.environ) | {"PYTHONPATH": _python_path()}
    try:
        for job in jobs:
            worker = await asyncio.create_subprocess_exec(
                sys.executable, "-m", _WORKER, stdin=PIPE, stdout=PIPE, limit=LINE_LIMIT, env=environment
            )
            workers.append(worker)
            if worker.stdin is not None:
                worker.stdin.write(line_of(job))
        crew = Crew(workers)
        await crew.ready()
        yield crew
    finally:
        for worker in workers:
            await _end(worker)


async def _heard(worker: Process) -> Event:
    line = await worker.stdout.readline() if worker.stdout is not None else b""
    event = _EVENT.decode(line) if line else Failed("A worker ended.")
    if isinstance(event, Failed):
        raise BackendUnavailableError("A worker of the measurement failed.", event.reason)
    return event


async def _end(worker: Process) -> None:
    # Without its input a worker ends by itself.
    if worker.stdin is not None:
        worker.stdin.close()
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_END_S):
            await worker.wait()
    with contextlib.suppress(ProcessLookupError):
        worker.kill()
    await worker.wait()


def _python_path() -> str:
    # The workers run this very package, also from a checkout that was never installed.
    root = str(Path(jsmemory.errors.__file__).parent.parent)
    return os.pathsep.join(filter(None, [root, os.environ.get("PYTHONPATH", "")]))
