"""The checker proven by stores that are broken on purpose, one for each guarantee, in a short run each."""

import asyncio
from pathlib import Path

import pytest

from jsmemory.testing.torture import Guarantee, Report, Settings, Violation, examine, run
from jsmemory.testing.torture.jobs import FEW, FULL
from jsmemory.testing.torture.mutants import MUTANTS

_AT_ONCE = 4
_LONGEST_S = 16.0
_NOBODY = ""


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Report]:
    """What came of a run of each mutant, and of one of the store as it is."""
    folder = tmp_path_factory.mktemp("mutants")

    async def all_of_them() -> dict[str, Report]:
        turns = asyncio.Semaphore(_AT_ONCE)
        # The longest first, beside which all others have their turn.
        names = sorted([_NOBODY, *Guarantee], key=lambda name: name != Guarantee.CAPACITY)
        return dict(zip(names, await asyncio.gather(*(_run(name, folder, turns) for name in names)), strict=True))

    return asyncio.run(all_of_them())


async def _run(mutant: str, folder: Path, turns: asyncio.Semaphore) -> Report:
    """What came of a run; of a longer one where a busy machine has left a mutant no time to do harm."""
    # A store takes some time to fill up.
    seconds = 4.0 if mutant == Guarantee.CAPACITY else 2.0
    async with turns:
        report = await _run_for(seconds, mutant, folder)
        while mutant and not _found(report, mutant) and seconds < _LONGEST_S:
            seconds *= 2
            report = await _run_for(seconds, mutant, folder)
    return report


async def _run_for(seconds: float, mutant: str, folder: Path) -> Report:
    records = folder / f"{mutant or 'nobody'}-{seconds:.0f}"
    records.mkdir()
    settings = Settings(
        seconds=seconds,
        seed=1,
        # Whether a value was stored twice, the history of a stream shows without any doubt.
        backend="jetstream" if mutant == Guarantee.ONCE else "file",
        replicas=1,
        workers=2,
        pause=0.01,
        spaces=(FULL,) if mutant == Guarantee.CAPACITY else (FEW,),
        faults=frozenset({"directory made anew"} if mutant == Guarantee.ERA else ()),
        mutant=mutant,
    )
    await run(settings, records)
    return examine(records)


def _found(report: Report, guarantee: str) -> list[Violation]:
    """What breaks the guarantee."""
    return [each for each in report.checked.violations if each.guarantee == guarantee]


def test_a_store_that_is_not_broken_breaks_nothing(reports: dict[str, Report]) -> None:
    """Otherwise a violation would mean nothing."""
    assert reports[_NOBODY].calls > 100
    assert reports[_NOBODY].checked.violations == ()
    assert reports[_NOBODY].is_good


@pytest.mark.parametrize("guarantee", Guarantee)
def test_a_store_that_breaks_a_guarantee_is_caught_by_its_name(
    reports: dict[str, Report], guarantee: Guarantee
) -> None:
    """A checker that has never found anything has not been tried."""
    found = _found(reports[guarantee], guarantee)
    assert found, reports[guarantee]
    assert all(each.calls and str(each).startswith(f"{guarantee}: ") for each in found)
    # The history of one case is short enough to be read; that of a store too full shows who made it so.
    assert min(len(each.calls) for each in found) <= (16 if guarantee == Guarantee.CAPACITY else 6)


def test_there_is_a_mutant_for_each_guarantee_and_a_promise_in_words() -> None:
    """A guarantee that nothing ever breaks may not be checked at all."""
    assert set(MUTANTS) == set(Guarantee)
    assert all(guarantee.promise for guarantee in Guarantee)
