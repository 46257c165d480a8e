"""From what a server says to what is wrong with a bucket, without a server."""

import json
from typing import Any

import msgspec
import pytest

from jsmemory.backends.jetstream.facts import StreamFacts, api_level_of
from jsmemory.backends.jetstream.preflight import MIN_CONSUMERS, examine
from jsmemory.backends.jetstream.recipe import BucketRecipe
from jsmemory.errors import BucketUnfitError
from jsmemory.findings import Finding
from jsmemory.limits import MAX_ENTRY_BYTES

ROOMY = 1024 * 1024
CURRENT = 5
SECOND = 1_000_000_000

FIT: dict[str, Any] = {
    "name": "KV_team",
    "subjects": ["$KV.team.>"],
    "retention": "limits",
    "max_consumers": -1,
    "max_msgs_per_subject": 1,
    "max_msgs": -1,
    "max_bytes": -1,
    "max_age": 0,
    "max_msg_size": 131_072,
    "storage": "file",
    "discard": "new",
    "num_replicas": 3,
    "allow_direct": True,
    "allow_rollup_hdrs": True,
}

EDITED: dict[str, dict[str, Any]] = {
    "bucket_ttl": {"max_age": 1},
    "bucket_value_cap": {"max_msg_size": MAX_ENTRY_BYTES - 1},
    "bucket_discards_old": {"discard": "old", "max_bytes": 1},
    "bucket_discards_new_per_subject": {"discard_new_per_subject": True},
    "bucket_retention": {"retention": "interest"},
    "bucket_no_ack": {"no_ack": True},
    "bucket_subjects": {"subjects": ["$KV.other.>"]},
    "bucket_transform": {"subject_transform": {"src": "$KV.team.>", "dest": "elsewhere.>"}},
    "bucket_max_consumers": {"max_consumers": MIN_CONSUMERS - 1},
    "bucket_consumer_limits": {"consumer_limits": {"inactive_threshold": SECOND}},
}
"""Faults that one edit mends, by the code of their finding."""

REPLACED: dict[str, dict[str, Any]] = {
    "bucket_in_memory": {"storage": "memory"},
    "bucket_async": {"persist_mode": "async"},
    "bucket_sealed": {"sealed": True},
    "bucket_retention": {"retention": "workqueue"},
    "bucket_counter": {"allow_msg_counter": True},
    "bucket_sources": {"sources": [{"name": "KV_other"}]},
}
"""Faults that only a new bucket is free of."""


def facts(**config: Any) -> StreamFacts:
    return StreamFacts.of(json.dumps({"config": {**FIT, **config}, "created": "2026-01-01T00:00:00Z"}).encode())


def findings(*, max_payload: int = ROOMY, api_level: int | None = CURRENT, **config: Any) -> tuple[Finding, ...]:
    return examine(facts(**config), max_payload=max_payload, api_level=api_level)


def codes(**config: Any) -> list[str]:
    return [finding.code for finding in findings(**config)]


def test_a_fit_bucket_has_no_findings() -> None:
    """A check that always finds something is switched off."""
    assert findings() == ()


@pytest.mark.parametrize(("code", "config"), EDITED.items(), ids=EDITED)
def test_what_an_edit_mends_is_cured_by_an_edit(code: str, config: dict[str, Any]) -> None:
    """Nobody moves a bucket for what one command mends in place."""
    (finding,) = findings(**config)
    assert finding.code == code
    assert finding.cure.startswith("nats kv edit team")


def test_an_edit_does_not_turn_roll_ups_on_behind_an_operators_back() -> None:
    """The bucket that was mended could be wiped with one message, and nobody would know since when."""
    (finding,) = findings(max_age=SECOND, allow_rollup_hdrs=False)
    assert finding.cure == "nats kv edit team --ttl=0s && nats stream edit KV_team --no-allow-rollup --force"
    (finding,) = findings(max_age=SECOND)
    assert finding.cure == "nats kv edit team --ttl=0s"


@pytest.mark.parametrize(("code", "config"), REPLACED.items(), ids=REPLACED)
def test_what_no_edit_mends_is_cured_by_a_successor(code: str, config: dict[str, Any]) -> None:
    """A command that the server refuses leaves its operator with the fault and without advice."""
    (finding,) = findings(**config)
    assert finding.code == code
    assert finding.cure.startswith(BucketRecipe(bucket="team-2", replicas=3, allow_rollup=False).one_line() + " && ")
    assert "nats kv get team " in finding.cure
    assert "nats kv put team-2 " in finding.cure


@pytest.mark.parametrize(("code", "config"), REPLACED.items(), ids=REPLACED)
def test_beside_a_fault_that_no_edit_mends_no_edit_is_advised(code: str, config: dict[str, Any]) -> None:
    """The server refuses every edit of such a bucket, also the one that would mend something else."""
    found = findings(**{"max_age": SECOND, "no_ack": True, **config})
    assert {finding.code for finding in found} == {code, "bucket_ttl", "bucket_no_ack"}
    assert len({finding.cure for finding in found}) == 1


def test_all_faults_are_told_at_once() -> None:
    """An operator who learns of one fault a deployment needs a day for a bucket."""
    merged = {name: value for config in EDITED.values() for name, value in config.items()}
    found = findings(max_payload=1, api_level=0, **merged)
    assert sorted(finding.code for finding in found) == sorted([*EDITED, "server_max_payload", "server_too_old"])


@pytest.mark.parametrize("limit", ["max_bytes", "max_msgs"])
def test_discard_old_is_refused_only_with_a_limit_to_discard_at(limit: str) -> None:
    """Fault 21: at the limit the oldest memories vanish; without one none ever does."""
    assert codes(discard="old", **{limit: 10}) == ["bucket_discards_old"]
    assert codes(discard="old", **{limit: 0}) == []
    assert codes(discard="old", max_msgs_per_subject=5) == []
    assert codes(discard="new", **{limit: 10}) == []


@pytest.mark.parametrize("cap", [-1, 0, MAX_ENTRY_BYTES, 131_072])
def test_a_cap_that_an_entry_fits_is_let_pass(cap: int) -> None:
    """Also no cap at all, which a server writes as -1 and leaves out as 0."""
    assert codes(max_msg_size=cap) == []


def test_a_max_payload_below_an_entry_is_found() -> None:
    """A full memory would cost the whole connection, not only the write."""
    assert codes(max_payload=MAX_ENTRY_BYTES) == []
    (finding,) = findings(max_payload=MAX_ENTRY_BYTES - 1)
    assert finding.code == "server_max_payload"
    assert '"max_payload: 1MB"' in finding.cure


@pytest.mark.parametrize(("level", "found"), [(None, []), (0, ["server_too_old"]), (1, []), (CURRENT, [])])
def test_a_server_that_ignores_a_condition_on_a_prefix_is_found(level: int | None, found: list[str]) -> None:
    """Fault 11: there, creators that race for the last place all win. Not asked for, it is not judged."""
    assert codes(api_level=level) == found


@pytest.mark.parametrize(
    ("level", "command"), [(None, "stream add KV_team-2"), (1, "stream add KV_team-2"), (2, "kv edit team")]
)
def test_the_cure_of_too_few_consumers_is_one_that_the_server_carries_out(level: int | None, command: str) -> None:
    """A server before 2.12 refuses to change how many consumers a stream allows."""
    (finding,) = findings(api_level=level, max_consumers=1)
    assert finding.cure.startswith(f"nats {command}")


@pytest.mark.parametrize("allowed", [-1, 0, MIN_CONSUMERS])
def test_enough_consumers_or_no_limit_are_let_pass(allowed: int) -> None:
    """A careful operator limits them, since a server does too."""
    assert codes(max_consumers=allowed) == []


@pytest.mark.parametrize("idle", [0, 30 * SECOND, 3600 * SECOND])
def test_a_consumer_limit_that_listings_keep_is_let_pass(idle: int) -> None:
    """The limit tidies up after other programs."""
    assert codes(consumer_limits={"inactive_threshold": idle, "max_ack_pending": 1}) == []


def test_a_mirror_names_the_bucket_to_open_instead() -> None:
    """Promoted, a mirror goes on without its origin: two half memories. So that is not advised."""
    mirrored = {"mirror": {"name": "KV_origin", "external": {"api": "$JS.hub.API"}}, "subjects": None}
    (finding,) = findings(**mirrored, max_age=SECOND)
    assert (finding.code, finding.cure) == ("bucket_mirror", "open the bucket that it mirrors: origin")
    (namesake,) = findings(mirror={"name": "KV_team"}, subjects=None)
    assert "in its own domain" in namesake.cure


@pytest.mark.parametrize(
    "subjects", [None, [], ["$KV.team.>", "more"], ["$KV.team.a.>"], ["$KV.team.*"], [">"]], ids=str
)
def test_other_subjects_than_those_of_the_bucket_are_found(subjects: list[str] | None) -> None:
    """Too few refuse legal keys; too many count foreign messages as the bucket's."""
    assert codes(subjects=subjects) == ["bucket_subjects"]


@pytest.mark.parametrize("fault", [*EDITED.values(), *REPLACED.values(), {"max_payload": 1}, {"api_level": 0}], ids=str)
def test_a_finding_is_fit_to_be_shown(fault: dict[str, Any]) -> None:
    """It ends up in logs and before models: one sentence, then the cure, and nothing of the host's."""
    (finding,) = findings(**fault)
    assert finding.problem.endswith(".")
    assert "\n" not in str(finding)
    assert "/" not in str(finding)
    assert str(BucketUnfitError("team", [finding])).endswith(finding.cure)


# -- What the server says ------------------------------------------------------------------


def test_facts_are_what_the_binding_needs() -> None:
    """The incarnation, the replicas, direct reads and the cap decide how a bucket is used."""
    known = facts()
    assert (known.bucket, known.created, known.replicas) == ("team", "2026-01-01T00:00:00Z", 3)
    assert (known.allow_direct, known.max_message_size) == (True, 131_072)
    assert facts(max_msg_size=-1).max_message_size is None


def test_a_server_of_another_release_is_understood() -> None:
    """A new field, or one left out at its zero value, must not stop a fleet at an upgrade."""
    sparse = {"name": "KV_team", "subjects": ["$KV.team.>"], "storage": "file", "invented_later": {"a": [1]}}
    known = StreamFacts.of(json.dumps({"config": sparse, "created": "x", "alternates": None}).encode())
    assert examine(known, max_payload=ROOMY, api_level=CURRENT) == ()
    assert (known.allow_direct, known.max_message_size) == (False, None)


@pytest.mark.parametrize(
    "answer", [b"", b"[]", b'{"error": {"code": 404, "err_code": 10059, "description": "stream not found"}}']
)
def test_an_answer_without_a_stream_is_no_facts(answer: bytes) -> None:
    """Taken for facts, an error would be a bucket with nothing wrong."""
    with pytest.raises(msgspec.DecodeError):
        StreamFacts.of(answer)


@pytest.mark.parametrize(
    ("answer", "level"),
    [
        (b'{"streams": 1, "api": {"level": 5, "total": 9, "errors": 0}}', 5),
        (b'{"streams": 1, "api": {"total": 9, "errors": 0}}', 0),
        (b'{"streams": 1}', 0),
    ],
)
def test_a_server_that_names_no_level_is_of_level_zero(answer: bytes, level: int) -> None:
    """So answers every server before 2.11: taken for unknown, it would not be judged."""
    assert api_level_of(answer) == level
