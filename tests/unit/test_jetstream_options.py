"""What a host may say about a JetStream store, and what is refused with the option's name."""

import inspect
from typing import Any

import msgspec
import pytest

from jsmemory.backends.jetstream import JetStreamStore
from jsmemory.backends.jetstream.options import JetStreamOptions, bind_seconds
from jsmemory.journal.jetstream import JetStreamJournal


def decode(**options: Any) -> JetStreamOptions:
    return msgspec.convert({"bucket": "team", **options}, JetStreamOptions)


def test_the_bucket_alone_is_enough_and_the_guards_are_on() -> None:
    """Whoever says nothing must get the safe store."""
    options = decode()
    assert options.require_read_before_update
    assert options.preflight
    assert options.prefix is None


def test_a_bind_outlasts_an_election_in_which_votes_split() -> None:
    """A fleet that starts after a crash would give up while the servers elect a leader, for twice 9 s at worst."""
    for bind in (JetStreamStore.bind, JetStreamJournal.bind):
        assert inspect.signature(bind).parameters["bind_timeout"].default is decode().bind_timeout is None
    assert bind_seconds(None, is_clustered=True) > 18
    assert bind_seconds(3.0, is_clustered=True) == 3.0


def test_where_there_is_nothing_to_elect_a_bind_takes_ten_seconds_at_most() -> None:
    """A server without JetStream, or a wrong domain, should be told before somebody presses Ctrl-C."""
    assert bind_seconds(None, is_clustered=False) == 10.0


def test_a_flat_keyspace_is_not_a_prefix_left_out() -> None:
    """Left out means the identity; taken for flat, every agent would share one memory."""
    assert decode(prefix="").prefix == ""
    assert decode(prefix=None).prefix is None


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("bucket", ""),
        ("bucket", "a.b"),
        ("bucket", "a b"),
        ("bucket", "a\n"),
        ("bucket", "b" * 201),
        ("bucket", 7),
        ("prefix", "a.b"),
        ("prefix", "a\n"),
        ("prefix", "*"),
        ("prefix", "p" * 201),
        ("write_budget", 0.05),
        ("write_budget", 301),
        ("write_budget", "15"),
        ("write_budget", float("nan")),
        ("bind_timeout", 0),
        ("bind_timeout", float("inf")),
        ("api_prefix", ""),
        ("api_prefix", "$JS.API."),
        ("api_prefix", "$JS.>"),
        ("api_prefix", "a b"),
        ("preflight", "no"),
        ("require_read_before_update", 0),
        ("ttl", 1),
    ],
)
def test_an_option_that_is_unknown_or_out_of_range_is_named(option: str, value: object) -> None:
    """A typo that is let pass is a setting that silently does not hold."""
    with pytest.raises(msgspec.ValidationError, match=option):
        decode(**{option: value})


@pytest.mark.parametrize("prefix", ["$JS.API", "$JS.hub.API", "team", "a.b-c_d.e"])
def test_an_api_as_an_account_imports_it_is_accepted(prefix: str) -> None:
    """Trust domains have an account each, and the API under a name of their own."""
    assert decode(api_prefix=prefix).api_prefix == prefix
