"""
How an answer takes longer with load.

A bucket is one queue: its leader takes one write after the other. Where work comes in at random
moments, as from many agents that know nothing of each other, and takes times that vary, the mean
time to an answer is that of the queue which the books call M/M/1: at half load twice what it
takes alone, at nine tenths ten times. All of the time that a request takes alone counts as
service, though the way there and back, and the sync of a disk, are shared by many: that is on
the safe side.
"""

import math
import random


def mean_ms(alone_ms: float, utilisation: float) -> float:
    """
    Milliseconds from a request to its answer, on average; infinite where more comes in than goes out.

    Args:
        alone_ms: What it takes where nothing else goes on.
        utilisation: The part of the time for which somebody is served.
    """
    return alone_ms / (1 - utilisation) if utilisation < 1 else math.inf


def simulate_ms(alone_ms: float, utilisation: float, *, requests: int = 200_000, seed: int = 0) -> float:
    """
    The same by playing it through, request by request, and not by a formula.

    Args:
        alone_ms: As for `mean_ms`.
        utilisation: As for `mean_ms`, below 1.
        requests: How many come.
        seed: Of the dice.
    """
    dice = random.Random(seed)  # noqa: S311
    gap_ms = alone_ms / utilisation
    left = total = 0.0
    for _ in range(requests):
        # Who comes waits for what is left to do, and is then served.
        took = left + dice.expovariate(1 / alone_ms)
        total += took
        left = max(0.0, took - dice.expovariate(1 / gap_ms))
    return total / requests
