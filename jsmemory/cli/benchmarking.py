"""``jsmemory bench``: what an operation costs over the plain request under it, and a tool over its operation."""

import secrets
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer
from rich.table import Table

import jsmemory
from jsmemory import MAX_CONTENT_BYTES, MAX_ENTRIES
from jsmemory.cli import growing, loading, screen
from jsmemory.cli.choosing import CONNECT_S, Chosen, check, choose
from jsmemory.cli.exits import SetupRefused, UsageRefused
from jsmemory.cli.numbers import numbers_in
from jsmemory.cli.options import Choice, takes
from jsmemory.cli.plotting import drawn_to
from jsmemory.cli.straining import Replicas, Strain, measure_strain, refuse_a_place, show_strain
from jsmemory.cli.waiting import wait_for

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
_OVER: Final = "over"


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
    rounds: Annotated[int, typer.Option(min=10, max=100_000, help="How often each call is timed.")] = 1000,
    size: Annotated[int, typer.Option(min=1, max=MAX_CONTENT_BYTES, help="Bytes of a content.")] = 4096,
    entries: Annotated[
        int, typer.Option(min=1, max=MAX_ENTRIES, help="How many entries are listed, and copied.")
    ] = MAX_ENTRIES,
    entry_size: Annotated[
        int, typer.Option(min=1, max=MAX_CONTENT_BYTES, help="Bytes of the content of each.")
    ] = MAX_CONTENT_BYTES,
    scale: Annotated[
        bool, typer.Option("--scale", help="Fill buckets, up to a million entries, and time operations in each.")
    ] = False,
    sizes: Annotated[
        str, typer.Option(metavar="N,N,...", help="With --scale: entries of the buckets.")
    ] = "1000,100000,1000000",
    throughput: Annotated[
        bool, typer.Option("--throughput", help="Count what many runs do in a second, beside nats-py alone.")
    ] = False,
    runs: Annotated[
        str, typer.Option(metavar="N,N,...", help="With --throughput: runs in one process.")
    ] = "1,8,64,512",
    processes: Annotated[
        str, typer.Option(metavar="N,N,...", help="With --throughput: processes of 64 runs.")
    ] = "1,2,4,8",
    seconds: Annotated[
        float, typer.Option(min=0.1, max=3600, help="With --throughput: how long each load is measured.")
    ] = 10.0,
    replicas: Annotated[
        Replicas, typer.Option(help="With --scale or --throughput: 3 runs a cluster of three servers.")
    ] = Replicas.ONE,
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

    Killed with SIGKILL it can remove nothing. What is left lies under PREFIX-a to PREFIX-f, and
    goes with: nats stream purge KV_BUCKET --subject='$KV.BUCKET.PREFIX-a.>' (then -b to -f).

    With --scale the same operations are timed in buckets of several sizes, side by side and in
    turns: none may take longer than 1.2 times what it takes in the smallest. A million entries
    take a minute to store, and 1 GB of disk for as long as it runs. With --throughput runs work
    all at the same time, in windows that take turns with nats-py doing the same by itself, with
    the same headers and values. Both run on servers of their own.
    """
    drawing = None if plot is None else drawn_to(plot)
    if scale or throughput:
        refuse_a_place(choice)
        strain = Strain(
            sizes=numbers_in(sizes, "--sizes", highest=growing.MOST_ENTRIES) if scale else (),
            runs=numbers_in(runs, "--runs", highest=loading.MOST_RUNS) if throughput else (),
            processes=numbers_in(processes, "--processes", highest=loading.MOST_PROCESSES) if throughput else (),
            rounds=rounds,
            seconds=seconds,
            size=size,
            replicas=replicas,
            is_durable=durable,
        )
        with _progress() as report:
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
    with _progress() as report:
        bucket, files, replayed = wait_for(
            _measure(choice, chosen, prefix, report, rounds=rounds, size=size, entries=entries, entry_size=entry_size)
        )
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
        _draw(operations, bucket, replayed)
    if drawing is not None:
        drawing.draw(document)


def _make(directory: Path) -> None:
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError:
        raise SetupRefused(
            f"The folder {directory} can be neither made nor used. Name another: --directory DIR."
        ) from None


async def _measure(
    choice: Choice,
    chosen: Chosen,
    prefix: str,
    report: "Report",
    *,
    rounds: int,
    size: int,
    entries: int,
    entry_size: int,
) -> "tuple[BucketMeasured, Comparison, Replayed]":
    from jsmemory.testing.measuring import measure_bucket, measure_files, measure_replay

    async with _place(choice, chosen) as (connection, bucket):
        measured = await measure_bucket(
            connection,
            bucket,
            prefix,
            rounds=rounds,
            size=size,
            entries=entries,
            entry_size=entry_size,
            report=report,
        )
    report("file_create", 0)
    files = await measure_files(choice.directory, rounds=min(rounds, _FILE_ROUNDS), size=size)
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


@contextmanager
def _progress() -> Iterator["Report"]:
    from rich.progress import BarColumn, Progress, TextColumn

    console = screen.talking_console()
    columns = (TextColumn("Measuring {task.description}"), BarColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task("", total=1.0)
        yield lambda operation, part: progress.update(task, description=operation, completed=part)


def _draw(operations: "Mapping[str, Comparison]", bucket: "BucketMeasured", replayed: "Replayed") -> None:
    from jsmemory.testing.measuring import (
        MAX_LISTING_WIRE_BYTES,
        MAX_REPLAY_S,
        MAX_TOOL_RATIO,
        MUST_REACH,
        ListingComparison,
    )

    bounds = {**MUST_REACH, **dict.fromkeys(bucket.tools, MAX_TOOL_RATIO)}
    screen.draw(_table(("operation", "raw ms"), operations, bounds))
    screen.draw(_table(("tool", "store ms"), bucket.tools, bounds))
    if any(_is_over(measured, bounds.get(name)) for name, measured in {**operations, **bucket.tools}.items()):
        screen.talk(
            f"{_OVER}: it took longer, against the plain request, than it may. On a busy machine, or with few "
            "--rounds, that happens by chance: measure again."
        )
    listed = operations["list"]
    if isinstance(listed, ListingComparison):
        screen.talk(
            f"A listing of {listed.entries} entries took {listed.wire_bytes:,} bytes on the wire, "
            f"of {MAX_LISTING_WIRE_BYTES:,} that a full store may."
        )
    screen.talk(
        f"A journal of {replayed.records:,} records was replayed in {replayed.seconds:.2f} s, "
        f"of {MAX_REPLAY_S:.2f} that it may take."
    )
    screen.talk(f"nats-server {bucket.server_version}, {bucket.replicas} replicas.")
    if not bucket.is_clean:
        screen.talk("The credentials may not purge: delete markers of the measured keys stay in the bucket.")


def _table(titles: tuple[str, str], rows: "Mapping[str, Comparison]", bounds: Mapping[str, float]) -> Table:
    """One against the other; `titles` are those of what is measured, and of what it is held against."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for title in (titles[0], "median ms", "p99 ms", titles[1], "ratio", "at most", ""):
        table.add_column(title, justify="left" if title in (titles[0], "") else "right")
    for name, measured in rows.items():
        bound = bounds.get(name)
        is_over = _is_over(measured, bound)
        table.add_row(
            name,
            f"{measured.median_ms:.3f}",
            f"{measured.p99_ms:.3f}",
            f"{measured.raw_median_ms:.3f}",
            f"{measured.ratio:.2f}",
            "" if bound is None else f"{bound:.2f}",
            _OVER if is_over else "",
            style="red" if is_over else "",
        )
    return table


def _is_over(measured: "Comparison", bound: float | None) -> bool:
    return bound is not None and measured.ratio > bound
