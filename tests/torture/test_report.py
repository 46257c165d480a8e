"""What a report sums up: gaps, lost acknowledgements, and what came of them."""

from typing import Any

import pytest

from jsmemory.testing.torture import History, Report, check
from jsmemory.testing.torture.records import Began, Opened, Record, Rested, Set, Struck


def report_of(story: Any) -> Report:
    history = History.of(story.records)
    return Report.of(history, check(history))


def test_a_gap_is_the_longest_time_without_an_acknowledged_write(story: Any) -> None:
    """How long nobody could write is what an operator asks first."""
    story.records[0] = Set("file", 1, 0, 20.0, 1, 1024, 0.0)
    story.create(0, 1, "a")
    story.update(2, 5, "b")
    story.read(6, 7, "b")
    story.update(8, 9, "c", outcome="unknown", code="outcome_unknown")
    story.delete(11, 12)
    story.records += [
        Struck("leader killed", "n1", 6.0, 7.0),
        Struck("leader killed", "n2", 13.0, 14.0),
        Struck("disk full", "", 0.2, 0.3),
    ]
    story.end()
    report = report_of(story)
    assert report.longest_gap == 8.0
    assert report.faults["leader killed"].count == 2
    assert report.faults["leader killed"].longest_gap == 8.0
    assert report.faults["disk full"].longest_gap == 1.0
    assert report.outcomes["update"] == {"ok": 1, "outcome_unknown": 1}


def test_lost_acknowledgements_are_counted_by_what_became_of_them(story: Any) -> None:
    """Settled is what is known to have landed or not, whatever it is."""
    story.create(0, 1, "a", lost=2)
    story.update(2, 3, "b", code="stale_entry:changed", lost=1)
    story.delete(2, 3, existed=False, lost=1)
    story.update(4, 5, "c", outcome="unknown", code="outcome_unknown", lost=1)
    story.update(6, 7, "d")
    story.wipe(9, 10)
    story.create(8.5, 11, "e", outcome="unknown", code="outcome_unknown", lost=1)
    story.read(12, None)
    story.end()
    lost = report_of(story).lost
    assert (lost.landed, lost.refused, lost.unknown, lost.removed) == (1, 2, 1, 1)
    assert lost.count == 5
    assert lost.settled == 0.75
    assert report_of(story).cut_off == 1


def test_who_may_not_examine_a_bucket_is_not_blamed_for_one_that_was_made_anew(story: Any) -> None:
    """It cannot tell the two apart, which is documented; everybody else can."""
    story.wipe(2, 3)
    story.create(1, 4, "a", code="entry_exists", lost=1)
    story.read(1.5, 1.8, "a", store="t")
    story.end()
    assert not report_of(story).is_good
    story.records.append(Opened("s", 0.0, ends_authority=True))
    assert report_of(story).is_good


def test_outcomes_that_stay_unknown_are_part_of_the_verdict(story: Any) -> None:
    """A store that settles nothing breaks no other guarantee, and leaves all of it to its callers."""
    for number in range(10):
        story.create(number, number + 0.5, f"v{number}", key=f"k{number}", outcome="unknown", lost=1)
    story.end()
    report = report_of(story)
    assert report.checked.violations == ()
    assert report.lost.settled == 0
    assert not report.is_good


def test_a_single_outcome_that_stays_unknown_may_be_chance(story: Any) -> None:
    """The innocent neighbour: a short campaign that meets one is no worse than a long one that meets ten."""
    story.create(0, 1, "a", outcome="unknown", lost=1)
    story.create(2, 3, "b", key="other", lost=1)
    story.end(k="a", other="b")
    assert report_of(story).is_good


@pytest.mark.parametrize(
    ("left_out", "missing"),
    [(Set, "what was run"), (Began, "any call"), (Rested, "the final state of few")],
)
def test_records_that_lack_something_prove_nothing(story: Any, left_out: type[Record], missing: str) -> None:
    """A campaign that was stopped half way has broken nothing, and kept nothing."""
    story.create(0, 1, "a")
    story.end(k="a")
    assert report_of(story).missing == ()
    assert report_of(story).is_good
    story.records = [record for record in story.records if not isinstance(record, left_out)]
    assert report_of(story).missing == (missing,)
    assert not report_of(story).is_good
