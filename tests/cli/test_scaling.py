"""The plan for a fleet, from a file of figures."""

import json
from pathlib import Path
from typing import Any

import pytest

MEASURED = Path(__file__).parents[2] / "ops" / "measured.json"


def test_a_plan_is_made_of_measured_figures(shell: Any) -> None:
    """A program that plans needs the numbers, a person the table; both have to be of one plan."""
    asked = ("scaling", "--measured", str(MEASURED), "--workers", "3000", "--writes-per-second", "400")
    planned = shell(*asked, "--views", "900", "--json").json
    assert planned["demand"]["reads_per_second"] == 800
    assert planned["plan"]["buckets_for_consumers"] == 2
    assert planned["plan"]["buckets"] >= 2
    assert len(planned["checked"]) == 4
    shown = shell(*asked, "--views", "900").out.decode()
    assert f"{planned['plan']['move']['entries']:,} entries" in shown
    assert f"{planned['checked'][0]['measured_ms']:.1f}" in shown


def test_rates_of_another_size_are_told(shell: Any) -> None:
    """Whoever plans for contents of 64 KiB by what 4 KiB took buys half of the servers."""
    asked = ("scaling", "--measured", str(MEASURED))
    as_measured = shell(*asked)
    assert (as_measured.err, as_measured.out.count(b"4,096 bytes")) == ("", 1)
    assert shell(*asked, "--json").json["remarks"] == []
    larger = shell(*asked, "--size", "65536")
    assert "bench --throughput --scale --size 65536" in larger.err
    assert shell(*asked, "--size", "65536", "--json").json["remarks"] == [larger.err.strip()]


def test_listings_are_shown_though_nobody_is_busy_with_them(shell: Any) -> None:
    """A thousand listings a second are not as cheap as one, whatever the share of the leader's time."""
    shown = [
        shell("scaling", "--measured", str(MEASURED), "--listings-per-second", listings).out.decode()
        for listings in ("1", "1000")
    ]
    first, second = (next(line for line in each.splitlines() if "work of listings" in line) for each in shown)
    assert first != second
    assert "1,000 of" in second


def test_one_is_one(shell: Any) -> None:
    """A table that says 1 entries is not trusted with larger numbers either."""
    shown = shell("scaling", "--measured", str(MEASURED), "--workers", "1", "--entries", "1").out.decode()
    assert "1 prefix, 1 entry, " in shown


def test_one_prefix_is_not_spread(shell: Any) -> None:
    """A dozen buckets for one worker would be made, and eleven of them stay empty."""
    refused = shell("scaling", "--measured", str(MEASURED), "--workers", "1", "--writes-per-second", "20000")
    assert (refused.code, refused.out, refused.err.count("\n")) == (2, b"", 1)
    assert "--workers" in refused.err
    assert "several prefixes" in refused.err


@pytest.mark.parametrize(
    ("text", "code"),
    [(None, 2), ("", 2), ("[]", 2), ("{", 2), ("[" * 100_000, 2), ('{"throughput": []}', 5), ("{}", 5)],
)
def test_a_file_that_holds_no_figures_is_told(shell: Any, text: str | None, code: int) -> None:
    """The output of another command is easily taken for that of the benchmark."""
    if text is not None:
        (shell.folder / "figures.json").write_text(text)
    refused = shell("scaling", "--measured", "figures.json")
    assert (refused.code, refused.err.count("\n")) == (code, 1)
    assert "--measured" in refused.err or "jsmemory bench" in refused.err


def test_what_is_never_done_has_no_number(shell: Any) -> None:
    """JSON has no infinity, and a reader that is strict would refuse the whole plan."""
    measured = json.loads(MEASURED.read_text())
    measured["arrivals"][3]["offered_per_second"] = measured["arrivals"][0]["offered_per_second"] - 1
    (shell.folder / "figures.json").write_text(json.dumps(measured))
    planned = shell("scaling", "--measured", "figures.json", "--json").json
    assert None in [each["predicted_ms"] for each in planned["checked"]]
