"""The checker on histories written by hand: each violation, and the innocent history right beside it."""

import pytest

from jsmemory.testing.torture.checking import Guarantee
from jsmemory.testing.torture.records import Opened, Stored


def test_a_quiet_history_breaks_nothing(story):
    """A checker that cries wolf is turned off."""
    story.create(0, 1, "a")
    story.read(2, 3, "a", run="other")
    story.update(4, 5, "b", run="other")
    story.delete(6, 7)
    story.create(8, 9, "c")
    story.list(10, 11, ("k", "c"))
    story.end(k="c")
    assert story.broken == set()


# -- contract, whole ------------------------------------------------------------------------


def test_an_error_that_is_not_the_contracts_is_told(story):
    """A caller that catches the contract's errors would die of it."""
    story.create(0, 1, "a", outcome="foreign", code="KeyError")
    assert story.broken == {Guarantee.CONTRACT}


@pytest.mark.parametrize(
    ("operation", "code"),
    [
        ("create", "entry_not_found"),
        ("create", "read_only"),
        ("create", "stale_entry:changed"),
        ("read", "stale_entry:unread"),
        ("update", "entry_not_found"),
        ("update", "store_full"),
        ("delete", "entry_not_found"),
        ("list", "read_only"),
    ],
)
def test_a_refusal_that_its_method_does_not_have_is_told(story, operation, code):
    """A caller has no branch for it, and no remedy."""
    story.call(operation, 0, 1, "a", key="" if operation == "list" else "k", code=code)
    story.end()
    assert Guarantee.CONTRACT in story.broken


def test_who_has_all_rights_and_is_denied_is_told(story):
    """An operator would look for rights that are there."""
    story.create(0, 1, "a", outcome="unavailable", code="access_denied")
    story.end()
    assert story.broken == {Guarantee.CONTRACT}


def test_what_is_not_available_is_no_refusal(story):
    """The innocent neighbour: servers come and go."""
    story.create(0, 1, "a")
    for operation in ("create", "read", "update", "delete", "list"):
        key = "" if operation == "list" else "k"
        story.call(operation, 2, 3, "b", key=key, outcome="unavailable", code="backend_unavailable")
    story.end(k="a")
    assert story.broken == set()


def test_a_mixture_of_two_values_is_told(story):
    """A model believes what is left of a torn note."""
    story.create(0, 1, "a")
    story.read(2, 3, "a", outcome="foreign", code="torn")
    story.end(k="a")
    assert story.broken == {Guarantee.WHOLE}


def test_a_value_that_nobody_has_written_is_told(story):
    """Nothing of it is missed later: whoever reads takes it for what was remembered."""
    story.create(0, 1, "a")
    story.read(2, 3, "b")
    assert story.broken == {Guarantee.WHOLE}


def test_the_value_of_another_key_is_told(story):
    """It was written, and not there."""
    story.create(0, 1, "a")
    story.create(0, 1, "b", key="other")
    story.read(2, 3, "b")
    assert story.broken == {Guarantee.WHOLE}


def test_a_value_that_was_read_before_it_was_written_is_told(story):
    """Nobody can know it yet."""
    story.read(0, 1, "a")
    story.create(2, 3, "a")
    assert Guarantee.WHOLE in story.broken


# -- kept -----------------------------------------------------------------------------------


def test_a_write_that_returned_and_is_gone_is_told(story):
    """What an agent was told is saved is what it forgets."""
    story.create(0, 1, "a")
    story.end()
    assert story.broken == {Guarantee.KEPT}
    assert [call.name for call in story.violations[0].calls] == ["w/1", "in the end"]


def test_a_write_that_somebody_deleted_is_not_lost(story):
    """The innocent neighbour."""
    story.create(0, 1, "a")
    story.delete(2, 3)
    story.end()
    assert story.broken == set()


def test_a_key_that_can_be_created_twice_has_lost_its_first_value(story):
    """Nobody deleted it in between."""
    story.create(0, 1, "a")
    story.create(2, 3, "b")
    story.end(k="b")
    assert story.broken == {Guarantee.KEPT}


def test_an_update_over_a_write_that_nobody_ever_saw_has_lost_it(story):
    """An acknowledgement that was a lie looks like this."""
    story.create(0, 1, "a")
    story.read(2, 3, "a", run="other")
    story.update(4, 5, "b")
    story.update(6, 7, "c", run="other")
    story.end(k="c")
    assert story.broken == {Guarantee.KEPT}


def test_an_acknowledged_write_that_the_stream_never_stored_is_told(story):
    """The stream's own history leaves no doubt."""
    story.create(0, 1, "a")
    story.update(2, 3, "b")
    story.delete(4, 5)
    story.stored("a", "")
    story.end(is_whole_history=True)
    assert Guarantee.KEPT in story.broken


def test_what_the_operator_removed_is_not_lost(story):
    """The innocent neighbour of all that is lost."""
    story.create(0, 1, "a")
    story.wipe(2, 3)
    story.create(4, 5, "b")
    story.end(k="b")
    assert story.broken == set()


# -- unknown ---------------------------------------------------------------------------------


def test_a_write_with_an_unknown_outcome_may_have_landed_or_not(story):
    """Either is honest."""
    story.create(0, 1, "a", outcome="unknown", code="outcome_unknown")
    story.end()
    assert story.broken == set()
    story.records.pop()
    story.end(k="a")
    assert story.broken == set()


def test_a_write_of_a_worker_that_was_killed_may_have_landed_or_not(story):
    """Nobody heard its answer."""
    story.create(0, 1, "a")
    story.update(2, None, "b")
    story.die(3)
    for last in ("a", "b"):
        story.end(k=last)
        assert story.broken == set()
        story.records.pop()


def test_a_write_with_an_unknown_outcome_does_not_land_on_what_is_newer(story):
    """A request that was held back must not undo what somebody has written since."""
    story.create(0, 1, "a")
    story.read(1, 2, "a", run="other")
    story.update(3, 4, "b", outcome="unknown", code="outcome_unknown")
    story.update(5, 6, "c", run="other")
    story.end(k="b")
    assert story.broken == {Guarantee.UNSEEN}


def test_a_create_with_an_unknown_outcome_does_not_come_after_another_life_of_the_key(story):
    """Its condition was on what the key held then, which is over."""
    story.create(0, 1, "a", outcome="unknown", code="outcome_unknown")
    story.create(2, 3, "b")
    story.delete(4, 5)
    story.end(k="a")
    assert story.broken != set()


def test_a_create_with_an_unknown_outcome_may_land_in_a_bucket_that_was_made_anew(story):
    """The innocent neighbour: a request that was held back finds nothing under its key there either."""
    story.create(0, 1, "a", outcome="unknown", code="outcome_unknown")
    story.wipe(2, 3)
    story.list(4, 5, ("k", "a"))
    story.end(k="a")
    assert story.broken == set()
    story.records[-3:] = []
    story.create(4, 5, "b")
    story.delete(6, 7)
    story.end(k="a")
    assert story.broken != set()


# -- once -------------------------------------------------------------------------------------


def test_a_value_that_comes_back_was_applied_twice(story):
    """A blind retry lands on top of what others have written since."""
    story.create(0, 1, "a")
    story.update(2, 3, "b")
    story.end(k="a")
    assert story.broken == {Guarantee.ONCE}


def test_a_value_that_the_stream_holds_twice_was_applied_twice(story):
    """Also where nothing came in between, and no reader could tell."""
    story.create(0, 1, "a")
    story.stored("a", "a")
    story.end(k="a")
    assert story.broken == {Guarantee.ONCE}


def test_a_create_that_is_stored_again_after_it_was_deleted_was_applied_twice(story):
    """Somebody's delete is undone by a write that was sent once more."""
    story.create(0, 1, "a")
    story.delete(3, 5, outcome="unknown", code="outcome_unknown")
    story.stored("a", "", "a")
    story.end(k="a")
    assert story.broken == {Guarantee.ONCE}


# -- refused ----------------------------------------------------------------------------------


def test_a_refused_write_that_is_read_is_told(story):
    """An agent that was told no writes it once more, elsewhere."""
    story.create(0, 1, "a")
    story.update(2, 3, "b", code="stale_entry:changed")
    story.read(4, 5, "b")
    assert Guarantee.REFUSED in story.broken


def test_a_refused_write_that_is_there_in_the_end_is_told(story):
    """Nobody needs to have read it."""
    story.create(0, 1, "a", outcome="unavailable", code="backend_unavailable")
    story.end(k="a")
    assert Guarantee.REFUSED in story.broken


def test_a_refused_write_that_the_stream_has_stored_is_told(story):
    """Also where it was overwritten before anybody looked."""
    story.create(0, 1, "a")
    story.update(2, 3, "b", code="stale_entry:changed")
    story.stored("a", "b")
    assert Guarantee.REFUSED in story.broken


def test_what_was_refused_for_want_of_a_place_was_there_at_no_moment(story):
    """Its writer is told that nothing was written, and others have acted on it."""
    story.create(0, 4, "a", code="store_full")
    story.read(1, 2, "a", run="other")
    assert Guarantee.REFUSED in story.broken


@pytest.mark.parametrize("came", [{"code": "store_full"}, {"outcome": "unavailable", "code": "backend_unavailable"}])
def test_a_refused_create_that_the_stream_has_stored_is_told(small, came):
    """Also where it was taken away before anybody looked."""
    small.create(0, 1, "v0", key="k0")
    small.create(0, 1, "v1", key="k1")
    small.create(2, 4, "a", **came)
    for sequence, (key, value) in enumerate([("k0", "v0"), ("k1", "v1"), ("k", "a"), ("k", "")], 1):
        small.records.append(Stored(0, sequence, "few", key, value))
    small.end(k0="v0", k1="v1")
    assert small.broken == {Guarantee.REFUSED}


def test_a_refused_create_that_went_with_the_bucket_is_told(story):
    """Whoever wrote it was told long before that it was not written."""
    story.create(0, 1, "a", code="store_full")
    story.stored("a")
    story.wipe(2, 3)
    story.end()
    assert Guarantee.REFUSED in story.broken


# -- unseen -----------------------------------------------------------------------------------


def test_an_update_by_who_has_seen_nothing_is_told(story):
    """It wipes out whatever is there."""
    story.create(0, 1, "a")
    story.update(2, 3, "b", run="other")
    assert Guarantee.UNSEEN in story.broken


def test_two_updates_of_one_value_cannot_both_land(story):
    """The first one's words are gone, and its author believes them saved."""
    story.create(0, 1, "a")
    story.read(2, 3, "a", run="other")
    story.update(4, 7, "b")
    story.read(8, 9, "b", run="third")
    story.update(5, 10, "c", run="other")
    story.update(11, 12, "d", run="other")
    story.end(k="d")
    assert story.broken == {Guarantee.UNSEEN}
    assert [call.name for call in story.violations[0].calls] == ["w/2", "w/3", "w/5"]


def test_of_two_updates_of_one_value_one_may_land_and_one_be_refused(story):
    """The innocent neighbour."""
    story.create(0, 1, "a")
    story.read(2, 3, "a", run="other")
    story.update(4, 7, "b")
    story.update(5, 10, "c", run="other", code="stale_entry:changed")
    story.end(k="b")
    assert story.broken == set()


def test_the_stream_shows_what_an_update_has_replaced(story):
    """Also where no reader came in between."""
    story.create(0, 1, "a")
    story.read(2, 3, "a", run="other")
    story.update(4, 5, "b", outcome="unknown", code="outcome_unknown")
    story.update(6, 7, "c", run="other")
    story.stored("a", "b", "c")
    story.end(k="c", is_whole_history=True)
    assert story.broken == {Guarantee.UNSEEN}


def test_a_snapshot_carries_what_a_run_had_seen(story):
    """A run that goes on elsewhere may overwrite what it had read, and nothing else."""
    story.create(0, 1, "a")
    story.suspend(2, "r")
    story.restore(3, "r2")
    story.update(4, 5, "b", run="r2")
    story.end(k="b")
    assert story.broken == set()
    story.update(6, 7, "c", run="r")
    assert story.broken != set()


# -- era ---------------------------------------------------------------------------------------


def test_authority_from_before_the_bucket_was_made_anew_is_told(story):
    """An old number can match a value that nobody has seen."""
    story.create(0, 1, "a")
    story.wipe(2, 3)
    story.create(4, 5, "b", run="other")
    story.update(6, 7, "c")
    story.end(k="c")
    assert story.broken == {Guarantee.ERA}


def test_an_update_while_the_bucket_is_made_anew_may_land_before(story):
    """It is gone with the rest, by the operator's act."""
    story.create(0, 1, "a")
    story.update(1.5, 2.5, "b")
    story.wipe(2, 3)
    story.end()
    assert story.broken == set()


# -- honest ------------------------------------------------------------------------------------


def test_a_stale_update_that_nobody_came_before_is_told(story):
    """A run that is told of somebody else's change reads, merges, and writes its own words twice."""
    story.create(0, 1, "a")
    story.update(2, 3, "b", code="stale_entry:changed")
    story.end(k="a")
    assert story.broken == {Guarantee.HONEST}


def test_a_create_that_finds_only_itself_is_told(story):
    """The caller's own write is no reason to refuse it."""
    story.create(0, 1, "a", code="entry_exists")
    story.end()
    assert story.broken == {Guarantee.HONEST}


def test_a_delete_that_finds_nothing_where_something_is_is_told(story):
    """An agent that forgets for good reason must not be told that it never knew."""
    story.create(0, 1, "a")
    story.delete(2, 3, existed=False)
    story.end(k="a")
    assert story.broken == {Guarantee.HONEST}


def test_a_run_that_has_read_and_is_refused_as_if_it_had_not_is_told(story):
    """It would read for ever."""
    story.create(0, 1, "a")
    story.update(2, 3, "b", code="stale_entry:unread")
    story.end(k="a")
    assert story.broken == {Guarantee.HONEST}


def test_a_run_that_has_read_nothing_and_is_refused_as_if_it_had_is_told(story):
    """It would look for what it has never known."""
    story.create(0, 1, "a")
    story.update(2, 3, "b", run="other", code="stale_entry:changed")
    story.end(k="a")
    assert story.broken == {Guarantee.HONEST}


def test_a_run_that_goes_on_elsewhere_may_be_told_of_a_change(story):
    """The innocent neighbour: what it had seen came with its snapshot."""
    story.create(0, 1, "a")
    story.suspend(2, "r")
    story.restore(3, "r2")
    story.read(4, 5, "a", run="third", store="t")
    story.update(6, 7, "b", run="third", store="t")
    story.update(8, 9, "c", run="r2", code="stale_entry:changed")
    story.end(k="b")
    assert story.broken == set()


def test_refusals_about_what_others_did_at_the_same_time_are_honest(story):
    """The innocent neighbours."""
    story.create(0, 10, "a")
    story.create(1, 2, "b", run="other", code="entry_exists")
    story.delete(3, 12, run="third")
    story.update(11, 13, "c", code="stale_entry:changed")
    story.delete(11, 14, existed=False, run="other")
    story.end()
    assert story.broken == set()


# -- session ------------------------------------------------------------------------------------


def test_a_read_that_goes_back_within_one_store_is_told(story):
    """A run that reads its own old words believes that its new ones were lost."""
    story.create(0, 1, "a")
    story.update(2, 3, "b")
    story.read(4, 5, "a", run="other")
    story.end(k="b")
    assert story.broken == {Guarantee.SESSION}


def test_a_read_through_another_store_may_be_behind(story):
    """Another process has promised nothing about what this one has read."""
    story.create(0, 1, "a")
    story.update(2, 3, "b")
    story.read(4, 5, "a", run="other", store="t")
    story.end(k="b")
    assert story.broken == set()


def test_a_read_that_finds_nothing_of_what_was_written_is_told(story):
    """A follower that lags says so of a key that was just created."""
    story.create(0, 1, "a")
    story.read(2, 3, code="entry_not_found")
    story.end(k="a")
    assert story.broken == {Guarantee.SESSION}


def test_a_read_may_find_nothing_once_somebody_deletes(story):
    """The innocent neighbour."""
    story.create(0, 1, "a")
    story.delete(1, 9, run="other", store="t")
    story.read(2, 3, code="entry_not_found")
    story.end()
    assert story.broken == set()


def test_a_read_of_what_this_store_has_deleted_is_told(story):
    """A deleted note must not be injected again."""
    story.create(0, 1, "a")
    story.delete(2, 3)
    story.read(4, 5, "a")
    story.end()
    assert story.broken == {Guarantee.SESSION}


def test_a_read_of_an_older_life_is_told(story):
    """Values of two lives of a key are in order too."""
    story.create(0, 1, "a")
    story.delete(2, 3, store="t")
    story.create(4, 5, "b", store="t")
    story.read(6, 7, "b")
    story.read(8, 9, "a")
    story.end(k="b")
    assert story.broken == {Guarantee.SESSION}


def test_a_read_that_finds_nothing_of_what_stood_in_the_way_is_told(story):
    """A run that may neither create nor read a note can do nothing at all."""
    story.create(0, 1, "a")
    story.create(2, 3, "b", run="other", store="t", code="entry_exists")
    story.read(4, 5, run="other", store="t", code="entry_not_found")
    story.end(k="a")
    assert story.broken == {Guarantee.SESSION}


@pytest.mark.parametrize("gone", ["deleted", "cut off", "wiped"])
def test_a_read_may_find_nothing_of_what_stood_in_the_way_and_may_be_gone(story, gone):
    """The innocent neighbours."""
    story.create(0, 1, "a")
    story.create(2, 3, "b", run="other", store="t", code="entry_exists")
    if gone == "deleted":
        story.delete(2, 9, store="u")
    elif gone == "cut off":
        story.delete(1, 1.5, store="u", outcome="unknown", code="outcome_unknown")
    elif gone == "wiped":
        story.wipe(3, 3.5)
    story.read(4, 5, run="other", store="t", code="entry_not_found")
    assert story.broken == set()


def test_a_read_of_what_this_store_has_said_to_be_changed_is_told(story):
    """A run reads because it was told to, merges into old words, and is told so again."""
    story.create(0, 1, "a")
    story.read(1.2, 1.5, "a", run="other", store="t")
    story.update(2, 3, "b")
    story.update(4, 5, "c", run="other", store="t", code="stale_entry:changed")
    story.read(6, 7, "a", run="other", store="t")
    story.end(k="b")
    assert story.broken == {Guarantee.SESSION}


def test_an_update_on_the_authority_of_its_own_value_is_told(story):
    """Records that contradict themselves are told, and do not send a checker round in circles."""
    story.create(0, 1, "a")
    story.read(2, 10, "b")
    story.update(3, 4, "b")
    assert Guarantee.UNSEEN in story.broken


# -- existed ------------------------------------------------------------------------------------


def test_two_deletes_of_one_value_that_both_say_it_existed_are_told(story):
    """Two workers that share out a task by deleting it would both do it."""
    story.create(0, 1, "a")
    story.delete(2, 5)
    story.delete(3, 6, run="other")
    story.end()
    assert story.broken == {Guarantee.EXISTED}


def test_two_deletes_of_two_values_may_both_say_so(story):
    """The innocent neighbour."""
    story.create(0, 1, "a")
    story.delete(2, 5)
    story.create(3, 4, "b", run="third")
    story.delete(3, 6, run="other")
    story.end()
    assert story.broken == set()


# -- capacity, room -------------------------------------------------------------------------------


def test_more_entries_than_a_store_holds_are_told(small):
    """An index that outgrows the context window is cut off by somebody else."""
    for number in range(3):
        small.create(number, number + 0.5, f"v{number}", key=f"k{number}")
    small.end(k0="v0", k1="v1", k2="v2")
    assert small.broken == {Guarantee.CAPACITY}


def test_a_listing_may_show_what_goes_and_what_comes_in_its_place(small):
    """The innocent neighbour: nobody lists a thousand files at one moment."""
    small.create(0, 1, "v0", key="k0")
    small.create(0, 1, "v1", key="k1")
    small.delete(2, 3, key="k1")
    small.create(3.5, 5, "v2", key="k2")
    small.list(2, 4, ("k0", "v0"), ("k1", "v1"), ("k2", "v2"))
    small.end(k0="v0", k2="v2")
    assert small.broken == set()


def test_a_listing_that_shows_more_than_there_may_be_is_told_also_while_creates_are_refused(small):
    """What was one too many is no entry at any moment."""
    small.create(0, 1, "v0", key="k0")
    small.create(0, 1, "v1", key="k1")
    small.create(2, 5, "v2", key="k2", code="store_full")
    small.list(3, 4, ("k0", "v0"), ("k1", "v1"), ("k2", "v2"))
    small.end(k0="v0", k1="v1")
    assert {Guarantee.CAPACITY, Guarantee.REFUSED} <= small.broken


def test_more_acknowledged_entries_than_a_store_holds_are_told_also_if_nobody_lists_them(small):
    """They were there together, and whoever had listed them then would have seen it."""
    for number in range(3):
        small.create(number, number + 0.5, f"v{number}", key=f"k{number}")
    for number in range(3):
        small.delete(10 + number, 10.5 + number, key=f"k{number}")
    small.end()
    assert small.broken == {Guarantee.CAPACITY}
    assert [call.value for call in small.violations[0].calls] == ["v2"]


def test_places_that_may_have_been_free_are_not_counted(small):
    """The innocent neighbour: a delete that is under way, or was cut off, may have made room already."""
    small.create(0, 1, "v0", key="k0")
    small.create(0, 1, "v1", key="k1")
    small.delete(2, 9, key="k0")
    small.create(3, 4, "v2", key="k2")
    small.delete(5, 6, key="k1", outcome="unknown", code="outcome_unknown")
    small.create(6, 7, "v3", key="k3")
    small.end(k2="v2", k3="v3")
    assert small.broken == set()


def test_full_is_said_only_of_a_store_that_can_be(small):
    """A place that was freed by anybody can be used by everybody."""
    small.create(0, 1, "v0", key="k0")
    small.create(0, 1, "v1", key="k1")
    small.create(2, 3, "v2", key="k2", code="store_full")
    small.end(k0="v0", k1="v1")
    assert small.broken == set()
    small.records.pop()
    small.delete(4, 5, key="k1")
    small.create(6, 7, "v3", key="k3", code="store_full")
    small.end(k0="v0")
    assert small.broken == {Guarantee.ROOM}


def test_a_key_that_was_found_free_long_before_its_refusal_was_heard_may_be_taken_since(small):
    """The innocent neighbour: a refusal says nothing of the moment in which it arrives."""
    small.create(0, 0.1, "v0", key="k0")
    small.create(0, 0.1, "v1", key="k1")
    small.create(0.5, 10, "x", code="store_full", run="other")
    small.delete(2, 3, key="k1")
    small.create(4, 5, "a")
    small.create(11, 12, "y", key="k1", code="store_full")
    small.end(k0="v0", k="a")
    assert small.broken == set()
    small.records.pop()
    small.delete(13, 14)
    small.create(15, 16, "z", key="k1", code="store_full")
    small.end(k0="v0")
    assert small.broken == {Guarantee.ROOM}


# -- listed -----------------------------------------------------------------------------------------


def test_an_entry_that_is_left_out_of_a_listing_is_told(story):
    """An agent that does not see a note writes it again."""
    story.create(0, 1, "a")
    story.create(0, 1, "b", key="moving")
    story.update(2, 3, "c", key="moving")
    story.list(4, 5, ("k", "a"))
    story.list(4, 5, ("moving", "c"))
    story.end(k="a", moving="c")
    assert story.broken == {Guarantee.LISTED}
    assert {violation.key for violation in story.violations} == {"k", "moving"}


def test_a_listing_may_leave_out_what_comes_or_goes_meanwhile(story):
    """The innocent neighbour."""
    story.create(0, 2, "a")
    story.list(1, 3)
    story.delete(4, 6)
    story.list(5, 7)
    story.end()
    assert story.broken == set()


def test_a_listing_of_what_was_never_there_or_is_no_more_is_told(story):
    """A ghost that cannot be read makes an agent doubt everything else."""
    story.create(0, 1, "a")
    story.delete(2, 3)
    story.list(4, 5, ("k", "a"))
    story.list(6, 7, ("other", "x"))
    story.end()
    assert story.broken == {Guarantee.LISTED}


def test_a_listing_that_shows_a_key_twice_or_out_of_order_is_told(story):
    """An agent that sees two notes where one is trusts the wrong one; and a cut index keeps what comes first."""
    story.create(0, 1, "a", key="j")
    story.create(0, 1, "b")
    story.list(2, 3, ("j", "a"), ("k", "b"))
    story.end(j="a", k="b")
    assert story.broken == set()
    story.list(4, 5, ("k", "b"), ("j", "a"))
    assert [violation.what for violation in story.violations] == ["k was listed before j"]
    story.records[-2:] = []
    story.list(4, 5, ("j", "a"), ("k", "b"), ("k", "b"))
    assert [violation.what for violation in story.violations] == ["k was listed twice"]
    assert story.broken == {Guarantee.LISTED}


def test_a_listing_shows_a_write_that_was_not_acknowledged_yet(story):
    """Then it has landed, and what comes after has to agree."""
    story.create(0, None, "a")
    story.die(1)
    story.list(2, 3, ("k", "a"))
    story.create(4, 5, "b", code="entry_exists")
    story.end(k="a")
    assert story.broken == set()
    story.delete(6, 7, existed=False)
    assert story.broken != set()


def test_after_a_bucket_was_made_anew_a_store_may_need_to_find_out(story):
    """What another store object knows by then is no authority for one that has not noticed: the safe way to fail."""
    story.create(0, 1, "a")
    story.wipe(2, 3)
    story.create(4, 5, "b", store="t")
    story.update(6, 7, "c", code="stale_entry:changed")
    story.update(6, 7, "d", code="stale_entry:unread")
    story.end(k="b")
    assert story.broken == set()


def test_authority_that_ends_with_a_store_is_its_own_business(story):
    """A worker that may not examine the bucket: what one of its stores refuses the other one may take."""
    story.records += [Opened("s", 0, ends_authority=True), Opened("t", 0, ends_authority=True)]
    story.create(0, 1, "a")
    story.update(2, 3, "b", store="t", code="stale_entry:unread")
    story.update(4, 5, "c")
    story.end(k="c")
    assert story.broken == set()
    story.update(6, 7, "d", store="t")
    assert Guarantee.UNSEEN in story.broken
