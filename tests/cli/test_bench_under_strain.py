"""The benchmark with many runs and with large buckets, in small; and its picture."""

import asyncio
import xml.etree.ElementTree as ElementTree
from typing import Any

import pytest

from jsmemory.cli.growing import draw_growth
from jsmemory.cli.loading import draw_loads
from jsmemory.errors import BackendUnavailableError
from jsmemory.testing.measuring.scale.measuring import SIZE
from jsmemory.testing.measuring.throughput import Load, measure_throughput
from jsmemory.testing.servers import NatsServer

SMALL = (
    *("bench", "--throughput", "--runs", "1,3", "--processes", "1,2", "--seconds", "0.3"),
    *("--scale", "--sizes", "40,120", "--rounds", "10"),
)


def test_loads_and_sizes_are_measured_and_drawn(shell: Any) -> None:
    """Whoever plans a fleet needs every load and every size, on a machine where nothing is set up."""
    measured = shell(*SMALL, "--json", "--plot", "drawn.svg").json
    loads = [(each["runs"], each["processes"], each["mix"]) for each in measured["throughput"]]
    # One process of 64 runs is among the processes, though not among the runs.
    assert loads == [
        *((1, 1, "mixed"), (3, 1, "mixed"), (64, 1, "mixed"), (64, 2, "mixed")),
        *((1, 1, "reads"), (1, 1, "writes"), (64, 2, "reads"), (64, 2, "writes")),
    ]
    for each in measured["throughput"]:
        assert min(each["per_second"], each["raw_per_second"], each["ratio"], each["cpu_us"], each["raw_cpu_us"]) > 0
        assert each["mean_ms"] == pytest.approx(1000 * each["runs"] * each["processes"] / each["per_second"], rel=0.01)
    assert len(measured["arrivals"]) == 6
    assert measured["arrivals"][0]["offered_per_second"] == measured["throughput"][-1]["per_second"]
    assert measured["arrivals"][0]["mean_ms"] > 0
    operations = measured["scale"]["operations"]
    assert set(operations) == {"read", "update", "create", "delete", "list", "live_list"}
    for by_size in operations.values():
        assert list(by_size) == ["40", "120"]
        assert by_size["40"]["growth"] == 1
        ratio = by_size["120"]["median_ms"] / by_size["40"]["median_ms"]
        assert by_size["120"]["growth"] == pytest.approx(ratio, rel=0.02)
    assert [each["entries"] for each in measured["scale"]["filled"]] == [40, 120]
    assert (measured["replicas"], measured["is_durable"]) == (1, False)
    ElementTree.parse(shell.folder / "drawn.svg")
    assert [path.name for path in shell.folder.iterdir() if path.suffix] == ["drawn.svg"]


def test_what_is_less_than_it_must_be_is_marked(capsys: pytest.CaptureFixture[str]) -> None:
    """Who looks for oneself reads no JSON, and must not look for the one bad figure among fifty."""
    load = {"runs": 64, "processes": 1, "mix": "mixed", "mean_ms": 1.0, "cpu_us": 1.0, "raw_cpu_us": 1.0}
    load |= {"per_second": 8000.0, "raw_per_second": 10000.0}
    figure = {"median_ms": 1.0, "p99_ms": 2.0}
    for ratio, growth, marks in ((0.86, 1.19, 0), (0.84, 1.21, 1)):
        draw_loads({"throughput": [load | {"ratio": ratio}], "arrivals": []})
        shown = capsys.readouterr()
        assert (shown.out.count(" under"), shown.err.count("under:")) == (marks, marks)
        by_size = {"1000": figure | {"growth": 1.0}, "1000000": figure | {"growth": growth}}
        filled = {"entries": 1000, "per_second": 10.0, "bytes_of_an_entry": 500.0}
        draw_growth({"scale": {"operations": {"read": by_size}, "filled": [filled]}})
        shown = capsys.readouterr()
        assert (shown.out.count(" over"), shown.err.count("over:")) == (marks, marks)


def test_loads_are_told_in_good_order_and_language(capsys: pytest.CaptureFixture[str]) -> None:
    """Lines without a heading, the highest first and then from the lowest on, are read as a mistake."""
    load = {"processes": 1, "mean_ms": 1.0, "cpu_us": 1.0, "raw_cpu_us": 1.0, "ratio": 1.0}
    load |= {"per_second": 8000.0, "raw_per_second": 8000.0}
    arrivals = [
        {"offered_per_second": offered, "per_second": done, "mean_ms": 3.0}
        for offered, done in ((26_679.0, 7401.0), (370.0, 369.0), (1480.0, 1470.0))
    ]
    draw_loads({"throughput": [load | {"runs": 1, "mix": "mixed"}], "arrivals": arrivals})
    shown = capsys.readouterr()
    assert shown.err == ""
    rows = [line.split() for line in shown.out.splitlines()]
    assert rows[1][:6] == ["mixed,", "1", "run", "1", "8,000", "8,000"]
    assert rows[1][7] == "-", "no bound"
    assert " ".join(rows[2]) == "writes by chance, a second done ms each"
    assert [row[0] for row in rows[3:]] == ["370", "1,480", "26,679"]


def test_what_the_benchmark_always_measures_is_drawn_too(shell: Any) -> None:
    """A picture of half of it would be asked about."""
    quick = ("--rounds", "10", "--entries", "20", "--entry-size", "100")
    drawn = shell("bench", *quick, "--plot", "drawn.png")
    assert drawn.code == 0, drawn
    assert (shell.folder / "drawn.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    "where",
    [
        *(("--bucket", "team"), ("--prefix", "mine"), ("--directory", "."), ("--context", "prod")),
        *(("--server", "nats://nats.example"), ("--config", "jsmemory.yaml")),
    ],
)
def test_no_bucket_of_somebodys_is_filled(shell: Any, where: tuple[str, str]) -> None:
    """A million entries in a bucket in use are an operator's bad day."""
    refused = shell(*where, "bench", "--scale")
    assert (refused.code, refused.err.count("\n")) == (2, 1)
    assert f"Leave out {where[0]}" in refused.err


@pytest.mark.parametrize(
    "options",
    [
        *(("--scale", "--sizes", "many"), ("--scale", "--sizes", "0"), ("--scale", "--sizes", "10000001")),
        *(("--throughput", "--runs", "1,,2"), ("--throughput", "--processes", "65")),
    ],
)
def test_numbers_that_are_none_are_refused_before_anything_is_started(shell: Any, options: tuple[str, ...]) -> None:
    """A slip of the finger must not cost the minutes that the other numbers take."""
    refused = shell("bench", *options)
    assert (refused.code, refused.err.count("\n")) == (2, 1)
    assert options[1] in refused.err


@pytest.mark.parametrize(
    ("options", "flag"),
    [
        *((("--replicas", "3"), "--replicas"), (("--durable",), "--durable"), (("--sizes", "10"), "--sizes")),
        *((("--runs", "1"), "--runs"), (("--processes", "1"), "--processes"), (("--seconds", "1"), "--seconds")),
        *((("--scale", "--runs", "1"), "--runs"), (("--scale", "--size", "9"), "--size")),
        *((("--scale", "--entries", "9"), "--entries"), (("--scale", "--entry-size", "9"), "--entry-size")),
        *((("--throughput", "--rounds", "10"), "--rounds"), (("--throughput", "--sizes", "10"), "--sizes")),
    ],
)
def test_what_counts_for_nothing_is_refused(shell: Any, options: tuple[str, ...], flag: str) -> None:
    """Whoever asked for three replicas that sync would believe in figures of one that does not."""
    refused = shell("bench", *options)
    assert (refused.code, refused.out, refused.err.count("\n")) == (2, b"", 1)
    assert f"Leave out {flag}." in refused.err


def test_the_help_tells_how_large_the_entries_of_a_large_bucket_are(shell: Any) -> None:
    """Whoever fills a million of them looks for the room on the disk first."""
    helped = " ".join(shell("bench", "--help").out.decode().split())
    assert f"Their contents have {SIZE} bytes" in helped


def test_a_picture_that_cannot_be_drawn_is_refused_first(shell: Any) -> None:
    """Ten minutes of measuring would end in nothing."""
    refused = shell("bench", "--plot", "drawn.txt")
    assert (refused.code, refused.err.count("\n")) == (2, 1)
    assert ".svg" in refused.err
    refused = shell("bench", "--plot", "nowhere/drawn.svg")
    assert (refused.code, refused.err.count("\n")) == (5, 1)
    assert "--plot" in refused.err
    (shell.folder / "matplotlib.py").write_text("raise ImportError")
    refused = shell("bench", "--plot", "drawn.svg", environment={"PYTHONPATH": str(shell.folder)})
    assert (refused.code, refused.err.count("\n")) == (5, 1)
    assert "pip install 'jsmemory[plot]'" in refused.err


def test_a_worker_that_fails_says_why(nats_server: NatsServer) -> None:
    """A figure from half of the workers would be believed."""
    with pytest.raises(BackendUnavailableError, match=r"worker of the measurement failed.*bucket"):
        asyncio.run(measure_throughput([nats_server.url], "there-is-none", [Load(1, 2)], seconds=0.1))
