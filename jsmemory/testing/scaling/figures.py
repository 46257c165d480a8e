"""What was measured, as far as the plan needs it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import msgspec

from jsmemory.errors import InvalidOptionsError
from jsmemory.testing.measuring.scale.measuring import SIZE

_Positive = Annotated[float, msgspec.Meta(gt=0, le=1e12)]
# What was measured took some time, and was done some times; everything is divided by it.
_REMEDY = "Make it with: jsmemory bench --throughput --scale --json"


class _Load(msgspec.Struct, frozen=True):
    runs: int
    processes: int
    mix: str
    per_second: _Positive
    mean_ms: _Positive
    cpu_us: _Positive


class _Arrivals(msgspec.Struct, frozen=True):
    offered_per_second: _Positive
    per_second: _Positive
    mean_ms: _Positive


class _Timed(msgspec.Struct, frozen=True):
    median_ms: _Positive


class _Filled(msgspec.Struct, frozen=True):
    entries: int
    bytes_of_an_entry: _Positive


class _Scale(msgspec.Struct, frozen=True):
    operations: dict[str, dict[str, _Timed]]
    filled: list[_Filled]


class _Document(msgspec.Struct, frozen=True):
    throughput: list[_Load]
    arrivals: list[_Arrivals]
    scale: _Scale
    replicas: Annotated[int, msgspec.Meta(gt=0)]
    size: Annotated[int, msgspec.Meta(gt=0)]


@dataclass(frozen=True, slots=True)
class Figures:
    """
    One bucket on the servers that were measured.

    Attributes:
        replicas: How many servers held it.
        size: Bytes of a content that was read or written: the rates are those of this size.
        read_ms: Milliseconds of a read where nothing else goes on.
        write_ms: The same of a write that comes by chance, and so asks first whether the bucket is the same.
        reads_per_second: As many as were done at once.
        writes_per_second: The same of such writes.
        worker_us: Microseconds of a worker's processor for one operation.
        list_ms: Milliseconds of the listing of a prefix of 1,000 entries, in the largest bucket.
        overhead_bytes: What a server keeps of an entry beside its content.
        arrivals: Writes that came in by chance, fewer than can be done: how many came a second,
            how many were done, and how long they took.
    """

    replicas: int
    size: int
    read_ms: float
    write_ms: float
    reads_per_second: float
    writes_per_second: float
    worker_us: float
    list_ms: float
    overhead_bytes: float
    arrivals: Sequence[tuple[float, float, float]]

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> "Figures":
        """
        Take them out of what the benchmark printed.

        Raises:
            InvalidOptionsError: something is missing, or cannot have been measured.
        """
        try:
            read = msgspec.convert(document, _Document)
            largest = max(read.scale.filled, key=lambda filled: filled.entries)
            few, *arrivals, too_many = sorted(read.arrivals, key=lambda arrivals: arrivals.offered_per_second)
            return cls(
                read.replicas,
                read.size,
                _alone(read.throughput, "reads").mean_ms,
                few.mean_ms,
                max(load.per_second for load in read.throughput if load.mix == "reads"),
                too_many.per_second,
                # With many runs: one alone also pays for what they would share.
                min(load.cpu_us for load in read.throughput if load.mix == "mixed" and load.processes == 1),
                read.scale.operations["list"][str(largest.entries)].median_ms,
                round(largest.bytes_of_an_entry - SIZE, 1),
                [(each.offered_per_second, each.per_second, each.mean_ms) for each in arrivals],
            )
        except (msgspec.ValidationError, LookupError, ValueError):
            raise InvalidOptionsError(
                "measured", "lacks a figure that is needed, or has one that cannot be", _REMEDY
            ) from None


def _alone(loads: Sequence[_Load], mix: str) -> _Load:
    (alone,) = [load for load in loads if (load.runs, load.processes, load.mix) == (1, 1, mix)]
    return alone
