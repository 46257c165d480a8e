"""The plan for a cluster that no machine at hand can hold: its arithmetic, and what it takes as inputs."""

import math
from typing import Any

import pytest

from jsmemory.errors import InvalidOptionsError
from jsmemory.testing.scaling import (
    BUSY_AT_MOST,
    Demand,
    Figures,
    mean_ms,
    plan_for,
    predict_arrivals,
    simulate_ms,
)

FIGURES = Figures(
    replicas=3,
    size=4096,
    read_ms=0.5,
    write_ms=2.0,
    reads_per_second=20_000.0,
    writes_per_second=5_000.0,
    worker_us=100.0,
    list_ms=50.0,
    overhead_bytes=304.0,
    arrivals=[(2_500.0, 2_400.0, 2.5), (10_000.0, 5_000.0, 900.0)],
)


def measured() -> dict[str, Any]:
    """What the benchmark prints, as far as it is needed."""

    def load(runs: int, processes: int, mix: str, per_second: float, ms: float) -> dict[str, Any]:
        return {
            "runs": runs,
            "processes": processes,
            "mix": mix,
            "per_second": per_second,
            "mean_ms": ms,
            "cpu_us": 50.0 + ms,
        }

    return {
        "throughput": [
            load(64, 1, "mixed", 9000, 7.0),
            load(1, 1, "reads", 2000, 0.5),
            load(1, 1, "writes", 500, 1.0),
            load(64, 8, "reads", 20_000, 25.0),
            load(64, 8, "writes", 9000, 100.0),
        ],
        "arrivals": [
            {"offered_per_second": 9000.0, "per_second": 5000.0, "mean_ms": 700.0},
            {"offered_per_second": 250.0, "per_second": 240.0, "mean_ms": 2.0},
            {"offered_per_second": 2500.0, "per_second": 2400.0, "mean_ms": 2.5},
        ],
        "scale": {
            "operations": {"list": {"1000": {"median_ms": 40.0}, "100000": {"median_ms": 50.0}}},
            "filled": [
                {"entries": 1000, "bytes_of_an_entry": 500.0},
                {"entries": 100_000, "bytes_of_an_entry": 560.0},
            ],
        },
        "replicas": 3,
        "size": 2048,
    }


@pytest.mark.parametrize("utilisation", [0.2, 0.5, 0.8])
def test_the_formula_says_what_comes_of_playing_it_through(utilisation: float) -> None:
    """A slip in the formula would be believed by whoever buys servers for it."""
    played = simulate_ms(3.0, utilisation)
    assert mean_ms(3.0, utilisation) == pytest.approx(played, rel=0.05)


def test_who_is_asked_for_more_than_there_can_be_never_answers() -> None:
    """A figure for what cannot be would be taken for one."""
    assert mean_ms(1.0, 1.0) == math.inf
    assert predict_arrivals(FIGURES)[1].predicted_ms == math.inf


def test_what_is_needed_is_taken_out_of_what_was_measured() -> None:
    """A figure of another line is a plan for another cluster."""
    figures = Figures.of(measured())
    assert (figures.replicas, figures.size, figures.read_ms, figures.write_ms) == (3, 2048, 0.5, 2.0)
    assert (figures.reads_per_second, figures.writes_per_second) == (20_000, 5000)
    assert (figures.worker_us, figures.list_ms, figures.overhead_bytes) == (57.0, 50.0, 304.0)
    assert figures.arrivals == [(2500.0, 2400.0, 2.5)]


@pytest.mark.parametrize("lacking", ["throughput", "arrivals", "scale", "replicas", "size"])
def test_a_measurement_that_lacks_something_is_refused(lacking: str) -> None:
    """The plain benchmark measures other things, and its output looks much the same."""
    document = measured()
    del document[lacking]
    with pytest.raises(InvalidOptionsError, match="--throughput --scale"):
        Figures.of(document)
    document = measured()
    document["throughput"] = [load for load in document["throughput"] if load["runs"] != 1]
    with pytest.raises(InvalidOptionsError):
        Figures.of(document)


@pytest.mark.parametrize("figure", [0, -1, float("nan"), float("inf"), 1e300, None])
@pytest.mark.parametrize(
    "change",
    [
        lambda document, figure: document["throughput"][3].update(per_second=figure),
        lambda document, figure: document["throughput"][1].update(mean_ms=figure),
        lambda document, figure: document["arrivals"][0].update(per_second=figure),
        lambda document, figure: document["arrivals"][1].update(mean_ms=figure),
        lambda document, figure: document["scale"]["operations"]["list"]["100000"].update(median_ms=figure),
        lambda document, figure: document["scale"]["filled"][0].update(bytes_of_an_entry=figure),
        lambda document, figure: document.update(size=figure),
    ],
)
def test_a_figure_that_nobody_can_have_measured_is_refused(change: Any, figure: float | None) -> None:
    """A measurement that was edited, or of a bucket that answered nothing, is divided by."""
    document = measured()
    change(document, figure)
    with pytest.raises(InvalidOptionsError, match="--throughput --scale"):
        Figures.of(document)


def test_load_consumers_and_bytes_each_ask_for_buckets() -> None:
    """Whoever looks at the writes alone runs out of consumers, or cannot replace a node before the next is lost."""
    idle = Demand(workers=1, writes_per_second=0, reads_per_second=0)
    assert plan_for(idle, FIGURES).buckets == 1
    # 5,000 writes and as many reads keep one bucket busy for 1 + 1/4 of the time.
    busy = plan_for(Demand(workers=100, writes_per_second=5000, reads_per_second=5000), FIGURES)
    assert busy.utilisation_of_one == pytest.approx(1.25)
    assert (busy.buckets_for_load, busy.buckets) == (3, 3)
    assert busy.utilisation == pytest.approx(1.25 / 3)
    assert busy.utilisation <= BUSY_AT_MOST
    assert busy.write_ms == pytest.approx(2.0 / (1 - 1.25 / 3))
    assert busy.workers_of_a_bucket == 48
    assert busy.worker_processors == pytest.approx(1.0)
    listing = plan_for(Demand(workers=1, writes_per_second=0, reads_per_second=0, listings_per_second=9000), FIGURES)
    # 9,000 listings of 50 ms are 450 at once, and 100 views more than the half of 1,000.
    assert (listing.buckets_for_consumers, listing.consumers) == (1, 450)
    assert listing.listing_work_s == pytest.approx(450)
    viewed = Demand(workers=2, writes_per_second=0, reads_per_second=0, listings_per_second=9000, views=100)
    assert plan_for(viewed, FIGURES).buckets == 2
    # 5,304 bytes of 1,000 entries of 30,000 workers: 159 GB, of the 112.5 that a node copies in time.
    full = Demand(workers=30_000, writes_per_second=0, reads_per_second=0, size=5000)
    assert (plan_for(full, FIGURES).buckets_for_bytes, plan_for(full, FIGURES).bytes_of_a_node) == (2, 79_560_000_000)


def test_a_prefix_lies_in_one_bucket() -> None:
    """A bucket for a part of a prefix is one that nobody can use."""
    # Each keeps six tenths of a bucket busy: two of three in one bucket would be too many.
    three = plan_for(Demand(workers=3, writes_per_second=5400, reads_per_second=0), FIGURES)
    assert (three.workers_of_a_bucket, three.buckets_for_load, three.buckets) == (1, 3, 3)
    for too_much in (
        Demand(workers=1, writes_per_second=20_000, reads_per_second=0),
        Demand(workers=1, writes_per_second=0, reads_per_second=0, views=600),
    ):
        with pytest.raises(InvalidOptionsError, match="one worker asks for more than a bucket carries"):
            plan_for(too_much, FIGURES)


def test_a_move_takes_what_a_copy_takes_and_leaves_the_others_room() -> None:
    """Who moves at full speed stops the agents whose notes stay where they are."""
    calm = plan_for(Demand(workers=9, writes_per_second=0, reads_per_second=0), FIGURES).move
    assert (calm.prefixes, calm.entries) == (5, 5000)
    assert calm.bytes == 5000 * (4096 + 304)
    # Half of what is idle, and half as much again as the read and the write alone.
    assert calm.entries_per_second == pytest.approx(0.5 / (1.5 * (1 / 20_000 + 1 / 5000)))
    busy = plan_for(Demand(workers=9, writes_per_second=2500, reads_per_second=0), FIGURES).move
    assert busy.entries_per_second == pytest.approx(calm.entries_per_second / 2)
    assert busy.seconds == pytest.approx(5000 / busy.entries_per_second)
    slow = Figures(**{name: getattr(FIGURES, name) for name in FIGURES.__slots__} | {"read_ms": 50.0, "write_ms": 50.0})
    # Thirty-two at once, each in one and a half times the 100 ms of both.
    patient = plan_for(Demand(workers=9, writes_per_second=0, reads_per_second=0), slow).move
    assert patient.entries_per_second == pytest.approx(32 / 0.15)
