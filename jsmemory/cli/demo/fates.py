"""Whom something happens to, and when: drawn by lot, at a moment of real work."""

import random
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

Kind = Literal["kill", "suspend"]

ALL: Final[tuple[Kind, ...]] = ("kill", "kill", "suspend")
"""What happens in every demo."""

_LONGEST_DELAY: Final = 0.006
# Seconds into a file at which a kill falls: that is about how long one takes.


@dataclass(frozen=True, slots=True)
class Fate:
    """
    What happens to one worker.

    Attributes:
        kind: ``kill``, by SIGKILL; or ``suspend``, asked to suspend its run, and killed after that.
        at: With which of its files, counted from 1.
        delay: Seconds after it has begun with that file.
    """

    kind: Kind
    at: int
    delay: float


def draw(shares: Sequence[int], lot: random.Random) -> list[deque[Fate]]:
    """
    The fates of each worker and of those that take its place, in order.

    Args:
        shares: How many files each worker has, at least one.
        lot: Where chance comes from.
    """
    fates: list[deque[Fate]] = [deque() for _ in shares]
    chosen = lot.sample(range(len(shares)), min(len(shares), len(ALL)))
    for number, kind in enumerate(ALL if shares else ()):
        # Where there are fewer workers than fates, one that takes a place meets the next.
        worker = chosen[number % len(chosen)]
        at = lot.randint(1, max(1, shares[worker] // 2))
        fates[worker].append(Fate(kind, at, lot.uniform(0, _LONGEST_DELAY)))
    return fates
