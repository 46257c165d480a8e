"""``jsmemory bench``: what an operation costs over the plain request under it, and a tool over its operation."""

import secrets
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer
from rich.table import Table

import jsmemory
from jsmemory import MAX_CONTENT_BYTES, MAX_ENTRIES
from jsmemory.cli import screen
from jsmemory.cli.choosing import CONNECT_S, choose
from jsmemory.cli.exits import UsageRefused
from jsmemory.cli.options import Choice
from jsmemory.cli.waiting import wait_for

if TYPE_CHECKING:
    from jsmemory.testing.measuring import BucketMeasured, Comparison, Replayed, Report

EXAMPLES: Final = (
    "jsmemory bench",
    "jsmemory bench --rounds 200 --json",
    "jsmemory bench -s nats://nats.example:4222 -b team",
)

_BUCKET: Final = "bench"
_FILE_ROUNDS: Final = 200


def measure(
    choice: Choice,
    rounds: Annotated[int, typer.Option(min=10, max=100_000, help="How often each call is timed.")] = 1000,
    size: Annotated[int, typer.Option(min=1, max=MAX_CONTENT_BYTES, help="Bytes of a content.")] = 4096,
    entries: Annotated[int, typer.Option(min=1, max=MAX_ENTRIES, help="How many entries are listed.")] = MAX_ENTRIES,
    entry_size: Annotated[
        int, typer.Option(min=1, max=MAX_CONTENT_BYTES, help="Bytes of the content of each.")
    ] = MAX_CONTENT_BYTES,
) -> None:
    """
    Time each operation against the raw NATS request on the same subject and connection.

    Store calls and raw requests take turns, so that the ratio holds on a noisy machine. A
    listing is held against the same consumer with bodies, a file against write, fsync and
    rename, a call of a memory tool against the store call that it makes, and a journal of
    100,000 records is replayed. Without a bucket it runs on a server of its own. In a bucket it
    uses an unused prefix (--prefix, or a random one) and removes what it stored. A delete looks
    before it removes, so it is two requests against one.
    """
    prefix = f"bench-{secrets.token_hex(6)}" if choice.prefix is None else choice.prefix
    if not prefix:
        raise UsageRefused("The whole bucket is no place to measure in. Name a prefix that nobody uses: --prefix NAME.")
    with _progress() as report:
        bucket, files, replayed = wait_for(
            _measure(choice, prefix, report, rounds=rounds, size=size, entries=entries, entry_size=entry_size)
        )
    operations = {**bucket.operations, "file_create": files}
    if choice.as_json:
        screen.put_json(
            {
                "operations": {name: asdict(measured) for name, measured in operations.items()},
                "tools": {name: asdict(measured) for name, measured in bucket.tools.items()},
                "replay": asdict(replayed),
                "server_version": bucket.server_version,
                "replicas": bucket.replicas,
            }
        )
    else:
        _draw(operations, bucket, replayed)


async def _measure(
    choice: Choice, prefix: str, report: "Report", *, rounds: int, size: int, entries: int, entry_size: int
) -> "tuple[BucketMeasured, Comparison, Replayed]":
    from jsmemory.testing.measuring import measure_bucket, measure_files, measure_replay

    async with _place(choice) as (connection, bucket):
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
async def _place(choice: Choice) -> AsyncIterator[tuple[Any, str]]:
    """A connection and a bucket: those that were chosen, or of a server for this run."""
    from jsmemory.cli.embedded import embedded_bucket

    chosen = choose(choice.without_directory())
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

    screen.draw(_table(("operation", "raw ms"), operations, MUST_REACH))
    screen.draw(_table(("tool", "store ms"), bucket.tools, dict.fromkeys(bucket.tools, MAX_TOOL_RATIO)))
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
    for title in (titles[0], "median ms", "p99 ms", titles[1], "ratio", "at most"):
        table.add_column(title, justify="left" if title == titles[0] else "right")
    for name, measured in rows.items():
        bound = bounds.get(name)
        table.add_row(
            name,
            f"{measured.median_ms:.3f}",
            f"{measured.p99_ms:.3f}",
            f"{measured.raw_median_ms:.3f}",
            f"{measured.ratio:.2f}",
            "" if bound is None else f"{bound:.2f}",
            style="red" if bound is not None and measured.ratio > bound else "",
        )
    return table
