"""``jsmemory scaling``: how many buckets a fleet needs, worked out from measured figures."""

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer
from rich.table import Table

from jsmemory import MAX_CONTENT_BYTES, MAX_ENTRIES, InvalidOptionsError
from jsmemory.cli import screen
from jsmemory.cli.exits import SetupRefused, UsageRefused
from jsmemory.cli.numbers import counted
from jsmemory.cli.options import Choice, takes

if TYPE_CHECKING:
    from jsmemory.testing.scaling import Demand, Figures, Plan, Predicted

EXAMPLES: Final = (
    "jsmemory bench --throughput --scale --replicas 3 --durable --json >measured.json",
    "jsmemory scaling --measured measured.json --workers 2000 --writes-per-second 500",
)

_MAX_BYTES: Final = 1_048_576
"""More than a measurement has; a wrong file is not read to its end."""


@takes("as_json", why="It works out a plan from figures, and looks at no store.")
def plan(
    choice: Choice,
    measured: Annotated[
        Path, typer.Option(metavar="FILE", help="What jsmemory bench --throughput --scale --json says.")
    ],
    workers: Annotated[
        int, typer.Option(min=1, max=10**9, help="How many, each with a prefix; agents that share one are one worker.")
    ] = 1000,
    writes_per_second: Annotated[float, typer.Option(min=0, max=1e9, help="Of all workers together.")] = 100.0,
    reads_per_second: Annotated[
        float | None,
        typer.Option(
            min=0, max=1e9, help="Of all together, listings of live views among them. Left out: twice the writes."
        ),
    ] = None,
    listings_per_second: Annotated[
        float,
        typer.Option(min=0, max=1e6, help="Of all together, save those of live views; a run begins with one."),
    ] = 1.0,
    views: Annotated[
        int, typer.Option(min=0, max=10**9, help="Live views that are open at once, each of one prefix.")
    ] = 0,
    entries: Annotated[int, typer.Option(min=1, max=MAX_ENTRIES, help="Of each worker.")] = 1000,
    size: Annotated[
        int | None,
        typer.Option(min=1, max=MAX_CONTENT_BYTES, help="Bytes of a content, on average. Left out: as was measured."),
    ] = None,
) -> None:
    """
    Work out how many buckets carry a fleet, how they fare, and what one bucket more costs.

    The figures are those of one bucket on the servers and the machine that were measured; the
    plan takes it that every bucket has servers like these for itself. What is taken for granted
    besides is written in ops/scaling.md of the repository, which an installed package lacks: the
    work of listings, and of telling live views of writes, is in no figure. At the end what was
    measured under chance load stands beside what is worked out for it: so far the plan is to be
    believed.
    """
    from jsmemory.testing.scaling import Demand, Figures, plan_for, predict_arrivals

    try:
        figures = Figures.of(_document(measured))
    except InvalidOptionsError as error:
        raise SetupRefused(f"The file {measured} {error.problem}. {error.remedy}", error.code) from None
    demand = Demand(
        workers=workers,
        writes_per_second=writes_per_second,
        reads_per_second=2 * writes_per_second if reads_per_second is None else reads_per_second,
        listings_per_second=listings_per_second,
        views=views,
        entries=entries,
        size=figures.size if size is None else size,
    )
    try:
        planned, checked = plan_for(demand, figures), predict_arrivals(figures)
    except InvalidOptionsError as error:
        raise UsageRefused(f"--{error.option} {error.problem}. {error.remedy}") from None
    remarks = list(_remarks(demand, figures))
    if choice.as_json:
        screen.put_json(
            {
                "demand": asdict(demand),
                "figures": asdict(figures),
                "plan": _finite(asdict(planned)),
                "checked": [_finite(asdict(each)) for each in checked],
                "remarks": remarks,
            }
        )
    else:
        screen.draw(_table(_lines(demand, figures, planned)))
        screen.draw(_check(checked))
        for remark in remarks:
            screen.talk(remark)


def _document(file: Path) -> dict[str, Any]:
    try:
        with file.open("rb") as opened:
            document = json.loads(opened.read(_MAX_BYTES + 1))
    except FileNotFoundError:
        raise UsageRefused(f"There is no file {file}. Name one that exists: --measured FILE.") from None
    except (OSError, ValueError, RecursionError):
        document = None
    if not isinstance(document, dict):
        raise UsageRefused(f"The file {file} cannot be read as JSON. Name another: --measured FILE.")
    return document


def _finite(numbers: Mapping[str, Any]) -> dict[str, Any]:
    # JSON has no infinity: where nothing is ever done, there is no number.
    return {
        name: None if isinstance(number, float) and not math.isfinite(number) else number
        for name, number in numbers.items()
    }


def _remarks(demand: "Demand", figures: "Figures") -> "Iterator[str]":
    if demand.size != figures.size:
        yield (
            f"The rates are those of contents of {figures.size:,} bytes, and not of {demand.size:,}: only the bytes "
            f"are counted with that. Measure it: jsmemory bench --throughput --scale --size {demand.size} --json"
        )


def _lines(demand: "Demand", figures: "Figures", planned: "Plan") -> "Iterator[tuple[str, str]]":
    yield (
        "one bucket was measured to take",
        f"{figures.writes_per_second:,.0f} writes or {figures.reads_per_second:,.0f} reads a second",
    )
    yield "with contents of", f"{figures.size:,} bytes"
    yield "a write, a read, where nothing else goes on", f"{figures.write_ms:.2f} ms, {figures.read_ms:.2f} ms"
    yield "one bucket would be busy with reads and writes", f"{planned.utilisation_of_one:.0%} of the time"
    yield (
        "work of listings beside that, counted nowhere",
        f"{planned.listing_work_s:,.2f} s in a second: {demand.listings_per_second:,g} of {figures.list_ms:.2f} ms",
    )
    yield "buckets for reads and writes", f"{planned.buckets_for_load:,}"
    yield "buckets for consumers of listings and views", f"{planned.buckets_for_consumers:,}"
    yield "buckets for bytes", f"{planned.buckets_for_bytes:,}"
    yield "buckets", f"{planned.buckets:,}"
    yield "workers of this kind that one bucket carries", f"{planned.workers_of_a_bucket:,}"
    yield "each is busy", f"{planned.utilisation:.0%} of the time"
    yield "a write then, a read", f"{planned.write_ms:.2f} ms, {planned.read_ms:.2f} ms"
    yield "consumers of a bucket at once", f"{planned.consumers:,.1f}"
    yield "each of its nodes keeps", f"{planned.bytes_of_a_node / 1e9:,.1f} GB"
    yield "processors of the workers for reads and writes", f"{planned.worker_processors:.2f}"
    move = planned.move
    moved = f"{counted(move.prefixes, 'prefix', 'prefixes')}, {counted(move.entries, 'entry', 'entries')}"
    yield "one bucket more moves", f"{moved}, {move.bytes / 1e9:,.1f} GB"
    yield "which takes", f"{move.seconds / 60:,.0f} min at {move.entries_per_second:,.0f} entries a second"


def _table(lines: "Iterator[tuple[str, str]]") -> Table:
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column()
    table.add_column(justify="right")
    for line in lines:
        table.add_row(*line)
    return table


def _check(checked: "list[Predicted]") -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for title in ("writes a second", "done", "busy", "worked out ms", "measured ms"):
        table.add_column(title, justify="right")
    for each in checked:
        table.add_row(
            f"{each.per_second:,.0f}",
            f"{each.done_per_second:,.0f}",
            f"{each.utilisation:.0%}",
            f"{each.predicted_ms:.1f}",
            f"{each.measured_ms:.1f}",
        )
    return table
