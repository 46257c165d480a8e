"""
Records that are all there: the last thing that is written down says how many there are.

A worker that is killed writes no end. But whoever started it outlives it, and when all of them are
gone their files change no more: then the lines of each are counted, and the counts are written into
a file of their own.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final

from jsmemory.testing.torture.calls import History
from jsmemory.testing.torture.checking import check
from jsmemory.testing.torture.recording import Recorder, files_of, load, read
from jsmemory.testing.torture.records import Record, Sealed
from jsmemory.testing.torture.report import Report

CRASHES: Final = "crashes"
CAMPAIGN: Final = "campaign"
"""The folders of what a torture keeps: a campaign on files has the first of them beside it."""

_SEAL: Final = "sealed"


def seal(folder: Path) -> None:
    """Write down how many lines each file has, when nobody writes any more: what is lost later is missed."""
    recorder = Recorder(folder, _SEAL)
    recorder.write(Sealed(_counts(folder)))
    recorder.close()


def examine(records: Path) -> Report:
    """
    Check the records of a campaign, and sum up.

    Raises:
        InvalidOptionsError: there are none in that folder, or they cannot be read.
    """
    loaded = load(records)
    history = History.of(loaded)
    return Report.of(history, check(history), lacking=_lacking(records, loaded))


def examine_kept(folder: Path) -> dict[str, Report]:
    """
    Check all that a torture has kept in a folder; or what is in one of its parts.

    Returns:
        What each part comes to, by its name. Of two parts that belong together, one that is there
        lacks the one that is not.

    Raises:
        InvalidOptionsError: there are no records, or they cannot be read.
    """
    reports = {name: examine(folder / name) for name in (CRASHES, CAMPAIGN) if (folder / name).is_dir()}
    if not reports:
        return {CAMPAIGN: examine(folder)}
    (name, report), *others = reports.items()
    if not others and report.settings is not None and report.settings.backend == "file":
        other = CAMPAIGN if name == CRASHES else CRASHES
        reports[name] = replace(report, missing=(*report.missing, f"the folder {other}"))
    return reports


def _lacking(folder: Path, records: Iterable[Record]) -> Iterator[str]:
    seals = [record for record in records if isinstance(record, Sealed)]
    if not seals:
        yield "their end"
        return
    counted, there = seals[-1].lines, _counts(folder)
    lost = {name: count - there.get(name, 0) for name, count in counted.items() if there.get(name, 0) < count}
    if lost:
        yield f"{sum(lost.values()):,} of {sum(counted.values()):,} lines, as in {next(iter(lost))}"


def _counts(folder: Path) -> dict[str, int]:
    return {file.name: read(file).count(b"\n") for file in files_of(folder) if not file.name.startswith(_SEAL)}
