"""
How waiting grows with load.

A bucket is one queue: its leader takes one write after the other. Where work comes in at random
moments, as from many agents that know nothing of each other, and takes times that vary, the mean
wait is that of the queue which the books call M/M/1: at half load one service time, at nine
tenths nine of them. Writes take times that vary less than that, and agents wait for their answer
before they ask again, so that it is on the safe side.
"""

import math
import random


def mean_ms(alone_ms: float, service_ms: float, utilisation: float) -> float:
    """
    Milliseconds from a request to its answer, on average; infinite where more comes in than goes out.

    Args:
        alone_ms: What it takes where nothing else goes on: the way there and back, and the work.
        service_ms: For how long it keeps the others waiting.
        utilisation: The part of the time for which somebody is served.
    """
    if utilisation >= 1:
        return math.inf
    return alone_ms + service_ms * utilisation / (1 - utilisation)


def simulate_waiting(service_ms: float, utilisation: float, *, requests: int = 200_000, seed: int = 0) -> float:
    """
    The mean wait in milliseconds by playing it through, request by request, and not by a formula.

    Args:
        service_ms: The mean time that one request takes.
        utilisation: Of the one that serves, below 1.
        requests: How many come.
        seed: Of the dice.
    """
    dice = random.Random(seed)  # noqa: S311
    gap_ms = service_ms / utilisation
    wait = total = 0.0
    for _ in range(requests):
        total += wait
        # Who comes next finds the work that is left, less what was done until then.
        wait = max(0.0, wait + dice.expovariate(1 / service_ms) - dice.expovariate(1 / gap_ms))
    return total / requests
