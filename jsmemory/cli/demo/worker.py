"""
One worker of the demo, a process of its own: ``python -m jsmemory.cli.demo.worker``.

Its job is the first line of standard input, what happens goes to standard output. It ends
when its input does, so that it never outlives the process that started it.
"""

import asyncio
import os
import sys
from contextlib import AsyncExitStack, suppress
from typing import Final

import msgspec

from jsmemory import JetStreamJournal, JsMemoryError, Run, RunNotFoundError, Store, connect, open_store
from jsmemory.cli.demo.keeping import PROGRESS, Keeper, Progress
from jsmemory.cli.demo.wording import LINE_LIMIT, Completed, Event, Failed, Job, Resumed, Suspended, decode_job, line_of

_ORPHANED: Final = 3


def _say(event: Event) -> None:
    sys.stdout.buffer.write(line_of(event))
    sys.stdout.buffer.flush()


async def _listen(orders: asyncio.StreamReader, order: asyncio.Future[bytes]) -> None:
    while line := await orders.readline():
        if not order.done():
            order.set_result(line)
    # Whoever is at the other end is done with this worker, or gone.
    os._exit(_ORPHANED)


async def _begun(stack: AsyncExitStack, store: Store, journal: JetStreamJournal, job: Job) -> Run:
    """The run, held until the stack is left."""
    if job.beginning == "resume":
        return await stack.enter_async_context(Run.resume(store, journal, job.run_id))
    if job.beginning == "take over":
        # One that was killed may not have come so far as to begin.
        with suppress(RunNotFoundError):
            return await stack.enter_async_context(Run.resume(store, journal, job.run_id, take_over=True))
    return await stack.enter_async_context(Run.start(store, journal, job.run_id))


async def _progress(journal: JetStreamJournal, job: Job) -> Progress:
    progress = None
    # Who takes over from a killed process begins anew: what that one has done since, nobody recorded.
    if job.beginning == "resume":
        async for record in journal.history(job.run_id):
            if record.name == PROGRESS:
                progress = msgspec.convert(record.data, Progress)
        if progress is None:
            _say(Resumed(held=False, writes=0, conflicts=0))
    return progress or Progress()


async def _work(job: Job, order: asyncio.Future[bytes]) -> None:
    async with connect(servers=job.server, name="jsmemory demo") as nats:
        options = {"backend": "jetstream", "options": {"bucket": job.bucket}}
        store = await open_store(options, identity=job.identity, nats=nats)
        journal = await JetStreamJournal.bind(nats, job.stream)
        async with AsyncExitStack() as stack:
            run = await _begun(stack, store, journal, job)
            if await Keeper(run, job, await _progress(journal, job), order, _say).work():
                _say(Suspended())
                # Killed here: whatever this process still knows counts for nothing.
                await asyncio.Event().wait()
        _say(Completed())


async def _run() -> None:
    orders = asyncio.StreamReader(limit=LINE_LIMIT)
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(orders), sys.stdin)
    job = decode_job(await orders.readline())
    order: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
    listening = asyncio.create_task(_listen(orders, order))
    try:
        await _work(job, order)
    finally:
        listening.cancel()
        with suppress(asyncio.CancelledError):
            await listening


def main() -> None:
    """Run until done; what goes wrong is said to the parent in one line."""
    try:
        asyncio.run(_run())
    except JsMemoryError as error:
        _say(Failed(error.code, str(error)))
        sys.exit(1)
    except BrokenPipeError:
        os._exit(_ORPHANED)
    except Exception as defect:
        _say(Failed("defect", f"A worker failed with {type(defect).__name__}. Please report it."))
        sys.exit(1)


if __name__ == "__main__":
    main()
