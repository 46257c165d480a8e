"""``jsmemory bench --throughput``: operations a second, of many runs in one process and of many processes."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

from rich.table import Table

from jsmemory.cli import screen
from jsmemory.cli.numbers import counted

if TYPE_CHECKING:
    from jsmemory.testing.measuring import Report
    from jsmemory.testing.measuring.throughput import Arrivals, Throughput

MOST_RUNS: Final = 4096
MOST_PROCESSES: Final = 64


async def measure_loads(
    servers: Sequence[str],
    bucket: str,
    report: "Report",
    *,
    runs: Sequence[int],
    processes: Sequence[int],
    seconds: float,
    size: int,
) -> dict[str, Any]:
    """The part of the document that says how much goes through."""
    from jsmemory.testing.measuring.throughput import MUST_REACH_RUNS, Load, measure_arrivals, measure_throughput

    # As many runs in one process may be among both.
    loads = list(dict.fromkeys([*map(Load, runs), *(Load(MUST_REACH_RUNS, each) for each in processes)]))
    # What one operation takes, and as many of one kind as there can be.
    loads += [Load(1, mix="reads"), Load(1, mix="writes")]
    loads += [Load(MUST_REACH_RUNS, max(processes), mix) for mix in ("reads", "writes")]
    measured = await measure_throughput(servers, bucket, loads, seconds=seconds, size=size, report=report)
    # Writes that follow upon each other: more than can be done of those that come by chance.
    most = measured[-1].per_second
    arrivals = await measure_arrivals(servers, bucket, most, seconds=seconds, size=size, report=report)
    return {"throughput": [asdict(each) for each in measured], "arrivals": [asdict(each) for each in arrivals]}


def draw_loads(document: Mapping[str, Any]) -> None:
    """The same as a table."""
    from jsmemory.testing.measuring.throughput import MIN_THROUGHPUT, Arrivals, Throughput

    measured = [Throughput(**each) for each in document["throughput"]]
    screen.draw(_table(measured, MIN_THROUGHPUT))
    if any(each.is_judged and each.ratio < MIN_THROUGHPUT for each in measured):
        screen.talk("under: less than it must be of what nats-py does. On a busy machine that happens by chance.")
    screen.draw(_arrivals(sorted((Arrivals(**each) for each in document["arrivals"]), key=_offered)))


def _offered(arrivals: "Arrivals") -> float:
    return arrivals.offered_per_second


def _arrivals(measured: "Sequence[Arrivals]") -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for title in ("writes by chance, a second", "done", "ms each"):
        table.add_column(title, justify="right")
    for each in measured:
        table.add_row(f"{each.offered_per_second:,.0f}", f"{each.per_second:,.0f}", f"{each.mean_ms:.1f}")
    return table


def _table(measured: "Sequence[Throughput]", bound: float) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for title in ("runs", "processes", "a second", "raw", "ratio", "at least", "ms each", "cpu us", "raw cpu us", ""):
        table.add_column(title, justify="left" if title == "" else "right")
    table.columns[0].header = "operations"
    for each in measured:
        is_under = each.is_judged and each.ratio < bound
        table.add_row(
            f"{each.mix}, {counted(each.runs, 'run')}",
            f"{each.processes}",
            f"{each.per_second:,.0f}",
            f"{each.raw_per_second:,.0f}",
            f"{each.ratio:.2f}",
            f"{bound:.2f}" if each.is_judged else "-",
            f"{each.mean_ms:.2f}",
            f"{each.cpu_us:.0f}",
            f"{each.raw_cpu_us:.0f}",
            "under" if is_under else "",
            style="red" if is_under else "",
        )
    return table
