"""The kit itself: what it says of stores that fail, hang, or are better than they were said to be."""

import asyncio
from collections.abc import Mapping
from typing import ClassVar

import pytest

from jsmemory import EntryNotFoundError, Store, StoreFullError
from jsmemory.testing import BACKEND_CASES, STORE_CASES, Gap, Harness, Need, run, run_case, run_cases
from jsmemory.testing.case import named
from jsmemory.testing.expecting import PromiseBroken, refused
from jsmemory.testing.harnesses.in_process import InProcessHarness
from jsmemory.testing.pytest_cases import store_cases

ONE = "listing/an_empty_store_lists_nothing"


class Hanging(InProcessHarness):
    async def open(self, *, require_read_before_update: bool = True) -> Store:
        await asyncio.sleep(3600)
        raise AssertionError


class Better(InProcessHarness):
    gaps: ClassVar[tuple[Gap, ...]] = (Gap(ONE, "it was broken once"),)


class Modest(InProcessHarness):
    lacks: ClassVar[Mapping[Need, str]] = {Need.PEEK: "it was said to be impossible"}


class Bare(Harness):
    async def open(self, *, require_read_before_update: bool = True) -> Store:
        return await InProcessHarness().open(require_read_before_update=require_read_before_update)


def test_every_case_has_a_name_and_a_promise_of_its_own() -> None:
    """A report that names two cases alike, or says nothing of why, helps nobody."""
    cases = [(case.name, case.promise) for case in STORE_CASES] + [(case.name, case.promise) for case in BACKEND_CASES]
    assert len({name for name, _ in cases}) == len(cases)
    assert len({promise for _, promise in cases}) == len(cases)
    assert all(name.count("/") == 1 and promise.endswith(".") for name, promise in cases)


async def test_a_store_that_hangs_has_broken_its_promise(monkeypatch: pytest.MonkeyPatch) -> None:
    """A kit that waits for ever tells nothing at all."""
    monkeypatch.setattr(run, "PATIENCE", 0.01)
    outcome = await run_case(named(STORE_CASES, ONE), Hanging)
    assert outcome.verdict == "broken"


async def test_a_gap_that_has_closed_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """A gap that stays on the list would hide the next fault."""
    report = await run_cases(Better, [named(STORE_CASES, ONE)])
    assert [outcome.verdict for outcome in report.outcomes] == ["closed"]
    assert not report.is_good
    assert ONE in str(report)


async def test_a_lack_that_is_none_is_told() -> None:
    """What a harness says it cannot do is tried all the same."""
    outcome = await run_case(named(STORE_CASES, "deletion/deleting_what_is_absent_writes_nothing"), Modest)
    assert outcome.verdict == "closed"


async def test_a_lack_that_is_not_declared_is_a_failure() -> None:
    """A case that silently did not run would count as a promise kept."""
    outcome = await run_case(named(STORE_CASES, "deletion/deleting_what_is_absent_writes_nothing"), Bare)
    assert outcome.verdict == "broken"
    assert "peek" in outcome.reason


def test_a_gap_that_is_no_case_is_refused() -> None:
    """A gap with a slip of the pen would excuse nothing, and nobody would notice."""

    class Slip(InProcessHarness):
        gaps: ClassVar[tuple[Gap, ...]] = (Gap("listing/no_such_case", "a slip of the pen"),)

    with pytest.raises(LookupError, match="no_such_case"):
        store_cases(Slip)


def test_a_refusal_must_be_the_one_that_was_promised() -> None:
    """Nothing raised, another refusal, a foreign error: each is a broken promise, and told as such."""
    with pytest.raises(PromiseBroken, match="nothing was raised"), refused(EntryNotFoundError, "a read"):
        pass
    with pytest.raises(PromiseBroken, match="got StoreFullError"), refused(EntryNotFoundError, "a read"):
        raise StoreFullError
    with pytest.raises(PromiseBroken, match="foreign KeyError"), refused(EntryNotFoundError, "a read"):
        raise KeyError
