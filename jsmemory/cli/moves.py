"""What the commands that move entries share: a bar, a report, an exit code, and an end in good order."""

from collections.abc import Callable, Coroutine
from typing import Any, Final

import typer
from rich.table import Table
from rich.text import Text

from jsmemory import Moved, MovingReport, Outcome
from jsmemory.cli import screen
from jsmemory.cli.exits import ExitCode
from jsmemory.cli.options import Choice
from jsmemory.cli.progressing import Progressed, go_through

ENTRIES_LEFT: Final = "No entry is half written; run the same command again, and it goes on from there."
NOTHING_LEFT: Final = "There is no archive; run the same command again."

_CODES: Final = (
    (ExitCode.OUTCOME_UNKNOWN, (Outcome.UNKNOWN,)),
    (ExitCode.BACKEND, (Outcome.FAILED, Outcome.UNTRIED)),
    (ExitCode.REFUSED, (Outcome.REFUSED,)),
)


def move(words: str, left: str, work: Callable[[Progressed], Coroutine[Any, Any, MovingReport]]) -> MovingReport:
    """
    Move entries, and show how far it is.

    Args:
        words: What the bar says.
        left: What is left, and how to go on, where it is stopped.
        work: The moving, given whom to tell of its progress.

    Raises:
        CutShort: after Ctrl-C or SIGTERM.
    """
    return go_through(words, ("entry", "entries"), lambda: left, work)


def tell(choice: Choice, report: MovingReport) -> None:
    """
    Put out what came of each entry, and end with the code for it.

    Raises:
        typer.Exit: with the code, where it is not 0.
    """
    if choice.as_json:
        screen.put_json(
            {
                "dry_run": report.is_dry_run,
                "counts": {outcome.value: count for outcome, count in report.counts.items()},
                "entries": [_document(each) for each in report.moved],
            }
        )
    else:
        _put_lines(report)
        _sum_up(report)
    for code, outcomes in _CODES:
        if any(outcome in report.counts for outcome in outcomes):
            raise typer.Exit(code)


def _document(moved: Moved) -> dict[str, str]:
    return {
        "origin": moved.origin,
        "key": moved.key,
        "outcome": moved.outcome.value,
        "code": moved.code,
        "message": moved.reason,
    }


def _put_lines(report: MovingReport) -> None:
    """Whatever needs a word: what was not carried and why, and what has another name now; in a dry run all."""
    renamed = frozenset(report.renamed)
    rows = [
        (each.outcome.value, _legible(each.origin), each.reason or (f"as {each.key}" if each in renamed else ""))
        for each in report.moved
        if each.reason or each in renamed or report.is_dry_run
    ]
    if not screen.is_terminal():
        screen.put("".join("\t".join(row) + "\n" for row in rows))
    elif rows:
        table = Table(box=None, pad_edge=False, show_header=False)
        for row in rows:
            table.add_row(*map(Text, row))
        screen.draw(table)


def _sum_up(report: MovingReport) -> None:
    if not report.moved:
        screen.talk("The source holds no entries, and nothing is ever deleted.")
        return
    counted = ", ".join(f"{count} {outcome.value}" for outcome, count in report.counts.items())
    screen.talk(f"{'It would come to' if report.is_dry_run else 'Done'}: {counted}.")
    if report.renamed:
        screen.talk("A name that is no key became one: the same each time, whatever lies beside the file.")
    if Outcome.UNTRIED in report.counts:
        screen.talk("It was given up, since too many failed one after the other. See to the stores, and run it again.")


def _legible(origin: str) -> str:
    # Not every name of a file is text.
    return screen.one_line(origin.encode(errors="backslashreplace").decode())
