"""The kit itself: what it says of stores that fail, hang, or are better than they were said to be."""

import asyncio
import subprocess
import sys
import textwrap
from collections.abc import Mapping
from typing import Any, ClassVar

import pytest

from jsmemory import EntryNotFoundError, Store, StoreFullError, testing
from jsmemory.backend import Backend
from jsmemory.backends.in_process import InProcessBackend
from jsmemory.testing import (
    BACKEND_CASES,
    STORE_CASES,
    BackendHarness,
    Gap,
    Harness,
    Lacking,
    Need,
    WrongHarness,
    run,
    run_case,
    run_cases,
)
from jsmemory.testing.case import named
from jsmemory.testing.expecting import PromiseBroken, refused
from jsmemory.testing.harnesses.in_process import InProcessHarness
from jsmemory.testing.pytest_cases import backend_cases, store_cases

ONE = "listing/an_empty_store_lists_nothing"
NEEDS_PEEK = "deletion/deleting_what_is_absent_writes_nothing"
NEEDS_PLANT = "foreign/a_planted_entry_is_an_entry"
FORMAT = "no_value_is_larger_than_operators_are_told"


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


class Shared(BackendHarness):
    """The five lines, for a driver that is sound."""

    def __init__(self) -> None:
        self._backend = InProcessBackend()

    async def drive(self) -> Backend:
        return self._backend


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


async def test_what_needs_a_hand_that_nobody_wrote_is_not_checked() -> None:
    """A case that did not run says nothing of the store: it would count as kept, or blame a sound store."""
    outcome = await run_case(named(STORE_CASES, NEEDS_PEEK), Bare)
    assert outcome.verdict == "unchecked"
    assert "the harness has no 'peek', which shows what is stored under a key" in outcome.reason
    assert outcome.reason.endswith("Write the method, or say in `lacks` why it cannot be had.")


async def test_the_report_counts_apart_what_was_kept_broken_and_not_checked() -> None:
    """Told "88 of 105", an author looks for seventeen faults in a driver that has none."""
    cases = [named(STORE_CASES, name) for name in (ONE, NEEDS_PEEK, "stored_format/" + FORMAT, NEEDS_PLANT)]
    report = await run_cases(Bare, cases)
    assert (report.is_good, report.is_complete) == (True, False)
    *told, last = str(report).splitlines()
    assert last == "1 of 4 promises kept, 0 broken, 3 not checked"
    assert [line.split(",")[0] for line in told] == [
        "unchecked 2 promises: the harness has no 'peek'",
        "unchecked 1 promise: the harness has no 'plant'",
    ]
    report = await run_cases(Modest, [named(STORE_CASES, ONE)])
    assert (report.is_good, report.is_complete, str(report)) == (True, True, "1 of 1 promises kept, 0 broken")


async def test_a_store_of_five_lines_is_sound_as_far_as_it_can_be_seen() -> None:
    """The first thing that a new author tries is the printed lines, and they must not be red."""
    report = await run_cases(Shared, STORE_CASES)
    assert report.is_good, str(report)
    assert {outcome.case for outcome in report.of("unchecked")} == {case.name for case in STORE_CASES if case.needs}
    assert len(report.of("kept")) == sum(not case.needs for case in STORE_CASES)


def test_under_pytest_what_is_not_checked_is_skipped_with_the_reason() -> None:
    """A red test for a hand that nobody wrote hides those that are red for a fault."""
    test = store_cases(Bare)
    with pytest.raises(pytest.skip.Exception, match="not checked: the harness has no 'peek'"):
        test(case=named(STORE_CASES, NEEDS_PEEK))


def test_under_pytest_a_lack_that_is_declared_stays_strict() -> None:
    """A skip in its place would stay when the reason has gone."""

    class Honest(Bare):
        lacks: ClassVar[Mapping[Need, str]] = {Need.PEEK: "there are no bytes"}

    with pytest.raises(Lacking):
        store_cases(Honest)(case=named(STORE_CASES, NEEDS_PEEK))


async def test_a_hand_that_is_lacking_is_told_in_the_words_of_the_harness() -> None:
    """Who relies on the store wants to know why it was not checked."""

    class Honest(Bare):
        lacks: ClassVar[Mapping[Need, str]] = {Need.PEEK: "there are no bytes"}

    outcome = await run_case(named(STORE_CASES, NEEDS_PEEK), Honest)
    assert (outcome.verdict, outcome.reason) == ("unchecked", "no peek: there are no bytes")


async def test_a_lack_that_is_no_hand_is_refused() -> None:
    """A lack with a slip of the pen would excuse nothing, and nobody would notice."""

    class Slip(InProcessHarness):
        lacks: ClassVar[Mapping[Any, str]] = {"neighbor": "a slip of the pen"}

    with pytest.raises(WrongHarness, match=r"neighbor\. The hands are plant, peek, recreate, neighbour"):
        store_cases(Slip)
    with pytest.raises(WrongHarness, match="neighbor"):
        await run_cases(Slip, STORE_CASES)


async def test_cases_for_drivers_are_refused_where_there_is_no_driver() -> None:
    """Fifteen cases would be red, each for an attribute that is missing."""
    bare: Any = Bare
    made: Any = lambda: Bare()  # noqa: E731
    for harness in (bare, made):
        with pytest.raises(WrongHarness, match=r"Bare has no driver, .* make it a BackendHarness"):
            await run_cases(harness, BACKEND_CASES)
    with pytest.raises(WrongHarness, match="Bare has no driver"):
        backend_cases(bare)
    with pytest.raises(WrongHarness, match="Give the class, not an object"):
        await run_cases(bare(), STORE_CASES)


def test_without_pytest_its_face_says_what_to_do() -> None:
    """A ModuleNotFoundError three files down tells nobody that the kit also runs without pytest."""
    code = (
        "import sys; sys.modules['pytest'] = None\nimport jsmemory.testing\n"
        "try:\n    import jsmemory.testing.pytest_cases\nexcept ImportError as error:\n    print(error)"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert ran.stdout.strip() == (
        "jsmemory.testing.pytest_cases needs pytest. Install it, or run the cases with jsmemory.testing.run_cases."
    )


async def test_the_printed_example_runs_and_keeps_every_promise() -> None:
    """An author copies it, and looks for the fault in a driver of his own."""
    source = textwrap.dedent(
        (testing.__doc__ or "").split("All of it, with a driver over a dict:\n")[1].split("\n`")[0]
    )
    names: dict[str, Any] = {}
    exec(compile(source, "example", "exec"), names)
    assert callable(names["test_store"])
    assert callable(names["test_driver"])
    for cases in (STORE_CASES, BACKEND_CASES):
        report = await run_cases(names["DictHarness"], cases)
        assert not report.of("broken"), str(report)
        assert not report.of("closed"), str(report)
        assert {outcome.case for outcome in report.of("unchecked")} == {
            case.name for case in cases if Need.RECREATE in case.needs
        }


async def test_a_gap_that_is_no_case_is_refused() -> None:
    """A gap with a slip of the pen would excuse nothing, and nobody would notice."""

    class Slip(InProcessHarness):
        gaps: ClassVar[tuple[Gap, ...]] = (Gap("listing/no_such_case", "a slip of the pen"),)

    with pytest.raises(WrongHarness, match="no_such_case"):
        store_cases(Slip)
    with pytest.raises(WrongHarness, match="no_such_case"):
        await run_cases(Slip, STORE_CASES)


def test_a_refusal_must_be_the_one_that_was_promised() -> None:
    """Nothing raised, another refusal, a foreign error: each is a broken promise, and told as such."""
    with pytest.raises(PromiseBroken, match="nothing was raised"), refused(EntryNotFoundError, "a read"):
        pass
    with pytest.raises(PromiseBroken, match="got StoreFullError"), refused(EntryNotFoundError, "a read"):
        raise StoreFullError
    with pytest.raises(PromiseBroken, match="foreign KeyError"), refused(EntryNotFoundError, "a read"):
        raise KeyError
