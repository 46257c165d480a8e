"""Time every operation in buckets of several sizes, in turns."""

import math
import random
import statistics
import time
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Final

from jsmemory.connecting import Connection
from jsmemory.testing.measuring.operations import UNMEASURED, Report
from jsmemory.testing.measuring.scale.filling import Filled, fill_bucket
from jsmemory.testing.measuring.scale.places import Call, Place

SIZES: Final = (1_000, 100_000, 1_000_000)
"""Entries of the buckets."""

ENTRIES_OF_A_PREFIX: Final = 1000
"""A store that is nearly full."""

MAX_GROWTH: Final = 1.2
"""What an operation takes at most in the largest bucket, where it takes 1 in the smallest."""

SIZE: Final = 256
# Bytes of a content. A million of 64 KiB would be a matter of the disk, and not of the bucket.

_LISTINGS: Final = 30


@dataclass(frozen=True, slots=True)
class SizeMeasured:
    """
    One operation in one bucket.

    Attributes:
        median_ms: Milliseconds.
        p99_ms: Those that one call in a hundred exceeds.
        growth: The median over that in the smallest bucket.
    """

    median_ms: float
    p99_ms: float
    growth: float


@dataclass(frozen=True, slots=True)
class ScaleMeasured:
    """
    How an operation grows with the bucket.

    Attributes:
        operations: By name, then by the entries of the bucket, the smallest first.
        filled: How the buckets were filled.
    """

    operations: Mapping[str, Mapping[int, SizeMeasured]]
    filled: Sequence[Filled]


async def measure_scale(
    connection: Connection,
    *,
    sizes: Sequence[int] = SIZES,
    rounds: int = 1000,
    size: int = SIZE,
    replicas: int = 1,
    report: Report = lambda what, part: None,
) -> ScaleMeasured:
    """
    Fill a bucket of each size, and time every operation in all of them.

    The buckets take turns, in an order that is drawn anew for each operation: what a busy
    machine does to one, it does to the others. A read and an update are of entries that were
    there, a create and a delete of one that is new; what is listed is one prefix, with as many
    entries in each bucket: 1,000, or all of the smallest one.

    Args:
        connection: To a server that is there for nothing else: the buckets are made, and stay.
        sizes: Entries of the buckets, each 1 to 10,000,000.
        rounds: How often each operation is timed in each bucket; a listing 30 times at most.
        size: Bytes of a content.
        replicas: Of the buckets.
        report: Told what is done, and which part of it.

    Raises:
        InvalidOptionsError: a bucket of that name is there already, and made otherwise.
        BackendUnavailableError: the server did not keep what was sent.
    """
    filled = []
    for entries in sorted(sizes):
        words = f"the filling of {entries:,} entries"
        filled.append(
            await fill_bucket(
                connection.client,
                f"of-{entries}",
                entries,
                of_a_prefix=min(ENTRIES_OF_A_PREFIX, *sizes),
                size=size,
                replicas=replicas,
                report=lambda done, words=words, entries=entries: report(words, done / entries),  # type: ignore[misc]
            )
        )
    places = [await Place.bind(connection, each, size) for each in filled]
    times = _Times()
    for done in range(rounds + UNMEASURED):
        calls = {place.entries: place.short() for place in places}
        await times.take(calls, is_measured=done >= UNMEASURED)
        report("the operations", done / (rounds + UNMEASURED))
    listings = min(rounds, _LISTINGS)
    listed = {place.entries: place.listing() for place in places}
    for done in range(listings + 1):
        await times.take(listed, is_measured=done >= 1)
        report("the listings", done / listings)
    async with AsyncExitStack() as stack:
        # By itself: what a listing of a thousand entries leaves in the processor's caches is felt by
        # the short call after it, in one bucket more than in another.
        live = {place.entries: await place.live_listing(stack) for place in places}
        for done in range(rounds + UNMEASURED):
            await times.take(live, is_measured=done >= UNMEASURED)
            report("the listings of a view", done / (rounds + UNMEASURED))
    return ScaleMeasured(times.measured(), filled)


class _Times:
    def __init__(self) -> None:
        self._taken: dict[str, dict[int, list[float]]] = {}

    async def take(self, calls: Mapping[int, Mapping[str, Call]], *, is_measured: bool) -> None:
        """Make each call in every bucket."""
        buckets = list(calls)
        for operation in calls[buckets[0]]:
            random.shuffle(buckets)
            for entries in buckets:
                began = time.perf_counter()
                await calls[entries][operation]()
                took = time.perf_counter() - began
                if is_measured:
                    self._taken.setdefault(operation, {}).setdefault(entries, []).append(took)

    def measured(self) -> dict[str, dict[int, SizeMeasured]]:
        return {
            operation: {entries: _measured(taken[entries], taken[min(taken)]) for entries in sorted(taken)}
            for operation, taken in self._taken.items()
        }


def _measured(times: Sequence[float], smallest: Sequence[float]) -> SizeMeasured:
    median = statistics.median(times)
    last = sorted(times)[math.ceil(len(times) * 0.99) - 1]
    return SizeMeasured(round(median * 1000, 4), round(last * 1000, 4), round(median / statistics.median(smallest), 3))
