"""The bucket we ask for is one that holds what we store."""

import pytest

from jsmemory.backends.jetstream import messages
from jsmemory.backends.jetstream.recipe import MAX_VALUE_SIZE, BucketRecipe, missing_bucket_cure, successor
from jsmemory.entries import Draft
from jsmemory.errors import BucketNotFoundError
from jsmemory.frontmatter import serialise
from jsmemory.limits import MAX_CONTENT_BYTES, MAX_DESCRIPTION_LENGTH, MAX_ENTRY_BYTES

WORST = ["a", "\\", '"', "\x85", "é", "\u2028", "\ufeff", "語", "\U0001f9e0", "\U0010ffff"]
"""Characters that take many bytes, in UTF-8, as an escape of YAML or percent-encoded."""

TWENTY_DIGITS = str(2**64 - 1)


def essential_headers() -> dict[str, str]:
    """Those that a write cannot do without, at their longest."""
    return {
        messages.OPERATION: messages.new_operation(),
        messages.PREVIOUS: messages.new_operation(),
        messages.EXPECTED: TWENTY_DIGITS,
        messages.EXPECTED_WITHIN: f"$KV.{'b' * 200}.{'p' * 200}.>",
    }


def test_the_line_is_exactly_this() -> None:
    """It stands in documents, in errors and in scripts of operators."""
    assert BucketRecipe(bucket="team").nats_kv_add() == (
        "nats kv add team --storage=file --replicas=1 --history=1 --max-value-size=128K"
    )
    assert BucketRecipe(bucket="a_B-9", replicas=3, max_value_size=1024 * 1024).nats_kv_add() == (
        "nats kv add a_B-9 --storage=file --replicas=3 --history=1 --max-value-size=1024K"
    )


def test_a_missing_bucket_is_answered_with_the_line() -> None:
    """The first thing that a new user meets must be something to paste."""
    assert str(BucketNotFoundError("team", missing_bucket_cure("team", is_clustered=False))).endswith(
        "nats kv add team --storage=file --replicas=1 --history=1 --max-value-size=128K"
    )
    assert "--replicas=3 " in missing_bucket_cure("team", is_clustered=True)


@pytest.mark.parametrize("character", WORST, ids=ascii)
def test_the_longest_entry_fits_with_every_header(character: str) -> None:
    """Fault 13: a full memory with an awkward description fails on a bucket sized exactly as advised."""
    draft = Draft.of("x" + character * (MAX_DESCRIPTION_LENGTH - 2) + "x", "c" * MAX_CONTENT_BYTES)
    headers = {**essential_headers(), messages.DESCRIPTION: messages.encode_description(draft.description)}
    assert messages.fits(headers, serialise(draft), MAX_VALUE_SIZE)


@pytest.mark.parametrize("character", WORST, ids=ascii)
def test_the_longest_entry_fits_a_bucket_capped_at_exactly_an_entry(character: str) -> None:
    """Preflight lets that bucket pass, so every legal memory must be storable there."""
    draft = Draft.of("x" + character * (MAX_DESCRIPTION_LENGTH - 2) + "x", "c" * MAX_CONTENT_BYTES)
    assert messages.fits(essential_headers(), serialise(draft), MAX_ENTRY_BYTES)


@pytest.mark.parametrize("bucket", ["", "a.b", "a b", "a\n", "a;b", "$(b)", "a'b", "ä", "*", "b" * 201])
def test_a_name_that_no_bucket_can_have_never_reaches_a_command_line(bucket: str) -> None:
    """An operator pastes what an error prints: it must not hold somebody else's command."""
    with pytest.raises(ValueError, match="bucket's name"):
        BucketRecipe(bucket=bucket)


@pytest.mark.parametrize("size", [0, -1024, 69_600, 1])
def test_a_size_that_the_command_line_cannot_say_is_refused(size: int) -> None:
    """Rounded down it would be a bucket that preflight refuses."""
    with pytest.raises(ValueError, match="KiB"):
        BucketRecipe(bucket="team", max_value_size=size)


def test_a_successor_is_all_that_was_asked_for_under_another_name() -> None:
    """Mending one fault must not cost the copy that survives the next crash."""
    recipe = BucketRecipe(bucket="team", replicas=5, history=2, allow_rollup=False, cluster="east")
    assert successor(recipe) == BucketRecipe(bucket="team-2", replicas=5, history=2, allow_rollup=False, cluster="east")


def test_a_bucket_of_the_longest_name_has_a_successor() -> None:
    """A check that raises while it words its answer tells nobody what is wrong."""
    longest = "b" * 200
    assert len(successor(BucketRecipe(bucket=longest)).bucket) == 200
    assert successor(BucketRecipe(bucket=longest)).bucket != longest
