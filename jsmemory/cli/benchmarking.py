"""``jsmemory bench``: what an operation costs over the plain request under it, and a tool over its operation."""

import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

import jsmemory
from jsmemory import MAX_CONTENT_BYTES, MAX_ENTRIES
from jsmemory.cli import growing, loading, screen
from jsmemory.cli.choosing import CONNECT_S, Chosen, check, choose
from jsmemory.cli.comparing import draw_comparisons
from jsmemory.cli.exits import SetupRefused, UsageRefused
from jsmemory.cli.numbers import numbers_in
from jsmemory.cli.options import Choice, takes
from jsmemory.cli.plotting import drawn_to
from jsmemory.cli.progressing import shown_by_parts
from jsmemory.cli.straining import Strain, measure_strain, refuse_a_place, show_strain
from jsmemory.cli.tuning import USUAL, Mode, Replicas, Tuning, tuned
from jsmemory.cli.waiting import wait_for, when_stopped

if TYPE_CHECKING:
    from jsmemory.testing.measuring import BucketMeasured, Comparison, Replayed, Report

EXAMPLES: Final = (
    "jsmemory bench",
    "jsmemory bench --rounds 200 --json",
    "jsmemory bench -s nats://nats.example:4222 -b team",
    "jsmemory bench --throughput --plot throughput.svg",
    "jsmemory bench --scale --sizes 1000,1000000",
)

_BUCKET: Final = "bench"
_FILE_ROUNDS: Final = 200
_WORDS: Final = "Measuring"


@takes(
    "bucket",
    "prefix",
    "directory",
    "config",
    "context",
    "server",
    "as_json",
    why="It writes what it measures, in a bucket and in files, and removes it; see --bucket, --prefix and --directory.",
)
def measure(
    choice: Choice,
    rounds: Annotated[
        int | None,
        typer.Option(min=10, max=100_000, show_default=str(USUAL.rounds), help="How often each call is timed."),
    ] = None,
    size: Annotated[
        int | None,
        typer.Option(
            min=1, max=MAX_CONTENT_BYTES, show_default=str(USUAL.size), help="Bytes of a content; --scale has its own."
        ),
    ] = None,
    entries: Annotated[
        int | None,
        typer.Option(
            min=1, max=MAX_ENTRIES, show_default=str(USUAL.entries), help="How many entries are listed, and copied."
        ),
    ] = None,
    entry_size: Annotated[
        int | None,
        typer.Option(
            min=1, max=MAX_CONTENT_BYTES, show_default=str(USUAL.entry_size), help="Bytes of the content of each."
        ),
    ] = None,
    scale: Annotated[
        bool, typer.Option("--scale", help="Fill buckets, up to a million entries, and time operations in each.")
    ] = False,
    sizes: Annotated[
        str | None,
        typer.Option(metavar="N,N,...", show_default=USUAL.sizes, help="With --scale: entries of the buckets."),
    ] = None,
    throughput: Annotated[
        bool, typer.Option("--throughput", help="Count what many runs do in a second, beside nats-py alone.")
    ] = False,
    runs: Annotated[
        str | None,
        typer.Option(metavar="N,N,...", show_default=USUAL.runs, help="With --throughput: runs in one process."),
    ] = None,
    processes: Annotated[
        str | None,
        typer.Option(metavar="N,N,...", show_default=USUAL.processes, help="With --throughput: processes of 64 runs."),
    ] = None,
    seconds: Annotated[
        float | None,
        typer.Option(
            min=0.1,
            max=3600,
            show_default=str(USUAL.seconds),
            help="With --throughput: how long each load is measured.",
        ),
    ] = None,
    replicas: Annotated[
        Replicas | None,
        typer.Option(
            show_default=USUAL.replicas, help="With --scale or --throughput: 3 runs a cluster of three servers."
        ),
    ] = None,
    durable: Annotated[
        bool, typer.Option("--durable", help="With --scale or --throughput: servers that sync before they acknowledge.")
    ] = False,
    plot: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Draw what was measured: an .svg, a .png or a .pdf.")
    ] = None,
) -> None:
    """
    Time each operation against the raw NATS request on the same subject and connection.

    Store calls and raw requests take turns, so that the ratio holds on a noisy machine. A
    listing is held against the same consumer with bodies, that of a live view against one
    request, a copy of what is listed against reading and writing it, a file against write,
    fsync and rename, a call of a memory tool against the store call that it makes, and a
    journal of 100,000 records is replayed. Without a bucket it runs on a server of its own. In
    a bucket it uses an unused prefix (--prefix, or a random one: bench-...) and removes what it
    stored, also when it is stopped. A delete looks before it removes, so it is two requests
    against one.

    A tool may take a tenth more than its store call: with 4 KiB of ASCII in a bucket, which is
    what is measured. It shows what it read as JSON, which costs by the byte: to read 64 KiB takes
    up to 1.3 times as long as the store does, 1.8 in other scripts, and 2.1 on files.

    Killed with SIGKILL it can remove nothing. What is left lies under PREFIX-a to PREFIX-f, and
    goes with: nats stream purge KV_BUCKET --subject='$KV.BUCKET.PREFIX-a.>' (then -b to -f).

    With --scale the same operations are timed in buckets of several sizes, side by side and in
    turns: none may take longer than 1.2 times what it takes in the smallest. Their contents have
    256 bytes, so that a million are a matter of the bucket and not of the disk: on two processors
    they take a quarter of a minute to store, and 0.5 GB on each server for as long as it runs. With
    --throughput runs work all at the same time, in windows that take turns with nats-py doing the
    same by itself, with the same headers and values. Both run on servers of their own.
    """
    modes = [mode for mode, is_asked in ((Mode.SCALE, scale), (Mode.THROUGHPUT, throughput)) if is_asked]
    tuning = tuned(
        modes or (Mode.OPERATIONS,),
        rounds=rounds,
        size=size,
        entries=entries,
        entry_size=entry_size,
        sizes=sizes,
        runs=runs,
        processes=processes,
        seconds=seconds,
        replicas=replicas,
        durable=durable or None,
    )
    drawing = None if plot is None else drawn_to(plot)
    if scale or throughput:
        refuse_a_place(choice)
        strain = Strain(
            sizes=numbers_in(tuning.sizes, "--sizes", highest=growing.MOST_ENTRIES) if scale else (),
            runs=numbers_in(tuning.runs, "--runs", highest=loading.MOST_RUNS) if throughput else (),
            processes=numbers_in(tuning.processes, "--processes", highest=loading.MOST_PROCESSES) if throughput else (),
            rounds=tuning.rounds,
            seconds=tuning.seconds,
            size=tuning.size,
            replicas=tuning.replicas,
            is_durable=tuning.durable,
        )
        with when_stopped(_without_figures), shown_by_parts(_WORDS) as report:
            strained = wait_for(measure_strain(strain, report))
        show_strain(strained, as_json=choice.as_json)
        if drawing is not None:
            drawing.draw(strained)
        return
    prefix = f"bench-{secrets.token_hex(6)}" if choice.prefix is None else choice.prefix
    if not prefix:
        raise UsageRefused("The whole bucket is no place to measure in. Name a prefix that nobody uses: --prefix NAME.")
    chosen = choose(choice.without_directory())
    if chosen.is_jetstream:
        check(chosen, choice)
    if chosen.configuration.read_only:
        raise UsageRefused("The configuration is for reading only, and bench writes. Name another: --config FILE.")
    if choice.directory is not None:
        _make(choice.directory)
    with when_stopped(_without_figures), shown_by_parts(_WORDS) as report:
        bucket, files, replayed = wait_for(_measure(choice, chosen, prefix, report, tuning))
    operations = {**bucket.operations, "file_create": files}
    document = {
        "operations": {name: asdict(measured) for name, measured in operations.items()},
        "tools": {name: asdict(measured) for name, measured in bucket.tools.items()},
        "replay": asdict(replayed),
        "server_version": bucket.server_version,
        "replicas": bucket.replicas,
    }
    if choice.as_json:
        screen.put_json(document)
    else:
        draw_comparisons(operations, bucket, replayed, tuning)
    if drawing is not None:
        drawing.draw(document)


def _without_figures(how: str) -> str:
    return f"{how} before the end: there are no figures. Run it again for some."


def _make(directory: Path) -> None:
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError:
        raise SetupRefused(
            f"The folder {directory} can be neither made nor used. Name another: --directory DIR."
        ) from None


async def _measure(
    choice: Choice, chosen: Chosen, prefix: str, report: "Report", tuning: Tuning
) -> "tuple[BucketMeasured, Comparison, Replayed]":
    from jsmemory.testing.measuring import measure_bucket, measure_files, measure_replay

    async with _place(choice, chosen) as (connection, bucket):
        measured = await measure_bucket(
            connection,
            bucket,
            prefix,
            rounds=tuning.rounds,
            size=tuning.size,
            entries=tuning.entries,
            entry_size=tuning.entry_size,
            report=report,
        )
    report("file_create", 0)
    files = await measure_files(choice.directory, rounds=min(tuning.rounds, _FILE_ROUNDS), size=tuning.size)
    report("replay", 0)
    return measured, files, await measure_replay(choice.directory)


@asynccontextmanager
async def _place(choice: Choice, chosen: Chosen) -> AsyncIterator[tuple[Any, str]]:
    """A connection and a bucket: those that were chosen, or of a server for this run."""
    from jsmemory.cli.embedded import embedded_bucket

    if chosen.is_jetstream and chosen.bucket is not None:
        async with jsmemory.connect(
            choice.context, choice.server, name="jsmemory bench", first_connect_timeout=CONNECT_S
        ) as nats:
            yield nats, chosen.bucket
        return
    async with (
        embedded_bucket(_BUCKET) as embedded,
        jsmemory.connect(servers=embedded.url, name="jsmemory bench") as nats,
    ):
        yield nats, _BUCKET
