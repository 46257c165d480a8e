"""``jsmemory runs``: what runs a journal holds, and what they do."""

import time
from contextlib import suppress
from typing import Final

from rich.table import Table
from rich.text import Text

from jsmemory import JournalCorruptError, RunLine, RunNotFoundError
from jsmemory.cli import screen
from jsmemory.cli.journaling import DEFAULT_JOURNAL, JournalOption, chosen_journal
from jsmemory.cli.options import Choice, takes
from jsmemory.cli.waiting import wait_for

EXAMPLES: Final = ("jsmemory runs", "jsmemory runs --journal runs --server nats://localhost:4222 --json")

UNREADABLE: Final = "unreadable"
_UNITS: Final = ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s"))


@takes("context", "server", "as_json", why="Runs are listed out of a journal, whatever store they use; see --journal.")
def survey(choice: Choice, journal: JournalOption = DEFAULT_JOURNAL) -> None:
    """
    List the runs of a journal: the name, what each does, and how long ago it last wrote.

    A run that is "running" belongs to a process, which may be dead. Where the output is not a
    terminal, a line holds the name, the status and the age, with tabs between; and that of a
    run that failed, the code of the error, where it had one.
    """
    now = time.time()
    runs, reasons = wait_for(_survey(choice, journal))
    ages = [max(0.0, now - run.updated) if run.status is not None else None for run in runs]
    if choice.as_json:
        listed = [
            {
                "run_id": run.run_id,
                "status": run.status or UNREADABLE,
                "age_s": None if age is None else round(age, 3),
                "reason": reasons.get(run.run_id),
            }
            for run, age in zip(runs, ages, strict=True)
        ]
        screen.put_json({"runs": listed})
        return
    rows = [
        (run.run_id, run.status or UNREADABLE, _words(age), *filter(None, [reasons.get(run.run_id)]))
        for run, age in zip(runs, ages, strict=True)
    ]
    if not screen.is_terminal():
        screen.put("".join("\t".join(row) + "\n" for row in rows))
    elif rows:
        table = Table(box=None, pad_edge=False, show_header=False)
        for row in rows:
            table.add_row(*map(Text, map(screen.one_line, row)))
        screen.draw(table)
    else:
        screen.talk("The journal holds no runs. Start one with: jsmemory run --run-id NAME")


async def _survey(choice: Choice, journal: str) -> tuple[tuple[RunLine, ...], dict[str, str]]:
    """The runs, and why those failed that did."""
    async with chosen_journal(choice, journal, is_made=False) as records:
        runs = await records.runs()
        reasons = {}
        for run in runs:
            if run.status == "failed":
                # Another process may have removed it meanwhile, or broken it; it was listed.
                with suppress(RunNotFoundError, JournalCorruptError):
                    reasons[run.run_id] = (await records.state(run.run_id)).reason
        return runs, {name: reason for name, reason in reasons.items() if reason}


def _words(age: float | None) -> str:
    if age is None:
        return "-"
    length, unit = next(((length, unit) for length, unit in _UNITS if age >= length), (1, "s"))
    return f"{int(age // length)} {unit}"
