"""Records that lost a part since they were kept: what is left breaks no guarantee, and proves none."""

import asyncio
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from jsmemory.testing.torture import CAMPAIGN, CRASHES, Settings, crash_everywhere, examine, examine_kept, run


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a short torture of files keeps, workers that were killed among it."""
    folder = tmp_path_factory.mktemp("kept")
    for part in (CRASHES, CAMPAIGN):
        (folder / part).mkdir()
    asyncio.run(crash_everywhere(folder / CRASHES, rounds=1))
    faults = frozenset({"worker killed"})
    asyncio.run(run(Settings(seconds=1.5, seed=2, backend="file", workers=2, faults=faults), folder / CAMPAIGN))
    return folder


@pytest.fixture
def copy(kept: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(kept, tmp_path / "copy"))


def test_what_is_all_there_lacks_nothing(kept: Path) -> None:
    """The innocent neighbour: of a worker that was killed there is no end, and all that there was."""
    reports = examine_kept(kept)
    assert {name: report.missing for name, report in reports.items()} == {CRASHES: (), CAMPAIGN: ()}
    assert all(report.is_good for report in reports.values())
    assert reports[CAMPAIGN].faults["worker killed"].count


def cut_in_half(file: Path) -> None:
    lines = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(b"".join(lines[: len(lines) // 2]))


@pytest.mark.parametrize("part", [CRASHES, CAMPAIGN])
@pytest.mark.parametrize("harm", [cut_in_half, Path.unlink], ids=["cut", "removed"])
def test_a_file_that_was_cut_or_lost_is_missed(copy: Path, part: str, harm: Callable[[Path], None]) -> None:
    """A disk that was full, or a copy that was stopped, would turn any campaign into a good one."""
    records = [file for file in (copy / part).glob("*.jsonl") if not file.name.startswith("sealed")]
    largest = max(records, key=lambda file: file.stat().st_size)
    harm(largest)
    report = examine_kept(copy)[part]
    assert f"lines, as in {largest.name}" in report.missing[-1]
    assert not report.is_good


def test_a_campaign_that_did_not_come_to_its_end_says_so(copy: Path) -> None:
    """It is written down last of all, so whatever else is lost, this is."""
    next((copy / CAMPAIGN).glob("sealed-*")).unlink()
    assert examine(copy / CAMPAIGN).missing == ("their end",)


@pytest.mark.parametrize(("gone", "left"), [(CRASHES, CAMPAIGN), (CAMPAIGN, CRASHES)])
def test_of_two_parts_neither_stands_for_both(copy: Path, gone: str, left: str) -> None:
    """Half of the proof, and the report of the whole."""
    shutil.rmtree(copy / gone)
    reports = examine_kept(copy)
    assert {name: report.missing for name, report in reports.items()} == {left: (f"the folder {gone}",)}
    # Who names a part means it.
    assert examine_kept(copy / left)[CAMPAIGN].missing == ()
