"""``jsmemory bench --scale``: every operation in a bucket of a thousand entries, and of a million."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

from rich.table import Table

from jsmemory.cli import screen
from jsmemory.cli.numbers import counted

if TYPE_CHECKING:
    from jsmemory import Connection
    from jsmemory.testing.measuring import Report

MOST_ENTRIES: Final = 10_000_000


async def measure_growth(
    connection: "Connection", report: "Report", *, sizes: Sequence[int], rounds: int, replicas: int
) -> dict[str, Any]:
    """The part of the document that says how operations grow with the bucket."""
    from jsmemory.testing.measuring.scale import measure_scale

    measured = await measure_scale(connection, sizes=sizes, rounds=rounds, replicas=replicas, report=report)
    operations = {
        operation: {str(entries): asdict(each) for entries, each in by_size.items()}
        for operation, by_size in measured.operations.items()
    }
    filled = [
        {"entries": each.entries, "per_second": each.per_second, "bytes_of_an_entry": each.bytes_of_an_entry}
        for each in measured.filled
    ]
    return {"scale": {"operations": operations, "filled": filled}}


def draw_growth(document: Mapping[str, Any]) -> None:
    """The same as a table."""
    from jsmemory.testing.measuring.scale import MAX_GROWTH

    scale = document["scale"]
    table = Table(box=None, pad_edge=False, header_style="bold")
    for title in ("operation", "entries", "median ms", "p99 ms", "growth", "at most", ""):
        table.add_column(title, justify="left" if title in ("operation", "") else "right")
    is_any_over = False
    for operation, by_size in scale["operations"].items():
        for entries, each in by_size.items():
            is_over = each["growth"] > MAX_GROWTH
            is_any_over = is_any_over or is_over
            table.add_row(
                operation,
                f"{int(entries):,}",
                f"{each['median_ms']:.3f}",
                f"{each['p99_ms']:.3f}",
                f"{each['growth']:.2f}",
                f"{MAX_GROWTH:.2f}",
                "over" if is_over else "",
                style="red" if is_over else "",
            )
    screen.draw(table)
    if is_any_over:
        screen.talk("over: it grew more than it may. On a busy machine that happens by chance: measure again.")
    for each in scale["filled"]:
        screen.talk(
            f"A bucket of {counted(each['entries'], 'entry', 'entries')} was filled at {each['per_second']:,.0f} a "
            f"second, with {each['bytes_of_an_entry']:.0f} bytes each."
        )
