"""ops/scaling.md: every figure in it is printed by a command."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from jsmemory.testing.scaling import BUSY_AT_MOST, CATCH_UP_S, CONSUMERS_OF_A_STREAM, NETWORK_BYTES_PER_S

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "ops" / "scaling.md").read_text()

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
