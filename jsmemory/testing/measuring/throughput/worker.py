"""
One worker process: ``python -m jsmemory.testing.measuring.throughput.worker``.

Its job is the first line of standard input, every further line an order. It ends with its
input, so that it never outlives who started it.
"""

import asyncio
import sys
from typing import Final

import msgspec

from jsmemory.backends.jetstream import JetStreamStore
from jsmemory.connecting import connect
from jsmemory.errors import JsMemoryError
from jsmemory.testing.measuring.plain import translated
from jsmemory.testing.measuring.throughput.orders import (
    LINE_LIMIT,
    Event,
    Failed,
    Hand,
    Job,
    Order,
    Ready,
    line_of,
)
from jsmemory.testing.measuring.throughput.runs import PlainRun, Running, StoreRun
from jsmemory.testing.measuring.throughput.steps import MIXES, notes
from jsmemory.testing.measuring.throughput.working import work
from jsmemory.testing.servers import plain_client

RUNS_PER_STORE: Final = 64
"""Runs that share one prefix. Each has two keys, and a store far from its limit needs no count."""


async def _work(orders: asyncio.StreamReader) -> None:
    job = msgspec.json.decode(await orders.readline(), type=Job)
    async with connect(servers=job.servers, name="jsmemory bench") as nats, plain_client(*job.servers) as client:
        runs: dict[Hand, list[Running]] = {"store": [], "raw": []}
        written = notes(job.size)
        for first in range(0, job.runs, RUNS_PER_STORE):
            prefix = f"{job.prefix}-{first}"
            store = await JetStreamStore.bind(nats, job.bucket, f"{prefix}-s")
            for number in range(first, min(first + RUNS_PER_STORE, job.runs)):
                runs["store"].append(StoreRun(store, f"run-{number}", written))
                runs["raw"].append(PlainRun(client, job.bucket, f"{prefix}-r.run-{number}", written))
        async with translated():
            await asyncio.gather(*(run.begin() for run in (*runs["store"], *runs["raw"])))
            _say(Ready())
            while line := await orders.readline():
                order = msgspec.json.decode(line, type=Order)
                _say(await work(runs[order.hand], MIXES[job.mix], order))


async def _run() -> None:
    orders = asyncio.StreamReader(limit=LINE_LIMIT)
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(orders), sys.stdin)
    await _work(orders)


def _say(event: Event) -> None:
    sys.stdout.buffer.write(line_of(event))
    sys.stdout.buffer.flush()


def main() -> None:
    """Work until the input ends; what goes wrong is said in one line."""
    try:
        asyncio.run(_run())
    except BrokenPipeError:
        # Whoever started it is gone.
        sys.exit(1)
    except BaseExceptionGroup as failures:
        _fail(failures.exceptions[0])
    except Exception as failure:
        _fail(failure)


def _fail(failure: BaseException) -> None:
    known = isinstance(failure, JsMemoryError)
    _say(Failed(str(failure) if known else f"A worker failed with {type(failure).__name__}. Please report it."))
    sys.exit(1)


if __name__ == "__main__":
    main()
