"""
What a cluster carries that no machine at hand could hold: worked out, from what one machine was measured to do.

    figures = Figures.of(json.load(file))  # what `jsmemory bench --throughput --scale --json` printed
    plan = plan_for(Demand(workers=5000, writes_per_second=2000), figures)

`figures` are the inputs, `queueing` is how answers take longer with load, `planning` puts them together,
`checking` compares what is worked out with what was measured. What is taken for granted stands
beside each constant, and in ops/scaling.md.
"""

from jsmemory.testing.scaling.checking import Predicted, predict_arrivals
from jsmemory.testing.scaling.figures import Figures
from jsmemory.testing.scaling.planning import (
    BUSY_AT_MOST,
    CATCH_UP_S,
    CONSUMERS_OF_A_STREAM,
    NETWORK_BYTES_PER_S,
    Demand,
    Move,
    Plan,
    plan_for,
)
from jsmemory.testing.scaling.queueing import mean_ms, simulate_ms

__all__ = [
    "BUSY_AT_MOST",
    "CATCH_UP_S",
    "CONSUMERS_OF_A_STREAM",
    "NETWORK_BYTES_PER_S",
    "Demand",
    "Figures",
    "Move",
    "Plan",
    "Predicted",
    "mean_ms",
    "plan_for",
    "predict_arrivals",
    "simulate_ms",
]
