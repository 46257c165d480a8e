"""
One worker process: ``python -m jsmemory.testing.torture.worker``, its job on the first line of standard input.

More lines are orders. Where the input ends, so does the worker.
"""

import asyncio
import resource
import sys
import time
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from typing import Final

from jsmemory.backed_store import BackedStore
from jsmemory.backend import Backend
from jsmemory.backends.file import FileBackend
from jsmemory.backends.jetstream.backend import JetStreamBackend
from jsmemory.backends.jetstream.options import ELECTION_TIMEOUT
from jsmemory.backends.jetstream.wire import Connection, Wire
from jsmemory.connecting import connect
from jsmemory.errors import JsMemoryError
from jsmemory.testing.torture.acting import Actor, Place
from jsmemory.testing.torture.jobs import Job, Order, decode_job, decode_order
from jsmemory.testing.torture.mutants import mutated
from jsmemory.testing.torture.recording import Recorder
from jsmemory.testing.torture.records import Opened
from jsmemory.testing.torture.watching import WatchingConnection
from jsmemory.testing.torture.workload import Workload

_STORES: Final = 2
# Store objects of each keyspace: what one of them has seen the other one need not know.
_AGAIN_S: Final = 0.2
_FIRST_CONNECT_S: Final = 60.0

_true_time = time.time
_true_time_ns = time.time_ns


async def main() -> None:
    """Work until it is told to stop."""
    reader = asyncio.StreamReader()
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    job = decode_job(await reader.readline())
    over = asyncio.Event()
    orders = asyncio.create_task(_obey(reader, over))
    recorder = Recorder(Path(job.records), job.worker)
    try:
        async with AsyncExitStack() as stack:
            connection = await _connection(job, stack) if job.bucket else None
            places = {
                space: [await _open(job, connection, recorder, space, number, over, stack) for number in range(_STORES)]
                for space in job.spaces
            }
            # Whoever waits for it hears that it is at work.
            sys.stdout.write("ready\n")
            sys.stdout.flush()
            if not over.is_set():
                await Workload(job, Actor(job.worker, recorder), recorder, places).work(over.is_set)
    finally:
        orders.cancel()
        recorder.close()


async def _connection(job: Job, stack: AsyncExitStack) -> Connection:
    # By its name the links know whose connection it is.
    session = connect(servers=list(job.urls), name=job.worker, first_connect_timeout=_FIRST_CONNECT_S)
    return WatchingConnection(await stack.enter_async_context(session))


async def _open(
    job: Job,
    connection: Connection | None,
    recorder: Recorder,
    space: str,
    number: int,
    over: asyncio.Event,
    stack: AsyncExitStack,
) -> Place:
    """A store object; tried until a server that is treated badly lets it be opened. Every second one has a view."""
    name = f"{job.worker}-{space}-{number}"
    while True:
        try:
            store = BackedStore(mutated(await _backend(job, connection, space), job.mutant))
            view = await stack.enter_async_context(store.live()) if number % 2 else None
        except JsMemoryError:
            if over.is_set():
                raise
            await asyncio.sleep(_AGAIN_S)
        else:
            ends_authority = connection is not None and not job.examines
            recorder.write(Opened(name, time.monotonic(), ends_authority))
            return Place(store, name, space, view)


async def _backend(job: Job, connection: Connection | None, space: str) -> Backend:
    if connection is None:
        return await FileBackend.open(job.directory, prefix=space)
    return await JetStreamBackend.bind(
        Wire(connection),
        job.bucket,
        space,
        preflight=job.examines,
        bind_timeout=ELECTION_TIMEOUT,
        budget=job.budget,
    )


async def _obey(reader: asyncio.StreamReader, over: asyncio.Event) -> None:
    while line := await reader.readline():
        _carry_out(decode_order(line), over)
    over.set()


def _carry_out(order: Order, over: asyncio.Event) -> None:
    match order.verb:
        case "stop":
            over.set()
        case "clock":
            # What a jump of the host's clock does to a process: the wall clock jumps, the
            # monotonic one does not.
            seconds = order.amount
            time.time = lambda: _true_time() + seconds
            time.time_ns = lambda: _true_time_ns() + int(seconds * 1e9)
        case "files":
            _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
            limit = int(order.amount) if order.amount >= 0 else hard
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, hard))


if __name__ == "__main__":
    # Whoever finds no server in time ends, and another one is started in its place.
    with suppress(JsMemoryError):
        asyncio.run(main())
