"""ops/scaling.md: its plans are what the command prints, and its words fit them."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from jsmemory.testing.scaling import (
    BUSY_AT_MOST,
    CATCH_UP_S,
    CONSUMERS_OF_A_STREAM,
    NETWORK_BYTES_PER_S,
    Demand,
    Figures,
    plan_for,
    predict_arrivals,
)

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "ops" / "scaling.md").read_text()

FIGURES = Figures.of(json.loads((ROOT / "ops" / "measured.json").read_text()))

PLANS = re.findall(r"^ {4}\$ jsmemory (scaling .*)\n((?: {4}.*\n|\n(?= {4}))*)", PAGE, flags=re.MULTILINE)


def run(*arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "jsmemory.cli", *arguments],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**os.environ, "COLUMNS": "1000"},
        timeout=60,
    )


def test_there_are_plans_on_the_page() -> None:
    """A page whose form has changed would pass the test below without a single figure."""
    assert len(PLANS) == 2


@pytest.mark.parametrize(("line", "shown"), PLANS)
def test_every_figure_is_what_the_command_prints(line: str, shown: str) -> None:
    """Whoever buys servers by the page must get what the code would tell today."""
    printed = run(*line.split())
    assert printed.returncode == 0, printed.stderr
    lines = [row.removeprefix("    ").rstrip() for row in shown.splitlines()]
    assert lines == [row.rstrip() for row in printed.stdout.splitlines()]


def test_the_page_names_the_limits_that_the_plan_keeps() -> None:
    """A reader who counts with other limits comes to another number of buckets."""
    assert f"busy for {BUSY_AT_MOST:.0%}".replace("%", " %") in PAGE
    assert f"a stream {CONSUMERS_OF_A_STREAM:,} at once" in PAGE
    assert f"At {NETWORK_BYTES_PER_S / 1e6:.0f} MB a second" in PAGE
    assert f"no more than {CATCH_UP_S / 60:.0f} minutes" in PAGE


def test_views_of_prefixes_of_their_own_take_as_many_buckets_as_the_page_says() -> None:
    """A view is of one prefix: who plans with one view for many prefixes is told otherwise by the server."""
    told = re.search(r"([\d,]+) workers with a view each would take (\d+) buckets", " ".join(PAGE.split()))
    assert told is not None
    workers = int(told[1].replace(",", ""))
    planned = plan_for(Demand(workers=workers, writes_per_second=200, reads_per_second=400, views=workers), FIGURES)
    assert planned.buckets_for_consumers == planned.buckets == int(told[2])
    for line, _ in PLANS:
        asked = dict(re.findall(r"--(workers|views) (\d+)", line))
        assert int(asked.get("views", 0)) <= int(asked["workers"]), "no more than one view for each prefix"


def test_what_came_in_was_done_as_far_as_the_page_says() -> None:
    """A page that praises its own figures is believed, and they are measured anew now and then."""
    assert f"up to {BUSY_AT_MOST:.0%} what".replace("%", " %") in PAGE
    for each in predict_arrivals(FIGURES):
        assert each.utilisation > BUSY_AT_MOST + 0.01 or each.done_per_second > 0.97 * each.per_second, each


def test_lines_are_no_longer_than_a_screen() -> None:
    """A page is read where it lies, with whatever shows text."""
    printed = {line for _, shown in PLANS for line in shown.splitlines()}
    assert [line for line in PAGE.splitlines() if len(line) > 120 and line not in printed and "$ " not in line] == []


def test_the_page_is_found_from_the_readme_and_from_the_help() -> None:
    """Whoever installed the package has no folder ops/, and must hear where it is."""
    assert "`jsmemory scaling`" in (ROOT / "README.md").read_text()
    helped = " ".join(run("scaling", "--help").stdout.split())
    assert "ops/scaling.md of the repository" in helped


def test_the_other_lines_are_understood() -> None:
    """An option that was renamed is found out by whoever has waited for ten minutes."""
    for verb in ("bench", "scaling", "copy", "provision"):
        options = {
            option
            for line in PAGE.splitlines()
            if f"jsmemory {verb}" in line
            for option in re.findall(r"--[a-z-]+", line)
        }
        shown = run(verb, "--help").stdout
        assert {option for option in options if option not in shown} == set(), verb
