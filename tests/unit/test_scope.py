"""A run's authority: earned by reading, bound to a realm, carried by a snapshot, lost for good."""

import json
import pickle
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jsmemory.scope import Scope

fuzz = settings(derandomize=True, deadline=None, max_examples=200, database=None)
HERE, ELSEWHERE = "jetstream/notes/alice/2024-01-01", "jetstream/notes/alice/2024-01-02"


def held(scope: Scope) -> dict[str, Any]:
    return dict(scope.snapshot()["realms"])


def carried(snapshot: object) -> Any:
    """The snapshot after its way through a journal."""
    return json.loads(json.dumps(snapshot))


# -- Earning and losing ---------------------------------------------------------------------


def test_a_new_scope_authorises_nothing() -> None:
    """A run that has read nothing would overwrite what others know."""
    assert Scope().revision_of(HERE, "k") is None
    assert held(Scope()) == {}


def test_what_was_seen_may_be_replaced() -> None:
    """A run that has read the value would be refused its update."""
    scope = Scope()
    scope.remember(HERE, "k", "1")
    scope.remember(HERE, "k", "2")
    assert scope.revision_of(HERE, "k") == "2"


def test_authority_belongs_to_a_realm() -> None:
    """Fault 5: an old number would match an unseen value of a bucket that was made anew."""
    scope = Scope()
    scope.remember(HERE, "k", "1")
    assert scope.revision_of(ELSEWHERE, "k") is None
    scope.forget(ELSEWHERE, "k")
    assert scope.revision_of(HERE, "k") == "1"


def test_two_scopes_share_nothing() -> None:
    """One run's reading would let another overwrite what it never saw."""
    mine, other = Scope(), Scope()
    mine.remember(HERE, "k", "1")
    assert other.revision_of(HERE, "k") is None


def test_forgetting_takes_one_key() -> None:
    """A refusal about one key would take away the authority over the others."""
    scope = Scope()
    scope.remember(HERE, "k", "1")
    scope.remember(HERE, "l", "1")
    scope.forget(HERE, "k")
    assert (scope.revision_of(HERE, "k"), scope.revision_of(HERE, "l")) == (None, "1")


def test_forgetting_what_was_never_known_is_no_error() -> None:
    """A delete of an unread key would fail after it has happened."""
    scope = Scope()
    scope.forget(HERE, "k")
    scope.forget(HERE, "k", "1")
    assert scope.revision_of(HERE, "k") is None


def test_a_late_refusal_does_not_take_back_a_newer_grant() -> None:
    """Of two tasks of one run, the one that lost would disown the one that just read the key."""
    scope = Scope()
    scope.remember(HERE, "k", "2")
    scope.forget(HERE, "k", "1")
    assert scope.revision_of(HERE, "k") == "2"
    scope.forget(HERE, "k", "2")
    assert scope.revision_of(HERE, "k") is None


def test_what_was_lost_can_be_earned_again() -> None:
    """A run that was refused once could never update that key, however often it reads."""
    scope = Scope()
    scope.forget(HERE, "k")
    scope.remember(HERE, "k", "3")
    assert scope.revision_of(HERE, "k") == "3"


# -- Snapshots ------------------------------------------------------------------------------


def test_a_snapshot_survives_json() -> None:
    """A suspended run would wake up without its authority, and be refused its own notes."""
    scope, resumed = Scope(), Scope()
    scope.remember(HERE, "k", "1")
    scope.remember(ELSEWHERE, "k", "9")
    assert resumed.restore(carried(scope.snapshot())) is None
    assert resumed.revision_of(HERE, "k") == "1"
    assert resumed.revision_of(ELSEWHERE, "k") == "9"
    assert resumed.snapshot() == scope.snapshot()


def test_a_snapshot_of_nothing_is_a_snapshot() -> None:
    """Fault 6: a run that lost its last authority would be given an older record of it."""
    scope = Scope()
    scope.remember(HERE, "k", "1")
    scope.forget(HERE, "k")
    assert scope.snapshot() == {"version": 1, "realms": {}}
    assert Scope().restore(carried(scope.snapshot())) is None


def test_a_snapshot_is_a_copy() -> None:
    """A journal record would change after it was written."""
    scope = Scope()
    scope.remember(HERE, "k", "1")
    before = scope.snapshot()
    scope.remember(HERE, "k", "2")
    scope.remember(HERE, "l", "1")
    assert before["realms"] == {HERE: {"k": "1"}}
    before["realms"][HERE]["k"] = "9"
    assert scope.revision_of(HERE, "k") == "2"


def test_a_restored_scope_does_not_hang_on_its_snapshot() -> None:
    """Whoever still holds the record could change a running run's authority."""
    snapshot = {"version": 1, "realms": {HERE: {"k": "1"}}}
    scope = Scope()
    assert scope.restore(snapshot) is None
    scope.remember(HERE, "k", "2")
    assert snapshot["realms"] == {HERE: {"k": "1"}}


def test_what_was_learnt_since_wins() -> None:
    """A run would overwrite with the authority of yesterday what it has read today."""
    scope = Scope()
    scope.remember(HERE, "k", "2")
    assert scope.restore({"version": 1, "realms": {HERE: {"k": "1", "l": "1"}}}) is None
    assert (scope.revision_of(HERE, "k"), scope.revision_of(HERE, "l")) == ("2", "1")


@pytest.mark.parametrize("revision", [None, "1"])
def test_a_loss_that_was_learnt_wins_too(revision: str | None) -> None:
    """Authority that a refusal took away would come back with an old record."""
    scope = Scope()
    if revision:
        scope.remember(HERE, "k", revision)
    scope.forget(HERE, "k", revision)
    assert scope.restore({"version": 1, "realms": {HERE: {"k": "1"}}}) is None
    assert scope.revision_of(HERE, "k") is None


DEEP: Any = []
for _ in range(100_000):
    DEEP = [DEEP]

UNREADABLE = {
    "nothing": None,
    "a text": "scope",
    "a list": [],
    "an empty object": {},
    "no realms": {"version": 1},
    "no version": {"realms": {}},
    "a newer version": {"version": 2, "realms": {HERE: {"k": "1"}}},
    "version zero": {"version": 0, "realms": {HERE: {"k": "1"}}},
    "a version in words": {"version": "1", "realms": {HERE: {"k": "1"}}},
    "a version that is true": {"version": True, "realms": {HERE: {"k": "1"}}},
    "an unknown field": {"version": 1, "realms": {HERE: {"k": "1"}}, "more": 1},
    "realms in a list": {"version": 1, "realms": [HERE]},
    "a realm that is no object": {"version": 1, "realms": {HERE: "k"}},
    "a revision that is a number": {"version": 1, "realms": {HERE: {"k": 1}}},
    "a revision of nothing": {"version": 1, "realms": {HERE: {"k": ""}}},
    "a revision of null": {"version": 1, "realms": {HERE: {"k": None}}},
    "an endless revision": {"version": 1, "realms": {HERE: {"k": "1" * 1025}}},
    "a realm of nothing": {"version": 1, "realms": {"": {"k": "1"}}},
    "an endless realm": {"version": 1, "realms": {"r" * 1025: {"k": "1"}}},
    "an illegal key": {"version": 1, "realms": {HERE: {"k": "1", "../k": "1"}}},
    "one bad realm of two": {"version": 1, "realms": {HERE: {"k": "1"}, ELSEWHERE: {"k ": "1"}}},
    "a version without end": {"version": 10**5000, "realms": {}},
    "half of a surrogate pair in a realm": {"version": 1, "realms": {"\ud800": {"k": "1"}}},
    "half of a surrogate pair in a revision": {"version": 1, "realms": {HERE: {"k": "\ud800"}}},
    "depth": {"version": 1, "realms": DEEP},
    "an object of Python's": object(),
    "bytes": b'{"version": 1, "realms": {}}',
}


@pytest.mark.parametrize("snapshot", UNREADABLE.values(), ids=UNREADABLE.keys())
def test_what_cannot_be_read_grants_nothing_and_says_so(snapshot: object) -> None:
    """A damaged or forged record would authorise an overwrite of what nobody has read."""
    scope = Scope()
    reason = scope.restore(snapshot)
    assert reason
    assert reason.endswith(".")
    assert held(scope) == {}


@pytest.mark.parametrize("snapshot", UNREADABLE.values(), ids=UNREADABLE.keys())
def test_what_cannot_be_read_takes_nothing_away(snapshot: object) -> None:
    """A damaged record would disown a run that has just read its keys."""
    scope = Scope()
    scope.remember(HERE, "l", "1")
    scope.restore(snapshot)
    assert held(scope) == {HERE: {"l": "1"}}


def test_the_reason_shows_nothing_of_the_snapshot() -> None:
    """What stands in a record would reach a log by way of the message about it."""
    for planted in ({"version": 1, "realms": {HERE: {"sesame/": "1"}}}, {"sesame": 1}, "sesame"):
        assert "sesame" not in (Scope().restore(planted) or "")


@fuzz
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(["version", "realms", "k"]) | st.text(), inner),
        max_leaves=10,
    )
)
def test_no_snapshot_makes_restore_raise(snapshot: object) -> None:
    """A run could not go on because of what stands in its journal."""
    scope = Scope()
    if scope.restore(snapshot) is not None:
        assert held(scope) == {}


@fuzz
@given(
    st.lists(
        st.tuples(
            st.sampled_from("rf"), st.sampled_from([HERE, ELSEWHERE]), st.sampled_from("kl"), st.sampled_from("123")
        )
    )
)
def test_a_resumed_run_has_exactly_the_authority_it_had(script: list[tuple[str, str, str, str]]) -> None:
    """A resumed run would be refused what it knows, or overwrite what it does not."""
    scope = Scope()
    known: dict[tuple[str, str], str] = {}
    for act, realm, key, revision in script:
        if act == "r":
            scope.remember(realm, key, revision)
            known[realm, key] = revision
        else:
            scope.forget(realm, key, revision)
            if known.get((realm, key)) == revision:
                del known[realm, key]
    resumed = Scope()
    assert resumed.restore(carried(scope.snapshot())) is None
    for realm in (HERE, ELSEWHERE):
        for key in "kl":
            assert scope.revision_of(realm, key) == resumed.revision_of(realm, key) == known.get((realm, key))


def test_repr_counts_and_shows_no_key() -> None:
    """A log line would hold keys, revisions or the name of a bucket."""
    scope = Scope()
    scope.remember(HERE, "sesame", "1")
    scope.forget(HERE, "other")
    assert repr(scope) == "<Scope of 1 keys>"


def test_a_scope_keeps_nothing_beside_its_revisions() -> None:
    """A host that hangs its own state on a scope would lose it with every snapshot."""
    with pytest.raises(AttributeError):
        Scope().tenant = "acme"  # type: ignore[attr-defined]


def test_a_scope_that_is_pickled_keeps_its_losses() -> None:
    """A run that moves to another process in one piece would regain what it had lost."""
    scope = Scope()
    scope.remember(HERE, "k", "1")
    scope.forget(HERE, "l")
    moved: Scope = pickle.loads(pickle.dumps(scope))
    assert moved.restore({"version": 1, "realms": {HERE: {"l": "1"}}}) is None
    assert (moved.revision_of(HERE, "k"), moved.revision_of(HERE, "l")) == ("1", None)
