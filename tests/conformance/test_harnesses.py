"""The shipped harnesses have every hand, so that nothing is left unchecked here."""

import pytest

from jsmemory.testing import Harness, Need
from jsmemory.testing.harness import hands_of
from jsmemory.testing.harnesses.file import FileHarness
from jsmemory.testing.harnesses.in_process import InProcessHarness
from jsmemory.testing.harnesses.jetstream import JetStreamHarness


@pytest.mark.parametrize("harness", [FileHarness, InProcessHarness, JetStreamHarness])
def test_a_shipped_harness_lacks_nothing(harness: type[Harness]) -> None:
    """The kit skips what a harness has no hand for: a promise of our own stores could go unchecked."""
    assert hands_of(harness) == set(Need)
    assert harness.lacks == {}
    assert harness.gaps == ()
