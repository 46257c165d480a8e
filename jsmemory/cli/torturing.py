"""``jsmemory torture``: the guarantees, while everything fails that can."""

import secrets
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer
from rich.table import Table

from jsmemory.cli import screen
from jsmemory.cli.exits import ExitCode, SetupRefused, UsageRefused
from jsmemory.cli.options import Choice, takes
from jsmemory.cli.progressing import shown_on
from jsmemory.cli.waiting import wait_for, when_stopped

if TYPE_CHECKING:
    from jsmemory.testing.torture import Progressed, Report, Settings, Violation
    from jsmemory.testing.torture.records import Set

EXAMPLES: Final = (
    "jsmemory torture",
    "jsmemory torture --minutes 30 --seed 7 --keep records",
    "jsmemory torture --backend file",
    "jsmemory torture --check records",
)

_MOST_SERVERS: Final = 5
_BACKENDS: Final = ("jetstream", "file")
_SHOWN: Final = 10
_TITLES: Final = {"crashes": "Killed at each point of a write", "campaign": "The campaign"}


@takes("backend", "as_json", why="It runs servers and directories of its own; see --backend, --replicas and --keep.")
def torture(
    choice: Choice,
    minutes: Annotated[
        float, typer.Option(min=0.05, max=1440, help="How long the campaign lasts; parts of one are taken.")
    ] = 1.0,
    seed: Annotated[int | None, typer.Option(min=0, help="Repeat a campaign's plan. Left out: by lot.")] = None,
    replicas: Annotated[int, typer.Option(help="1, on one server; or 3, on a cluster.")] = 3,
    servers: Annotated[
        int | None, typer.Option(metavar="N", help="Of the cluster, 3 to 5. [default: as many as replicas]")
    ] = None,
    workers: Annotated[int, typer.Option(min=1, max=64, help="How many processes work at a time.")] = 4,
    keep: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Keep the records there; else only where one was broken.")
    ] = None,
    check: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Run nothing: check the records that --keep has kept.")
    ] = None,
) -> None:
    """
    Hold a store to its guarantees while servers, links, disks and processes fail, and report what was broken.

    Worker processes create, read, update, delete and list, with few keys so that they collide,
    and near the limit of entries. Meanwhile servers are killed, paused and cut off from each
    other, answers are swallowed, connections cut after a write was sent, the disk is full,
    workers are killed and resumed elsewhere, clocks jump, the bucket is deleted and made anew.
    Every call is written down. A checker looks for one order of the writes that explains all
    answers, and names each guarantee that none does.

    Where --servers are more than --replicas, replicas are removed and step in elsewhere, and a
    leader is cut off from its followers and from nobody else.

    With --backend file the processes share a directory; and before that a process is killed
    at each of more than a thousand points between two system calls of a write, which takes its
    own half a minute.

    The servers and directories are its own, and are removed. It ends with code 1 if a guarantee
    was broken, and then leaves the records where it says.
    """
    from jsmemory.testing.torture import Settings, examine_kept

    if check is not None:
        with when_stopped(_without_verdict):
            examined = examine_kept(check)
        _tell(examined, None, choice)
        return
    if replicas not in (1, 3):
        raise UsageRefused("A campaign runs on 1 replica or on 3. Choose one of them: --replicas 3.")
    if servers is not None and not (servers == replicas or (replicas == 3 and 3 <= servers <= _MOST_SERVERS)):
        raise UsageRefused(
            "A campaign runs on one server, or with 3 replicas on 3 to 5. Choose: --replicas 3 --servers 5."
        )
    backend = choice.backend or _BACKENDS[0]
    if backend not in _BACKENDS:
        raise UsageRefused(f"There is no torture for the backend {backend}. Choose --backend jetstream or file.")
    if servers is not None and backend == "file":
        raise UsageRefused("A campaign on files has no servers. Leave --servers out, or choose --backend jetstream.")
    records = _folder(keep)
    settings = Settings(
        seconds=minutes * 60,
        seed=secrets.randbelow(10**6) if seed is None else seed,
        backend="file" if backend == "file" else "jetstream",
        replicas=3 if replicas == 3 else 1,
        servers=servers,
        workers=workers,
    )
    if not choice.as_json:
        screen.talk(f"Torture of {backend} for {_minutes(minutes)}, with --seed {settings.seed}")
    try:
        with when_stopped(_without_verdict):
            reports, points = _run(records, settings)
    except BaseException:
        if keep is None:
            shutil.rmtree(records, ignore_errors=True)
        raise
    is_good = all(report.is_good for report in reports.values())
    if keep is None and is_good:
        shutil.rmtree(records, ignore_errors=True)
    elif not choice.as_json:
        screen.talk(f"The records are in {records}. Check them again with: jsmemory torture --check {records}")
    _tell(reports, points, choice)


def _without_verdict(how: str) -> str:
    return f"{how} before the end: there is no verdict. Run it again for one."


def _folder(keep: Path | None) -> Path:
    if keep is None:
        return Path(tempfile.mkdtemp(prefix="jsmemory-records-"))
    try:
        keep.mkdir(parents=True, exist_ok=True)
        is_empty = not any(keep.iterdir())
    except OSError:
        raise SetupRefused(f"The folder {keep} can be neither made nor used. Name another: --keep DIR.") from None
    if not is_empty:
        raise UsageRefused(f"The folder {keep} is not empty. Name a new one: --keep DIR.")
    return keep


def _run(records: Path, settings: "Settings") -> "tuple[dict[str, Report], Counter[str]]":
    from jsmemory.testing.torture import CAMPAIGN, CRASHES, crash_everywhere, examine, run

    reports: dict[str, Report] = {}
    points: Counter[str] = Counter()
    if settings.backend == "file":
        crashes = records / CRASHES
        crashes.mkdir()
        with _progress("Killing at each point", None) as progressed:
            points = wait_for(crash_everywhere(crashes, progressed=lambda count: progressed(count, "")))
        reports[CRASHES] = examine(crashes)
    campaign = records / CAMPAIGN
    campaign.mkdir()
    with _progress("Torturing", settings.seconds) as progressed:
        wait_for(run(settings, campaign, progressed))
    reports[CAMPAIGN] = examine(campaign)
    return reports, points


@contextmanager
def _progress(what: str, total: float | None) -> Iterator["Progressed"]:
    from rich.progress import BarColumn, TextColumn, TimeElapsedColumn

    columns = (TextColumn(what), BarColumn(), TimeElapsedColumn(), TextColumn("{task.fields[last]}"))
    with shown_on(columns, total, last="") as show:

        def progressed(done: float, last: str) -> None:
            line = f"{what}: {done:,.0f}" if total is None else f"{what}: {done:.0f} of {total:.0f} s; {last}"
            show(line, completed=done, last=last)

        yield progressed


# -- Telling ------------------------------------------------------------------------------------


def _tell(reports: "dict[str, Report]", points: Counter[str] | None, choice: Choice) -> None:
    is_good = all(report.is_good for report in reports.values())
    if choice.as_json:
        document = {name: _document(report) for name, report in reports.items()}
        counted = {} if points is None else {"crash_points": points.total()}
        screen.put_json({"good": is_good, **counted, **document})
    else:
        if points:
            screen.put(f"A process was killed at {points.total():,} points of a write.\n")
        for name, report in reports.items():
            if len(reports) > 1:
                screen.put(f"{_TITLES[name]}:\n")
            _draw(report)
    if not is_good:
        raise typer.Exit(ExitCode.REFUSED)


def _document(report: "Report") -> dict[str, Any]:
    return {
        "settings": None if report.settings is None else _settings(report.settings),
        "calls": report.calls,
        "outcomes": report.outcomes,
        "faults": {name: asdict(met) for name, met in report.faults.items()},
        "lost_acknowledgements": {
            **asdict(report.lost),
            "settled": report.lost.settled,
            "enough": report.lost.is_enough,
        },
        "cut_off": report.cut_off,
        "longest_gap": report.longest_gap,
        "stored": report.stored,
        "missing": list(report.missing),
        "undecided": list(report.checked.undecided),
        "violations": [_violation(each) for each in report.checked.violations],
    }


def _settings(settings: "Set") -> dict[str, Any]:
    return {
        "backend": settings.backend,
        "replicas": settings.replicas,
        "servers": settings.servers,
        "workers": settings.workers,
        "minutes": settings.seconds / 60,
        "seed": settings.seed,
    }


def _violation(violation: "Violation") -> dict[str, Any]:
    return {
        "guarantee": violation.guarantee,
        "promise": violation.guarantee.promise,
        "what": violation.what,
        "keyspace": violation.space,
        "key": violation.key,
        "history": [str(call) for call in violation.calls],
    }


def _draw(report: "Report") -> None:
    from jsmemory.testing.torture import MUST_SETTLE

    screen.draw(_table(("operation", "outcome", "calls"), _outcome_rows(report)))
    if report.faults:
        rows = [(name, str(met.count), f"{met.longest_gap:.1f}") for name, met in report.faults.items()]
        screen.draw(_table(("fault", "times", "longest without a write, s"), rows))
    lost = report.lost
    against = f", held against {report.stored:,} messages of the stream" if report.stored else ""
    lines = [f"{report.calls:,} calls{against}."]
    if lost.count:
        lines.append(
            f"{lost.count:,} writes lost their acknowledgement: {lost.landed:,} were found to have landed, "
            f"{lost.refused:,} not to have, {lost.unknown:,} stayed unknown, {lost.removed:,} went with the bucket; "
            f"{lost.settled:.2%} settled."
        )
    if not lost.is_enough:
        lines.append(f"Too many stayed unknown: of those whose bucket stayed, {MUST_SETTLE:.1%} have to be settled.")
    if report.cut_off:
        lines.append(f"{report.cut_off:,} calls were cut off with their workers.")
    if report.missing:
        lines.append(
            f"The records lack {', '.join(report.missing)}, and prove nothing without. "
            "Let a campaign come to its end with --keep DIR, and check that."
        )
    if report.checked.undecided:
        lines.append(f"Not decided, for too many orders: {', '.join(report.checked.undecided)}.")
    violations = report.checked.violations
    if violations:
        lines.append(f"Guarantees broken: {len(violations):,}.")
    elif report.is_good:
        lines.append("Every guarantee was kept.")
    lines += [str(each) for each in violations[:_SHOWN]]
    if len(violations) > _SHOWN:
        lines.append(f"and {len(violations) - _SHOWN:,} more; see all with --json.")
    screen.put("\n".join(map(screen.harmless, lines)) + "\n")


def _minutes(number: float) -> str:
    return f"{number:g} minute" if number == 1 else f"{number:g} minutes"


def _outcome_rows(report: "Report") -> list[tuple[str, str, str]]:
    return [
        (operation, outcome, f"{count:,}")
        for operation, counts in report.outcomes.items()
        for outcome, count in counts.items()
    ]


def _table(titles: tuple[str, ...], rows: list[tuple[str, ...]] | list[tuple[str, str, str]]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for number, title in enumerate(titles):
        table.add_column(title, justify="right" if number == len(titles) - 1 else "left")
    for row in rows:
        table.add_row(*map(screen.one_line, row))
    return table
