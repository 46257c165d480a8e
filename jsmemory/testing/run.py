"""
Running cases without pytest, for a store that is tried in a script, a notebook or a service.

    report = await run_cases(MyHarness, STORE_CASES)
    print(report)

A case is kept, broken, or not checked: what needs a hand that the harness does not have says
nothing of the store. The report counts them apart.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final, Literal, TypeVar

from jsmemory.testing.case import Case
from jsmemory.testing.cases import BACKEND_CASES, STORE_CASES
from jsmemory.testing.harness import BackendHarness, Harness, Lacking, Need, WrongHarness

H = TypeVar("H", bound=Harness)

Verdict = Literal["kept", "broken", "gap", "closed", "unchecked"]
"""
Kept; broken; known to be broken, and it is; known to be broken, and it is not any more; not
checked, as the harness has no hand for it.
"""

PATIENCE: Final = 120.0
"""Seconds after which a case counts as hanging. A case takes a fraction of one to a few."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """
    What came of one case.

    Attributes:
        case: Its name.
        verdict: Whether the promise was kept.
        reason: What went wrong, or why it was known to, or was not checked; "" where it was kept.
    """

    case: str
    verdict: Verdict
    reason: str = ""

    def __str__(self) -> str:
        return f"{self.verdict:10}{self.case}" + (f": {self.reason}" if self.reason else "")


@dataclass(frozen=True, slots=True)
class Report:
    """What came of all cases, in their order."""

    outcomes: tuple[Outcome, ...]

    @property
    def is_good(self) -> bool:
        """Whether all that was checked was kept, save what is known to be broken and still is."""
        return all(outcome.verdict in ("kept", "gap", "unchecked") for outcome in self.outcomes)

    @property
    def is_complete(self) -> bool:
        """Whether every case was checked."""
        return not self.of("unchecked")

    def of(self, verdict: Verdict) -> tuple[Outcome, ...]:
        """The outcomes with one verdict."""
        return tuple(outcome for outcome in self.outcomes if outcome.verdict == verdict)

    def __str__(self) -> str:
        told = [str(outcome) for outcome in self.outcomes if outcome.verdict not in ("kept", "unchecked")]
        # One line for each hand that is missing, not one for each of its cases.
        for reason, count in Counter(outcome.reason for outcome in self.of("unchecked")).items():
            told.append(f"{'unchecked':10}{count} {'promise' if count == 1 else 'promises'}: {reason}")
        counts = [f"{len(self.of('kept'))} of {len(self.outcomes)} promises kept", f"{len(self.of('broken'))} broken"]
        words: tuple[tuple[Verdict, str], ...] = (
            ("gap", "known to be broken"),
            ("closed", "kept that were said not to be"),
            ("unchecked", "not checked"),
        )
        counts += [f"{len(found)} {said}" for verdict, said in words if (found := self.of(verdict))]
        return "\n".join([*told, ", ".join(counts)])


async def check_case(case: Case[H], harness: Callable[[], H]) -> None:
    """
    Run one case on a harness of its own; raises what it raises.

    Raises:
        PromiseBroken: the store did not do what the contract says.
        Lacking: the harness does not have what the case needs.
        TimeoutError: the store hangs.
        WrongHarness: the case is for drivers, and the harness has none.
    """
    made = harness()
    if case in BACKEND_CASES and not isinstance(made, BackendHarness):
        raise WrongHarness(_NO_DRIVER.format(type(made).__name__))
    async with asyncio.timeout(PATIENCE), made as keyspace:
        await case.check(keyspace)


async def run_case(case: Case[H], harness: Callable[[], H]) -> Outcome:
    """
    Run one case, and tell what came of it.

    Raises:
        WrongHarness: the harness is none, or is none for this case.
    """
    refuse_slips(harness, [case])
    known = known_gaps(case, harness)
    try:
        await check_case(case, harness)
    except WrongHarness:
        raise
    except Lacking as error:
        return Outcome(case.name, "unchecked", unchecked_for(error, harness))
    except Exception as error:
        if known is not None:
            return Outcome(case.name, "gap", known)
        return Outcome(case.name, "broken", f"{type(error).__name__}: {error}")
    if known is not None:
        return Outcome(case.name, "closed", "It is kept now; take the gap away.")
    return Outcome(case.name, "kept")


async def run_cases(harness: Callable[[], H], cases: Iterable[Case[H]]) -> Report:
    """
    Run cases one after the other, each on a harness of its own.

    Args:
        harness: The harness class, or what makes one.
        cases: `STORE_CASES`, or, for a `BackendHarness`, `BACKEND_CASES` too.

    Raises:
        WrongHarness: the harness is none, or is none for these cases, or its `lacks` or `gaps`
            name what there is not.
    """
    cases = tuple(cases)
    refuse_slips(harness, cases)
    return Report(tuple([await run_case(case, harness) for case in cases]))


def known_gaps(case: Case[H], harness: Callable[[], H]) -> str | None:
    """
    Why a harness says that a case fails; None where it does not say so.

    Args:
        case: The case.
        harness: The harness class. Any other callable says nothing.
    """
    for gap in getattr(harness, "gaps", ()):
        if gap.case == case.name:
            return str(gap.reason)
    lacks = getattr(harness, "lacks", {})
    missing = [f"no {need}: {lacks[need]}" for need in sorted(case.needs) if need in lacks]
    return "; ".join(missing) or None


def unchecked_for(error: Lacking, harness: Callable[[], Harness]) -> str:
    """Why a case was not checked: in the words of the harness where it has any."""
    declared = getattr(harness, "lacks", {}).get(error.need)
    return str(error) if declared is None else f"no {error.need}: {declared}"


def refuse_slips(harness: Callable[[], H], cases: Iterable[Case[H]]) -> None:
    """
    Refuse what could only be a slip, before it makes every case fail, or excuses nothing.

    Raises:
        WrongHarness: the harness is an object, is none for these cases, or names in `lacks` or
            `gaps` what there is not.
    """
    if not callable(harness):
        raise WrongHarness("What was given is no harness class. Give the class, not an object of it.")
    cases = tuple(cases)
    whose = getattr(harness, "__name__", "The harness")
    if any(case in BACKEND_CASES for case in cases) and (
        isinstance(harness, type) and not issubclass(harness, BackendHarness)
    ):
        raise WrongHarness(_NO_DRIVER.format(whose))
    known = {case.name for case in STORE_CASES} | {case.name for case in BACKEND_CASES} | {case.name for case in cases}
    if unknown := [gap.case for gap in getattr(harness, "gaps", ()) if gap.case not in known]:
        raise WrongHarness(f"{whose} names gaps that are no cases: {', '.join(unknown)}. Use the names of cases.")
    if unknown := [str(need) for need in getattr(harness, "lacks", {}) if need not in set(Need)]:
        raise WrongHarness(
            f"{whose} lacks hands that there are not: {', '.join(unknown)}. The hands are {', '.join(Need)}."
        )


_NO_DRIVER: Final = (
    "{} has no driver, and BACKEND_CASES are about drivers. Run STORE_CASES on it; or, if there is "
    "a Backend under the store, make it a BackendHarness, whose `drive` gives that Backend."
)
