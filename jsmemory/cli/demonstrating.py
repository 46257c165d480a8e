"""``jsmemory demo``: the main job in one command, with two murders."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import msgspec
import typer
from rich.table import Table

import jsmemory
from jsmemory.cli import screen
from jsmemory.cli.exits import ExitCode, UsageRefused
from jsmemory.cli.options import Choice, takes
from jsmemory.cli.progressing import shown_on
from jsmemory.cli.waiting import wait_for, when_stopped

if TYPE_CHECKING:
    from jsmemory.cli.demo.fleet import Tally
    from jsmemory.cli.demo.show import Progressed, Shown

EXAMPLES: Final = ("jsmemory demo", "jsmemory demo ~/notes --workers 4", "jsmemory demo --json")

_WORKERS: Final = 8
_SHOWN_KEYS: Final = 5


@takes(
    "as_json", why="It keeps its notes on a server of its own; whose files it notes is an argument: jsmemory demo DIR."
)
def demonstrate(
    choice: Choice,
    folder: Annotated[
        Path | None, typer.Argument(metavar="[DIR]", help="Whose text files are noted; else jsmemory's own sources.")
    ] = None,
    workers: Annotated[int, typer.Option(min=1, max=64, help="How many processes work at a time.")] = _WORKERS,
) -> None:
    """
    Let a fleet of processes keep notes on a folder, kill two of them, and count what was lost.

    It runs a JetStream server of its own; nothing in the folder is written, and nothing is
    left behind. Worker processes share the text files: each file gets an entry, and all of
    them a line in one shared entry, the index. Two workers are killed with SIGKILL and
    replaced. One suspends its run and is killed after that: a new process resumes the run by
    its name, from a journal on the same server, and overwrites what it had read before it reads
    anything. At the end files, entries and index are compared. What is lost makes the exit code
    1. Links, binary files, and files beyond the first thousand are passed over, and folders that
    programs keep for themselves, as .git and __pycache__.
    """
    from jsmemory.cli.demo.gathering import gather
    from jsmemory.cli.demo.show import show

    place = (folder or Path(jsmemory.__file__).parent).absolute()
    if not place.is_dir() or not os.access(place, os.R_OK | os.X_OK):
        raise UsageRefused(f"There is no folder {place} that can be read. Name another: jsmemory demo DIR.")
    gathered = gather(place)
    if not choice.as_json:
        what = "of jsmemory itself, in" if folder is None else "in"
        if not gathered.files:
            screen.talk(
                f"There is no text file {what} {place}, so there is nothing to show. Name another: jsmemory demo DIR."
            )
            return
        screen.talk(f"Keeping notes on {len(gathered.files)} files {what} {place}")
    with when_stopped(_before_the_end), _progress(len(gathered.files)) as on_progress:
        shown = wait_for(show(place, gathered, workers, on_progress))
    if choice.as_json:
        screen.put_json(_document(shown))
    else:
        _draw(shown)
    if not shown.is_good:
        if not choice.as_json:
            screen.talk(f"Lost: {', '.join(shown.lost[:_SHOWN_KEYS]) or 'the authority of a run'}. Please report it.")
        raise typer.Exit(ExitCode.REFUSED)


def _before_the_end(how: str) -> str:
    return f"{how} before the end: nothing was shown. Run it again."


@contextmanager
def _progress(files: int) -> Iterator["Progressed"]:
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn("Keeping notes"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[conflicts]} conflicts, {task.fields[killed]} killed"),
        TimeElapsedColumn(),
    )
    with shown_on(columns, files, conflicts=0, killed=0) as show:

        def on_progress(tally: "Tally") -> None:
            done = len(tally.kept | tally.unreadable)
            line = f"Keeping notes: {done:,} of {files:,}"
            show(line, completed=done, conflicts=tally.conflicts, killed=tally.killed)

        yield on_progress


def _document(shown: "Shown") -> dict[str, object]:
    document: dict[str, object] = msgspec.to_builtins(shown)
    return document | {"lost": len(shown.lost), "lost_keys": list(shown.lost)}


def _draw(shown: "Shown") -> None:
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column()
    table.add_column(justify="right")
    table.add_column()
    passed_over = ", ".join(f"{count} {why}" for why, count in sorted(shown.passed_over.items()))
    rows = [
        ("files", shown.files, f"passed over: {passed_over}" if passed_over else ""),
        ("entries", shown.entries, "one a file, and the index"),
        ("writes", shown.writes, f"by {shown.processes} processes, {shown.workers} at a time"),
        ("conflicts", shown.conflicts, "refused, and tried again"),
        ("killed", shown.killed, "with SIGKILL, and replaced"),
        ("handed over", shown.handed_over, "a run: suspended, killed, resumed by a new process"),
        ("lost updates", len(shown.lost), "counted from the index against the files"),
        ("time", f"{shown.seconds:.1f} s", ""),
    ]
    for name, value, note in rows:
        table.add_row(name, str(value), note)
    screen.draw(table)
    if shown.is_cut:
        screen.talk(
            f"The folder holds more files; the first {shown.files} were taken, so that the index fits an entry."
        )
    if shown.changed:
        screen.talk(f"{shown.changed} files changed meanwhile; their notes and lines were compared with each other.")
