"""From what a fleet asks for to the buckets that carry it, and the cost of one bucket more."""

import math
from dataclasses import dataclass
from typing import Final

from jsmemory.errors import InvalidOptionsError
from jsmemory.moving.crew import AT_ONCE
from jsmemory.testing.measuring.comparing import MUST_REACH
from jsmemory.testing.scaling.figures import Figures
from jsmemory.testing.scaling.queueing import mean_ms

BUSY_AT_MOST: Final = 0.6
"""
The part of the time for which a bucket's leader is to be busy: an answer then takes two and a
half times what it takes alone, and a burst of half as much again still passes.
"""

CONSUMERS_OF_A_STREAM: Final = 1000
"""What nats-server 2.15 allows at once: each listing has one for as long as it lasts, each live view one."""

_CONSUMERS_AT_MOST: Final = 0.5
# The part of them that is to be in use: listings come in bursts, as when a fleet starts.

NETWORK_BYTES_PER_S: Final = 125_000_000
"""Between two nodes: one gigabit a second. Not measured."""

CATCH_UP_S: Final = 900.0
"""
For how long a node that lost its disk may copy a bucket from the others; until then only two of
three have it.
"""

_IDLE_USED: Final = 0.5
# The part of what a bucket has to spare that a move may take.


@dataclass(frozen=True, slots=True, kw_only=True)
class Demand:
    """
    What a fleet asks for.

    Attributes:
        workers: Each has a prefix of its own; agents that share one are one worker.
        writes_per_second: Of all together: creates, updates and deletes.
        reads_per_second: Of all together; a listing of a live view is one request, and so counts as a read.
        listings_per_second: Of all together, save those of live views; a run begins with one.
        views: Live views that are open at once, each of one prefix.
        entries: Of each worker.
        size: Bytes of a content, on average; the rates stay those of the size that was measured.
    """

    workers: int
    writes_per_second: float
    reads_per_second: float
    listings_per_second: float = 0.0
    views: int = 0
    entries: int = 1000
    size: int = 4096


@dataclass(frozen=True, slots=True)
class Move:
    """
    What it costs to have one bucket more: a share of the prefixes moves, by ``jsmemory copy``.

    Attributes:
        prefixes: How many move.
        entries: Of these together.
        bytes: That one copy of them has.
        entries_per_second: How many are copied a second, read back and compared.
        seconds: How long that takes.
    """

    prefixes: int
    entries: int
    bytes: int
    entries_per_second: float
    seconds: float


@dataclass(frozen=True, slots=True)
class Plan:
    """
    How many buckets, each on servers like those that were measured, and how they fare.

    Attributes:
        utilisation_of_one: Of the leader with reads and writes, if there were one bucket.
        listing_work_s: Seconds that the listings of a second take where nothing else goes on, of servers
            and workers together. They are no part of the utilisation.
        buckets_for_load: How many the reads and writes need.
        buckets_for_consumers: How many the consumers of listings and views need.
        buckets_for_bytes: How many the bytes need.
        buckets: The largest of the three.
        workers_of_a_bucket: How many workers of this kind one bucket carries at most.
        utilisation: Of each leader.
        read_ms: Milliseconds of a read, on average.
        write_ms: The same of a write.
        consumers: Of a bucket, at once.
        bytes_of_a_node: What each server of a bucket keeps.
        worker_processors: Processors that the workers' side of reads and writes takes.
        move: To one bucket more.
    """

    utilisation_of_one: float
    listing_work_s: float
    buckets_for_load: int
    buckets_for_consumers: int
    buckets_for_bytes: int
    buckets: int
    workers_of_a_bucket: int
    utilisation: float
    read_ms: float
    write_ms: float
    consumers: float
    bytes_of_a_node: int
    worker_processors: float
    move: Move


def plan_for(demand: Demand, figures: Figures) -> Plan:
    """
    Work out a plan; prefixes are taken to be spread evenly over the buckets.

    Raises:
        InvalidOptionsError: one worker asks for more than one bucket carries.
    """
    read_s, write_s = 1 / figures.reads_per_second, 1 / figures.writes_per_second
    busy = demand.reads_per_second * read_s + demand.writes_per_second * write_s
    # Little's law: as many are there at once as come in a second, times how long each stays.
    listing_work_s = demand.listings_per_second * figures.list_ms / 1000
    consumers = listing_work_s + demand.views
    entry_bytes = demand.size + figures.overhead_bytes
    stored = demand.workers * demand.entries * entry_bytes
    shares = (
        busy / BUSY_AT_MOST,
        consumers / (CONSUMERS_OF_A_STREAM * _CONSUMERS_AT_MOST),
        stored / (NETWORK_BYTES_PER_S * CATCH_UP_S),
    )
    workers_of_a_bucket = math.floor(demand.workers / max(shares))
    if not workers_of_a_bucket:
        raise InvalidOptionsError(
            "workers",
            "is too low: one worker asks for more than a bucket carries, and its prefix cannot be spread over several",
            "Give it several prefixes, and count each as a worker; or ask for less of each.",
        )
    # A prefix lies in one bucket as a whole.
    needed = [
        math.ceil(demand.workers / max(1, math.floor(demand.workers / share))) if share else 1 for share in shares
    ]
    buckets = max(needed)
    utilisation = busy / buckets
    return Plan(
        utilisation_of_one=busy,
        listing_work_s=listing_work_s,
        buckets_for_load=needed[0],
        buckets_for_consumers=needed[1],
        buckets_for_bytes=needed[2],
        buckets=buckets,
        workers_of_a_bucket=workers_of_a_bucket,
        utilisation=utilisation,
        read_ms=mean_ms(figures.read_ms, utilisation),
        write_ms=mean_ms(figures.write_ms, utilisation),
        consumers=consumers / buckets,
        bytes_of_a_node=round(stored / buckets),
        worker_processors=(demand.reads_per_second + demand.writes_per_second) * figures.worker_us / 1e6,
        move=_move(demand, figures, buckets, utilisation, entry_bytes),
    )


def _move(demand: Demand, figures: Figures, buckets: int, utilisation: float, entry_bytes: float) -> Move:
    prefixes = math.ceil(demand.workers / (buckets + 1))
    entries = prefixes * demand.entries
    # A copy reads, writes and reads back; how much longer that takes than reading and writing is held by a bound.
    one_ms = (figures.read_ms + figures.write_ms) * MUST_REACH["copy"]
    one_busy_s = (1 / figures.reads_per_second + 1 / figures.writes_per_second) * MUST_REACH["copy"]
    rate = min(1000 * AT_ONCE / one_ms, (1 - utilisation) * _IDLE_USED / one_busy_s)
    return Move(prefixes, entries, round(entries * entry_bytes), rate, entries / rate)
