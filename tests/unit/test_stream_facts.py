"""What a server says of a stream, and for how long its leader may have been alone."""

import json
import math

import pytest

from jsmemory.backends.jetstream.facts import StreamFacts

SECOND = 1_000_000_000


@pytest.mark.parametrize(
    ("replicas", "active", "seconds"),
    [
        (1, None, 0.0),
        (3, [0.3, 0.9], 0.3),
        (3, [7.5, 0.9], 0.9),
        (3, [7.5, 8.0], 7.5),
        (3, [0, 0.4], 0.4),
        (3, [0, 0], math.inf),
        (3, [], math.inf),
        (3, None, math.inf),
        (5, [0.1, 0.2, 9.0, 9.0], 0.2),
        (5, [0.1, 8.0, 9.0, 9.0], 8.0),
        (5, [0.1, 0, 0, 0], math.inf),
        (1, [0.1, 5.0], 0.1),
    ],
)
def test_a_leader_is_one_for_as_long_as_a_majority_was_heard_with_it(
    replicas: int, active: list[float] | None, seconds: float
) -> None:
    """It says of each of the others when it last heard of it, and 0 of who was never heard."""
    followers = None if active is None else [{"name": "n", "active": int(each * SECOND)} for each in active]
    said = {"config": {"name": "KV_b", "num_replicas": replicas}, "cluster": {"name": "c", "replicas": followers}}
    assert StreamFacts.of(json.dumps(said).encode()).unheard_for == pytest.approx(seconds)
