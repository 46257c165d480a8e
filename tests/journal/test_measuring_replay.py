"""What the replay of a long journal costs: the benchmark shows the figure, here it is that it is a true one."""

import tracemalloc
from pathlib import Path

from jsmemory.testing.measuring import measure_replay


async def test_a_journal_is_replayed_whole_and_nothing_is_left_behind(tmp_path: Path) -> None:
    """A figure for half a journal would promise too much, and the other half would lie on somebody's disk."""
    for length in (1, 2, 3, 2500):
        measured = await measure_replay(tmp_path, length=length)
        assert measured.records == length
        assert measured.seconds >= 0
    assert list(tmp_path.iterdir()) == []


async def test_a_long_journal_takes_no_more_memory_than_a_short_one(tmp_path: Path) -> None:
    """A host that resumes the runs of a week would run out of memory on the longest of them."""
    peaks = []
    for length in (4_000, 40_000):
        tracemalloc.start()
        try:
            await measure_replay(tmp_path, length=length)
            peaks.append(tracemalloc.get_traced_memory()[1])
        finally:
            tracemalloc.stop()
    # The long one has more than ten megabytes.
    assert peaks[1] < peaks[0] + 1_000_000
