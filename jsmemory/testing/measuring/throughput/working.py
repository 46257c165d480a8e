"""All the runs of one process at work: each as fast as it can, or as work comes in."""

import asyncio
import random
import time
from collections.abc import Sequence
from itertools import cycle

from jsmemory.testing.measuring.throughput.orders import Done, Order
from jsmemory.testing.measuring.throughput.runs import Running
from jsmemory.testing.measuring.throughput.steps import Step


async def work(runs: Sequence[Running], steps: Sequence[Step], order: Order) -> Done:
    """Carry out an order."""
    return await (_as_it_comes(runs, steps, order) if order.rate else _as_fast_as_can_be(runs, steps, order.seconds))


async def _as_fast_as_can_be(runs: Sequence[Running], steps: Sequence[Step], seconds: float) -> Done:
    done = 0
    is_over = False

    async def go_on(run: Running) -> None:
        nonlocal done
        while not is_over:
            # To the last one, so that the next order finds what it needs.
            for step in steps:
                await run.do(step)
                done += 1

    async with asyncio.TaskGroup() as tasks:
        began, cpu_began = time.perf_counter(), time.process_time()
        for run in runs:
            tasks.create_task(go_on(run))
        await asyncio.sleep(seconds)
        is_over = True
        took = time.perf_counter() - began
        return Done(done, took, time.process_time() - cpu_began, len(runs) * took)


async def _as_it_comes(runs: Sequence[Running], steps: Sequence[Step], order: Order) -> Done:
    """Steps begin at random moments, at a rate, as those of many agents do that know nothing of each other."""
    idle: asyncio.Queue[tuple[Running, cycle[Step]]] = asyncio.Queue()
    for run in runs:
        idle.put_nowait((run, cycle(steps)))
    waited = 0.0
    done = 0

    async def take(due: float) -> None:
        nonlocal waited, done
        run, own = await idle.get()
        await run.do(next(own))
        waited += time.perf_counter() - due
        done += 1
        idle.put_nowait((run, own))

    began, cpu_began = time.perf_counter(), time.process_time()
    due = began
    async with asyncio.TaskGroup() as tasks:
        while (due := due + random.expovariate(order.rate)) < began + order.seconds:
            await asyncio.sleep(due - time.perf_counter())
            tasks.create_task(take(due))
    return Done(done, time.perf_counter() - began, time.process_time() - cpu_began, waited)
