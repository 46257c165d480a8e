"""``jsmemory bench`` as a person reads it: each call beside what it is held against, and what it may take at most."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from rich.table import Table

from jsmemory.cli import screen
from jsmemory.cli.numbers import counted
from jsmemory.cli.tuning import USUAL, Tuning

if TYPE_CHECKING:
    from jsmemory.testing.measuring import BucketMeasured, Comparison, Replayed

_OVER: Final = "over"
_NO_BOUND: Final = "-"
_ABOUT_MANY: Final = frozenset({"list", "live_list", "copy", "memory_list"})
"""What is done to all the entries that are listed; the others are about one of --size."""


def bounds_for(tuning: Tuning, tools: Mapping[str, "Comparison"]) -> Mapping[str, float]:
    """The ratio that each call may reach, by name: the bounds were set for the sizes that are usual, and hold there."""
    from jsmemory.testing.measuring import MAX_TOOL_RATIO, MUST_REACH

    is_one_usual = tuning.size == USUAL.size
    are_many_usual = (tuning.entries, tuning.entry_size) == (USUAL.entries, USUAL.entry_size)
    return {
        name: bound
        for name, bound in {**MUST_REACH, **dict.fromkeys(tools, MAX_TOOL_RATIO)}.items()
        if (are_many_usual if name in _ABOUT_MANY else is_one_usual)
    }


def draw_comparisons(
    operations: Mapping[str, "Comparison"], bucket: "BucketMeasured", replayed: "Replayed", tuning: Tuning
) -> None:
    """Tables to standard output, and what is to be said of them beside it."""
    from jsmemory.testing.measuring import MAX_LISTING_WIRE_BYTES, MAX_REPLAY_S, ListingComparison

    bounds = bounds_for(tuning, bucket.tools)
    screen.draw(_table(("operation", "raw ms"), operations, bounds))
    screen.draw(_table(("tool", "store ms"), bucket.tools, bounds))
    if any(_is_over(measured, bounds.get(name)) for name, measured in {**operations, **bucket.tools}.items()):
        screen.talk(
            f"{_OVER}: it took longer, against the plain request, than it may. On a busy machine, or with few "
            "--rounds, that happens by chance: measure again."
        )
    if bounds != bounds_for(USUAL, bucket.tools):
        screen.talk(
            f"What a call may take at most is known for --size {USUAL.size}, --entries {USUAL.entries} and "
            f"--entry-size {USUAL.entry_size}: leave them out to have every call held against it."
        )
    listed = operations["list"]
    if isinstance(listed, ListingComparison):
        screen.talk(
            f"A listing of {counted(listed.entries, 'entry', 'entries')} took {listed.wire_bytes:,} bytes on the wire, "
            f"of {MAX_LISTING_WIRE_BYTES:,} that a full store may."
        )
    screen.talk(
        f"A journal of {replayed.records:,} records was replayed in {replayed.seconds:.2f} s, "
        f"of {MAX_REPLAY_S:.2f} that it may take."
    )
    screen.talk(f"nats-server {bucket.server_version}, {counted(bucket.replicas, 'replica')}.")
    if not bucket.is_clean:
        screen.talk("The credentials may not purge: delete markers of the measured keys stay in the bucket.")


def _table(titles: tuple[str, str], rows: Mapping[str, "Comparison"], bounds: Mapping[str, float]) -> Table:
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
            _NO_BOUND if bound is None else f"{bound:.2f}",
            _OVER if is_over else "",
            style="red" if is_over else "",
        )
    return table


def _is_over(measured: "Comparison", bound: float | None) -> bool:
    return bound is not None and measured.ratio > bound
