"""What a count says after what this process did itself, and after what it has heard of others."""

import time

from jsmemory.backends.jetstream.counting import Begun, Count
from jsmemory.backends.jetstream.inbox import Row
from jsmemory.backends.jetstream.messages import Window

CAPACITY = 10


def value(sequence: int) -> Row:
    return Row(sequence, is_value=True, is_provisional=False, description="d", stored_at="")


def provisional(sequence: int) -> Row:
    return Row(sequence, is_value=False, is_provisional=True, description="d", stored_at="")


def counted(rows: dict[str, Row], last: int, *, position: int = 0) -> Count:
    count = Count()
    count.take_over(rows.items(), last, Begun(time.monotonic(), 0, position), is_whole=True)
    return count


def test_a_window_ends_where_the_places_may_be_taken() -> None:
    """Each message since may have taken one; those that this process knows not to have are no reason to stop."""
    count = counted({"a": value(3), "b": provisional(5)}, 5)
    assert count.window(CAPACITY) == Window(5, 13)
    count.spare(6)
    count.spare(7)
    assert count.window(CAPACITY) == Window(7, 15)


def test_nothing_is_vouched_for_by_who_has_not_counted() -> None:
    """A first value of it is provisional, wherever it is stored."""
    count = Count()
    count.spare(9)
    assert count.window(CAPACITY).is_empty


def test_what_came_before_the_stream_was_asked_for_takes_no_place_twice() -> None:
    """In a busy bucket the sequences of others go on; what may have taken a place stays reckoned with."""
    count = counted({"a": value(3)}, 5)
    count.stored(8, 5)
    count.still_holds(1_000, time.monotonic())
    assert count.window(CAPACITY) == Window(1_000, 1_000 + CAPACITY - 1 - 3)
    assert count.bound == 4


def test_a_removal_that_is_heard_of_late_takes_nothing_off_what_was_stored_since() -> None:
    """Somebody else stores under the key again; to count that for nothing would let one too many pass."""
    count = counted({"late": provisional(58)}, 60)
    count.removed("late", 40, 55)
    assert count.provisional == {"late": 58}
    count.removed("late", 58, 61)
    assert count.provisional == {}


def test_a_confirmation_that_is_heard_of_late_makes_no_entry_of_what_was_stored_since() -> None:
    """The key would be said to be taken, of a value that may never be an entry."""
    count = counted({"late": provisional(58)}, 60)
    count.confirmed("late", 40, 55)
    assert (count.taken, count.provisional) == (set(), {"late": 58})
    count.confirmed("late", 58, 61)
    assert (count.taken, count.provisional) == ({"late"}, {})


def test_own_writes_during_a_listing_count_as_anybody_s() -> None:
    """They may have been what a listing passed by; to take them off would make the window too long."""
    count = counted({}, 5)
    begun = Begun(time.monotonic(), count.reached, 0)
    count.spare(8)
    count.take_over([("a", value(6))], 6, begun, is_whole=False)
    assert count.window(CAPACITY) == Window(8, 6 + CAPACITY - 1)


def test_a_first_count_in_a_bucket_of_many_messages_is_not_outrun() -> None:
    """Each create would ask for nothing."""
    count = counted({"a": value(3)}, 5, position=100_000)
    assert not count.is_outrun
    count.still_holds(200_000, time.monotonic())
    assert count.is_outrun
    count.still_holds(200_010, time.monotonic())
    assert not count.is_outrun
