"""Hand-written histories for the checker: one line for a call, times in seconds."""

import pytest

from jsmemory.testing.torture.calls import History
from jsmemory.testing.torture.checking import Guarantee, check
from jsmemory.testing.torture.records import (
    Began,
    Died,
    Ended,
    Record,
    Rested,
    Restored,
    Set,
    Stored,
    Suspended,
    Wiped,
)


class Story:
    """Calls on the key ``k``, unless they name another, in the keyspace ``few``."""

    def __init__(self, capacity: int = 1024) -> None:
        self.records: list[Record] = [Set("file", 1, 0, 1.0, 1, capacity, 0.0)]
        self._calls = 0

    def call(self, operation, start, end, value="", *, run="r", store="s", key="k", code="", outcome="", **ended):
        """A call; without a code it is well. ``end`` None leaves it open."""
        self._calls += 1
        begun = value if operation in ("create", "update") else ""
        self.records.append(Began("w", self._calls, start, operation, store, run, "few", key, begun))
        if end is not None:
            outcome = outcome or ("refused" if code else "ok")
            shown = value if operation == "read" else ""
            self.records.append(Ended("w", self._calls, end, outcome, code, shown, **ended))

    def create(self, start, end, value, **more):
        self.call("create", start, end, value, **more)

    def update(self, start, end, value, **more):
        self.call("update", start, end, value, **more)

    def read(self, start, end, value="", **more):
        self.call("read", start, end, value, **more)

    def delete(self, start, end, existed=True, **more):
        if not more.get("outcome") and end is not None:
            more["existed"] = existed
        self.call("delete", start, end, **more)

    def list(self, start, end, *listed, **more):
        pairs = tuple((entry, value) for entry, value in listed)
        self.call("list", start, end, key="", listed=pairs, **more)

    def suspend(self, at, run, snapshot="snap"):
        self.records.append(Suspended(run, snapshot, at))

    def restore(self, at, run, snapshot="snap"):
        self.records.append(Restored(run, snapshot, at))

    def wipe(self, began, ended):
        self.records.append(Wiped(began, ended))

    def die(self, at):
        self.records.append(Died("w", at))

    def stored(self, *values, key="k"):
        """The stream's history of a key; ``""`` is a delete marker."""
        for sequence, value in enumerate(values, 1):
            self.records.append(Stored(0, sequence, "few", key, value))

    def end(self, at=1000.0, is_whole_history=False, **entries):
        """The final state: values by key."""
        self.records.append(Rested("few", at, entries, is_whole_history))

    @property
    def broken(self) -> set[Guarantee]:
        """The guarantees that the checker finds broken."""
        return {violation.guarantee for violation in self.violations}

    @property
    def violations(self):
        checked = check(History.of(self.records))
        assert checked.undecided == ()
        return checked.violations


@pytest.fixture
def story() -> Story:
    """An empty history."""
    return Story()


@pytest.fixture
def small() -> Story:
    """An empty history of keyspaces that hold two entries."""
    return Story(capacity=2)
