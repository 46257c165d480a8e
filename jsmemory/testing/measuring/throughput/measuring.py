"""Measure loads, one after the other."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from jsmemory.testing.measuring.operations import Report
from jsmemory.testing.measuring.throughput.crew import Crew, crew_of
from jsmemory.testing.measuring.throughput.orders import Done, Hand, Job, Order
from jsmemory.testing.measuring.throughput.steps import Mix

MIN_THROUGHPUT: Final = 0.85
"""Of what nats-py alone does in the same time, a store does at least this part with `MUST_REACH_RUNS`."""

MUST_REACH_RUNS: Final = 64

SECONDS: Final = 10.0

_AGENTS: Final = 512
# Far more than are busy at once, so that hardly a write waits for its run.
_PROCESSES: Final = 4
# That they are in, so that none of these is what is measured.

PAIRS: Final = 7
# Windows of the store, and as many of nats-py. An odd number has a middle one.


@dataclass(frozen=True, slots=True)
class Load:
    """
    What is carried at once.

    Attributes:
        runs: In each process.
        processes: How many.
        mix: What the runs do.
    """

    runs: int
    processes: int = 1
    mix: Mix = "mixed"


@dataclass(frozen=True, slots=True)
class Throughput:
    """
    What a load came to.

    Attributes:
        runs: In each process.
        processes: How many.
        mix: What the runs did.
        per_second: Operations of the store, all processes together; the median of the windows.
        raw_per_second: The same by nats-py alone.
        ratio: Of the store to nats-py, in windows that follow each other; the median.
        mean_ms: Milliseconds from one operation of a run to its next, on average.
        cpu_us: Microseconds of a worker's processor that an operation of the store took.
        raw_cpu_us: The same by nats-py alone.
    """

    runs: int
    processes: int
    mix: Mix
    per_second: float
    raw_per_second: float
    ratio: float
    mean_ms: float
    cpu_us: float
    raw_cpu_us: float

    @property
    def is_judged(self) -> bool:
        """Whether `MIN_THROUGHPUT` is said of this load."""
        return (self.runs, self.processes, self.mix) == (MUST_REACH_RUNS, 1, "mixed")


@dataclass(frozen=True, slots=True)
class Arrivals:
    """
    Writes that came in at random moments, as from many agents that think in between.

    What an agent has read is old when it writes, so that each write asks first whether the bucket
    is still the same: it takes more than one that follows upon another.

    Attributes:
        offered_per_second: How many came in.
        per_second: How many were done.
        mean_ms: Milliseconds that one took on average, from the moment that it came in.
    """

    offered_per_second: float
    per_second: float
    mean_ms: float


async def measure_arrivals(
    servers: Sequence[str],
    bucket: str,
    most: float,
    parts: Sequence[float] = (0.05, 0.2, 0.4, 0.6, 0.8),
    *,
    seconds: float = SECONDS,
    size: int = 4096,
    report: Report = lambda load, part: None,
) -> list[Arrivals]:
    """
    Let writes come in at random moments, first more than can be done, then parts of what was.

    Args:
        servers: Where; no credentials are used.
        bucket: A bucket that is fit for memory. What was written stays in it.
        most: Writes a second that are more than the bucket takes.
        parts: Of what it took of them.
        seconds: How long each rate is measured.
        size: Bytes of a content.
        report: Told the rate, and which part of it is done.

    Returns:
        What came of too many, and then of each part.

    Raises:
        BackendUnavailableError: a worker process could not do its work.
    """
    jobs = [
        Job(
            servers=tuple(servers),
            bucket=bucket,
            prefix=f"arrivals-{process}",
            runs=_AGENTS // _PROCESSES,
            size=size,
            mix="writes",
        )
        for process in range(_PROCESSES)
    ]
    async with crew_of(jobs) as crew:
        await crew.carry_out(Order("store", seconds / PAIRS))
        measured = [await _arrivals(crew, most, seconds / 2)]
        for number, part in enumerate(parts):
            report("writes as they come", (number + 1) / (len(parts) + 1))
            measured.append(await _arrivals(crew, part * measured[0].per_second, seconds))
    return measured


async def _arrivals(crew: Crew, rate: float, seconds: float) -> Arrivals:
    windows = await crew.carry_out(Order("store", seconds, rate / _PROCESSES))
    steps = max(1, sum(done.steps for done in windows))
    mean_ms = 1000 * sum(done.waited_s for done in windows) / steps
    return Arrivals(round(rate, 1), round(steps / max(done.seconds for done in windows), 1), round(mean_ms, 3))


async def measure_throughput(
    servers: Sequence[str],
    bucket: str,
    loads: Sequence[Load],
    *,
    seconds: float = SECONDS,
    size: int = 4096,
    report: Report = lambda load, part: None,
) -> list[Throughput]:
    """
    Let runs work by the store and by nats-py alone, in turns, and count.

    Args:
        servers: Where; no credentials are used.
        bucket: A bucket that is fit for memory. What was written stays in it.
        loads: What to measure.
        seconds: How long each load is measured.
        size: Bytes of a content.
        report: Told the load, and which part of it is done.

    Raises:
        BackendUnavailableError: a worker process could not do its work.
    """
    measured = []
    for number, load in enumerate(loads):
        name = f"{load.processes} x {load.runs} {load.mix}"
        jobs = [
            Job(
                servers=tuple(servers),
                bucket=bucket,
                prefix=f"load{number}-{process}",
                runs=load.runs,
                size=size,
                mix=load.mix,
            )
            for process in range(load.processes)
        ]
        report(name, 0)
        async with crew_of(jobs) as crew:
            window = seconds / (2 * PAIRS + 1)
            # The first one does not count: connections, caches and code get warm.
            await crew.carry_out(Order("store", window))
            pairs = []
            for pair in range(PAIRS):
                pairs.append(await _pair(crew, window, is_first="store" if pair % 2 else "raw"))
                report(name, (pair + 1) / PAIRS)
        measured.append(_throughput(load, pairs))
    return measured


_Pair = dict[Hand, list[Done]]


async def _pair(crew: Crew, window: float, *, is_first: Hand) -> _Pair:
    hands: tuple[Hand, Hand] = ("store", "raw") if is_first == "store" else ("raw", "store")
    return {hand: await crew.carry_out(Order(hand, window)) for hand in hands}


def _throughput(load: Load, pairs: Sequence[_Pair]) -> Throughput:
    ours = [_per_second(pair["store"]) for pair in pairs]
    theirs = [_per_second(pair["raw"]) for pair in pairs]
    per_second = statistics.median(ours)
    return Throughput(
        load.runs,
        load.processes,
        load.mix,
        round(per_second, 1),
        round(statistics.median(theirs), 1),
        round(statistics.median(our / their for our, their in zip(ours, theirs, strict=True)), 3),
        round(1000 * load.runs * load.processes / per_second, 3),
        round(statistics.median(_cpu_us(pair["store"]) for pair in pairs), 1),
        round(statistics.median(_cpu_us(pair["raw"]) for pair in pairs), 1),
    )


def _per_second(windows: Sequence[Done]) -> float:
    # One at least: in a window that is too short for a step, on a machine that has no time for it.
    return max(1, sum(done.steps for done in windows)) / statistics.fmean(done.seconds for done in windows)


def _cpu_us(windows: Sequence[Done]) -> float:
    return 1e6 * sum(done.cpu_s for done in windows) / max(1, sum(done.steps for done in windows))
