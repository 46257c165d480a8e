"""What is worked out, beside what was measured: writes that came in by chance on one machine."""

from dataclasses import dataclass

from jsmemory.testing.scaling.figures import Figures
from jsmemory.testing.scaling.queueing import mean_ms


@dataclass(frozen=True, slots=True)
class Predicted:
    """
    One load.

    Attributes:
        per_second: Writes that came in.
        done_per_second: Writes that were done: all of them, as long as the leader is not always busy.
        utilisation: Of the bucket's leader, as it is worked out.
        predicted_ms: What a write should take on average.
        measured_ms: What it took.
    """

    per_second: float
    done_per_second: float
    utilisation: float
    predicted_ms: float
    measured_ms: float


def predict_arrivals(figures: Figures) -> list[Predicted]:
    """Each load that was measured, beside what the plan would have said of it."""
    return [
        Predicted(
            per_second,
            done_per_second,
            utilisation := per_second / figures.writes_per_second,
            mean_ms(figures.write_ms, utilisation),
            measured_ms,
        )
        for per_second, done_per_second, measured_ms in figures.arrivals
    ]
