"""Scopes with one fault each: what a run is allowed to overwrite is only as safe as its record of it."""

from collections.abc import Callable
from typing import Any

import pytest

from jsmemory import Scope
from jsmemory.testing import STORE_CASES, run_case
from jsmemory.testing.case import named
from jsmemory.testing.harnesses.in_process import InProcessHarness

MUTANTS: list[tuple[type[InProcessHarness], str]] = []


def caught_by(*cases: str) -> Callable[[type[Scope]], type[Scope]]:
    """Make a harness whose runs have the mutant for a scope."""

    def enter(mutant: type[Scope]) -> type[Scope]:
        class Mutated(InProcessHarness):
            def scope(self) -> Scope:
                return mutant()

        Mutated.__name__ = mutant.__name__
        MUTANTS.extend((Mutated, case) for case in cases)
        return mutant

    return enter


@caught_by("scopes/a_damaged_snapshot_grants_nothing_of_the_rest")
class SavesWhatItCan(Scope):
    def restore(self, snapshot: object) -> str | None:
        assert isinstance(snapshot, dict)
        reason = None
        for realm, known in snapshot["realms"].items():
            for key, revision in known.items():
                reason = super().restore({"version": 1, "realms": {realm: {key: revision}}}) or reason
        return reason


@caught_by("scopes/a_snapshot_that_cannot_be_read_grants_nothing")
class SaysNothingOfADamagedSnapshot(Scope):
    def restore(self, snapshot: object) -> str | None:
        super().restore(snapshot)
        return None


@caught_by("scopes/what_the_scope_has_learnt_since_wins_over_a_snapshot")
class TakesASnapshotForTheNewest(Scope):
    def restore(self, snapshot: Any) -> str | None:
        fresh = Scope()
        reason = fresh.restore(snapshot)
        for realm, known in fresh.snapshot()["realms"].items():
            for key, revision in known.items():
                self.remember(realm, key, revision)
        return reason


@caught_by("scopes/a_restore_adds_to_what_is_there")
class ReplacesItselfByASnapshot(Scope):
    def restore(self, snapshot: object) -> str | None:
        self._revisions.clear()
        return super().restore(snapshot)


@caught_by("scopes/a_snapshot_of_nothing_says_that_there_is_nothing")
class TakesNoSnapshotOfNothing(Scope):
    last: dict[str, Any] | None = None

    def snapshot(self) -> dict[str, Any]:
        snapshot = super().snapshot()
        if snapshot["realms"] or self.last is None:
            self.last = snapshot
        return self.last if snapshot["realms"] else {}


@caught_by("scopes/a_snapshot_is_plain_data")
class LendsItsOwnRecord(Scope):
    def snapshot(self) -> dict[str, Any]:
        return {"version": 1, "realms": self._revisions}


@caught_by("realms/authority_ends_with_the_keyspace", "realms/authority_over_a_neighbours_key_is_worth_nothing_here")
class KnowsNoRealms(Scope):
    def remember(self, realm: str, key: str, revision: str) -> None:
        super().remember("any", key, revision)

    def revision_of(self, realm: str, key: str) -> str | None:
        return super().revision_of("any", key)


@caught_by("guard/a_mismatch_drops_the_old_revision", "guard/a_delete_drops_the_authority")
class ForgetsNothing(Scope):
    def forget(self, realm: str, key: str, revision: str | None = None) -> None:
        return


@pytest.mark.parametrize(("mutant", "case"), MUTANTS, ids=[f"{mutant.__name__}-{case}" for mutant, case in MUTANTS])
async def test_a_broken_scope_is_caught(mutant: type[InProcessHarness], case: str) -> None:
    """The case named beside the mutant is the one that notices it; the honest scope keeps it, as other tests show."""
    outcome = await run_case(named(STORE_CASES, case), mutant)
    assert outcome.verdict == "broken", outcome
