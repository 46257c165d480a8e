"""
How many operations a second: many runs in one process, and many processes, beside raw nats-py.

    async with embedded_server() as server:
        await make_bucket(server.url, "team")
        measured = await measure_throughput([server.url], "team", [Load(runs=64)])

Every load is carried by worker processes, also where it is one, so that who measures takes
nothing from who is measured. In each of them the runs do the same steps by the store and by
nats-py alone, in windows of time that take turns. `steps` says what is done, `runs` by whom,
`orders` what parent and workers tell each other, `working` how the runs go about it, `worker` is
one process, `crew` all of them.
"""

from jsmemory.testing.measuring.throughput.measuring import (
    MIN_THROUGHPUT,
    MUST_REACH_RUNS,
    SECONDS,
    Arrivals,
    Load,
    Throughput,
    measure_arrivals,
    measure_throughput,
)
from jsmemory.testing.measuring.throughput.steps import MIXES, Mix

__all__ = [
    "MIN_THROUGHPUT",
    "MIXES",
    "MUST_REACH_RUNS",
    "SECONDS",
    "Arrivals",
    "Load",
    "Mix",
    "Throughput",
    "measure_arrivals",
    "measure_throughput",
]
