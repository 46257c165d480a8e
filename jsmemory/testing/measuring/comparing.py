"""Times of a store call and of the raw one, as the numbers that are shown."""

import math
import random
import statistics
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, TypeVar

MUST_REACH: Final[Mapping[str, float]] = MappingProxyType(
    {"read": 1.3, "update": 1.3, "create": 1.4, "list": 0.35, "live_list": 2.0, "copy": 1.5, "file_create": 3.0}
)
"""
The ratio that an operation stays below. A delete looks first, so it is two requests against one;
a copy reads back and compares, where it is held against reading and writing alone.
"""

MAX_LISTING_WIRE_BYTES: Final = 1024 * 1024
"""What the listing of a full store may move: an index, not the contents."""

_Answer = TypeVar("_Answer")


@dataclass(frozen=True, slots=True)
class Comparison:
    """
    One operation against the raw one.

    Attributes:
        median_ms: Milliseconds of the store call.
        p99_ms: Those that one call in a hundred exceeds.
        raw_median_ms: Milliseconds of the raw one.
        ratio: The medians', 1.0 where the store costs nothing.
    """

    median_ms: float
    p99_ms: float
    raw_median_ms: float
    ratio: float

    @classmethod
    def of(cls, store: Sequence[float], raw: Sequence[float]) -> "Comparison":
        """From seconds, at least one of each."""
        ours, theirs = statistics.median(store) * 1000, statistics.median(raw) * 1000
        last = sorted(store)[math.ceil(len(store) * 0.99) - 1] * 1000
        return cls(round(ours, 4), round(last, 4), round(theirs, 4), round(ours / theirs, 3))


class Turns:
    """
    Times of two things that take turns.

    Args:
        unmeasured: First rounds that do not count: connections, caches and code get warm.
    """

    def __init__(self, unmeasured: int) -> None:
        self._unmeasured = unmeasured
        self._times: dict[bool, list[float]] = {True: [], False: []}

    async def store(self, call: Callable[[], Awaitable[_Answer]]) -> _Answer:
        """Time a call of the store."""
        return await self._time(call, is_store=True)

    async def raw(self, call: Callable[[], Awaitable[_Answer]]) -> _Answer:
        """Time what it is held against."""
        return await self._time(call, is_store=False)

    async def either(self, store: Callable[[], Awaitable[object]], raw: Callable[[], Awaitable[object]]) -> None:
        """Time both, in an order that is drawn: what a server does every other time hits neither more often."""
        if random.getrandbits(1):
            await self.store(store)
            await self.raw(raw)
        else:
            await self.raw(raw)
            await self.store(store)

    def comparison(self) -> Comparison:
        """What the rounds have shown."""
        return Comparison.of(self._times[True][self._unmeasured :], self._times[False][self._unmeasured :])

    async def _time(self, call: Callable[[], Awaitable[_Answer]], *, is_store: bool) -> _Answer:
        began = time.perf_counter()
        answer = await call()
        self._times[is_store].append(time.perf_counter() - began)
        return answer
