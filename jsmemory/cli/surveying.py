"""``jsmemory runs``: what runs a journal holds, and what they do."""

import time
from typing import Final

from rich.table import Table
from rich.text import Text

from jsmemory import RunLine
from jsmemory.cli import screen
from jsmemory.cli.journaling import DEFAULT_JOURNAL, JournalOption, chosen_journal
from jsmemory.cli.options import Choice
from jsmemory.cli.waiting import wait_for

EXAMPLES: Final = ("jsmemory runs", "jsmemory runs --journal runs --server nats://localhost:4222 --json")

UNREADABLE: Final = "unreadable"
_UNITS: Final = ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s"))


def survey(choice: Choice, journal: JournalOption = DEFAULT_JOURNAL) -> None:
    """
    List the runs of a journal: the name, what each does, and how long ago it last wrote.

    A run that is "running" belongs to a process, which may be dead. Where the output is not a
    terminal, a line holds the name, the status and the age, with tabs between.
    """
    now = time.time()
    runs = wait_for(_survey(choice, journal))
    ages = [max(0.0, now - run.updated) if run.status is not None else None for run in runs]
    if choice.as_json:
        listed = [
            {"run_id": run.run_id, "status": run.status or UNREADABLE, "age_s": None if age is None else round(age, 3)}
            for run, age in zip(runs, ages, strict=True)
        ]
        screen.put_json({"runs": listed})
        return
    rows = [(run.run_id, run.status or UNREADABLE, _words(age)) for run, age in zip(runs, ages, strict=True)]
    if not screen.is_terminal():
        screen.put("".join("\t".join(row) + "\n" for row in rows))
    elif rows:
        table = Table(box=None, pad_edge=False, show_header=False)
        for row in rows:
            table.add_row(*map(Text, row))
        screen.draw(table)
    else:
        screen.talk("The journal holds no runs. Start one with: jsmemory run --run-id NAME")


async def _survey(choice: Choice, journal: str) -> tuple[RunLine, ...]:
    async with chosen_journal(choice, journal) as records:
        return await records.runs()


def _words(age: float | None) -> str:
    if age is None:
        return "-"
    length, unit = next(((length, unit) for length, unit in _UNITS if age >= length), (1, "s"))
    return f"{int(age // length)} {unit}"
