"""``jsmemory doctor``: whether memory is safe where it is, and what to do where it is not."""

import os
from typing import Annotated, Any, Final

import typer
from rich.table import Table
from rich.text import Text

import jsmemory
from jsmemory import Report, Verdict
from jsmemory.cli import screen
from jsmemory.cli.blaming import IDENTITY_VARIABLE
from jsmemory.cli.choosing import CONNECT_S, FILE, check, choose
from jsmemory.cli.exits import ExitCode, UsageRefused
from jsmemory.cli.options import Choice
from jsmemory.cli.waiting import wait_for

EXAMPLES: Final = (
    "jsmemory doctor --bucket team",
    "jsmemory doctor --bucket team --monitor http://n1:8222 --monitor http://n2:8222 --monitor http://n3:8222",
    "jsmemory doctor --bucket team --identity alice --write-probe --json",
    "jsmemory doctor --directory ./memory --prefix alice",
    "jsmemory doctor --bucket team --journal runs",
    "until jsmemory doctor --bucket team --only followers; do sleep 1; done",
)

CODES: Final = {
    Verdict.OK: ExitCode.OK,
    Verdict.ADVICE: ExitCode.OK,
    Verdict.WARNING: ExitCode.FINDINGS,
    Verdict.DENIED: ExitCode.BACKEND,
    Verdict.UNANSWERED: ExitCode.BACKEND,
    Verdict.FAULT: ExitCode.SETUP,
}
"""How the command ends when the worst check came out so."""

_STYLES: Final = {
    Verdict.OK: "green",
    Verdict.UNKNOWN: "dim",
    Verdict.ADVICE: "cyan",
    Verdict.WARNING: "yellow",
}
_WORST_STYLE: Final = "bold red"


def examine(
    choice: Choice,
    monitor: Annotated[
        list[str] | None,
        typer.Option("--monitor", metavar="URL", help="The monitoring page of a server; once for each of them."),
    ] = None,
    journal: Annotated[
        str | None, typer.Option("--journal", "-j", metavar="STREAM", help="The stream of a journal, as well or alone.")
    ] = None,
    thorough: Annotated[
        bool, typer.Option("--thorough", help="Go through everything that is stored, however much it is.")
    ] = False,
    write_probe: Annotated[
        bool, typer.Option("--write-probe", help="Write one entry, and delete it. Else nothing is written.")
    ] = False,
    only: Annotated[
        list[str] | None,
        typer.Option("--only", metavar="CHECK", help="Report this check and no other; more than once."),
    ] = None,
) -> None:
    """
    Look at everything that decides whether memory is safe; each finding comes with its cure.

    With --prefix or --identity the notes of one agent are looked at, and the rights that it
    needs; without, the bucket as its operator sees it. A large bucket is sampled. With --journal
    the stream is looked at in which runs are recorded; alone, where no store is named beside it.

    The exit code is that of the worst: 0 fine, or with advice only; 6 something to mend, and
    the store can be used; 3 a right is missing, or nobody answers; 5 memories are lost or refused.
    With --only it is that of the checks which are named, for scripts that wait for one of them.
    """
    if journal is not None and ("/" in journal or journal.startswith(".")):
        raise UsageRefused(f"A journal in files has nothing to look at, as {journal}. Name a stream: --journal STREAM.")
    report = wait_for(_all(choice, monitor or [], journal, thorough=thorough, write_probe=write_probe))
    if only:
        report = _narrowed(report, only)
    if choice.as_json:
        screen.put_json(_plain(report))
    else:
        _draw(report)
    if code := CODES[report.verdict]:
        raise typer.Exit(code)


def _narrowed(report: Report, only: list[str]) -> Report:
    names = [check.name for check in report.checks]
    for name in only:
        if name not in names:
            # Not made, as where there is no leader to ask: a script that waits for it has to go on waiting.
            raise UsageRefused(f"There was no check '{name}' to be made. These were: {', '.join(names)}.")
    return Report(report.backend, report.location, tuple(check for check in report.checks if check.name in only))


async def _all(
    choice: Choice, monitors: list[str], journal: str | None, *, thorough: bool, write_probe: bool
) -> Report:
    if journal is None:
        return await _examine(choice, monitors, thorough=thorough, write_probe=write_probe)
    is_alone = all(each is None for each in (choice.backend, choice.bucket, choice.prefix, choice.directory))
    if is_alone and (thorough or write_probe):
        raise UsageRefused(
            "A journal is not written to, and has no names to go through. Name a store, or leave it out."
        )
    about_store = None if is_alone else await _examine(choice, [], thorough=thorough, write_probe=write_probe)
    async with jsmemory.connect(
        choice.context, choice.server, name="jsmemory doctor", first_connect_timeout=CONNECT_S
    ) as nats:
        about_journal = await jsmemory.examine_journal(nats, journal, monitors=monitors)
    if about_store is None:
        return about_journal
    # What both tell of the server is told once, by the one that was given the monitoring pages.
    told = {check.name for check in about_journal.checks}
    own = (check for check in about_store.checks if check.name not in told)
    return Report(about_store.backend, about_store.location, (*own, *about_journal.checks))


async def _examine(choice: Choice, monitors: list[str], *, thorough: bool, write_probe: bool) -> Report:
    chosen = choose(choice)
    if chosen.configuration.enabled:
        # Memory that is turned off can be looked at all the same.
        check(chosen, choice)
    options = chosen.configuration.options
    how: dict[str, Any] = {
        "thorough": thorough,
        "read_only": chosen.configuration.read_only,
        "write_probe": write_probe,
    }
    if write_probe and chosen.configuration.read_only:
        raise UsageRefused("What is only read is not written to. Leave out --write-probe or --read-only.")
    prefix = options.get("prefix")
    if not isinstance(prefix, str):
        # An operator who names nobody means the bucket, and not the notes of whoever is called "default".
        prefix = choice.identity if choice.identity is not None else os.environ.get(IDENTITY_VARIABLE) or None
    if chosen.is_jetstream:
        async with jsmemory.connect(
            choice.context, choice.server, name="jsmemory doctor", first_connect_timeout=CONNECT_S
        ) as nats:
            api_prefix = options.get("api_prefix")
            return await jsmemory.examine_bucket(
                nats, chosen.bucket or "", prefix, monitors=monitors, api_prefix=api_prefix, **how
            )
    if chosen.configuration.backend not in (None, FILE):
        raise UsageRefused("Only buckets and directories can be examined. Name one: --bucket NAME, --directory DIR.")
    if monitors:
        raise UsageRefused("A directory has no servers to look at. Leave out --monitor.")
    return await jsmemory.examine_directory(chosen.directory, choice.who if prefix is None else prefix, **how)


def _draw(report: Report) -> None:
    if not screen.is_terminal():
        for check in report.checks:
            screen.put(f"{check.verdict}\t{check.name}\t{screen.one_line(check.said)}\n")
    else:
        table = Table(box=None, pad_edge=False, show_header=False)
        for check in report.checks:
            style = _STYLES.get(check.verdict, _WORST_STYLE)
            table.add_row(Text(check.verdict, style), Text(check.name), Text(screen.one_line(check.said)))
        screen.draw(table)
    for finding in report.findings:
        screen.put(f"\n{screen.one_line(finding.problem)}\n    {screen.one_line(finding.cure)}\n")
    if not report.findings:
        screen.talk("Nothing was found.")


def _plain(report: Report) -> dict[str, Any]:
    return {
        "backend": report.backend,
        "location": report.location,
        "verdict": report.verdict,
        "checks": [
            {
                "check": check.name,
                "verdict": check.verdict,
                "said": check.said,
                "findings": [
                    {"code": finding.code, "problem": finding.problem, "cure": finding.cure}
                    for finding in check.findings
                ],
            }
            for check in report.checks
        ],
    }
