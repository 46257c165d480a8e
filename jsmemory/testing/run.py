"""
Running cases without pytest, for a store that is tried in a script, a notebook or a service.

    report = await run_cases(MyHarness, STORE_CASES)
    print(report)
"""

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final, Literal, TypeVar

from jsmemory.testing.case import Case
from jsmemory.testing.harness import Harness

H = TypeVar("H", bound=Harness)

Verdict = Literal["kept", "broken", "gap", "closed"]
"""Kept; broken; known to be broken, and it is; known to be broken, and it is not any more."""

PATIENCE: Final = 120.0
"""Seconds after which a case counts as hanging. A case takes a fraction of one to a few."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """
    What came of one case.

    Attributes:
        case: Its name.
        verdict: Whether the promise was kept.
        reason: What went wrong, or why it was known to; "" where it was kept.
    """

    case: str
    verdict: Verdict
    reason: str = ""

    def __str__(self) -> str:
        return f"{self.verdict:7}{self.case}" + (f": {self.reason}" if self.reason else "")


@dataclass(frozen=True, slots=True)
class Report:
    """What came of all cases, in their order."""

    outcomes: tuple[Outcome, ...]

    @property
    def is_good(self) -> bool:
        """Whether every promise was kept, save those that are known and still broken."""
        return all(outcome.verdict in ("kept", "gap") for outcome in self.outcomes)

    def of(self, verdict: Verdict) -> tuple[Outcome, ...]:
        """The outcomes with one verdict."""
        return tuple(outcome for outcome in self.outcomes if outcome.verdict == verdict)

    def __str__(self) -> str:
        told = [str(outcome) for outcome in self.outcomes if outcome.verdict != "kept"]
        return "\n".join([*told, f"{len(self.of('kept'))} of {len(self.outcomes)} promises kept"])


async def check_case(case: Case[H], harness: Callable[[], H]) -> None:
    """
    Run one case on a harness of its own; raises what it raises.

    Raises:
        PromiseBroken: the store did not do what the contract says.
        Lacking: the harness does not have what the case needs.
        TimeoutError: the store hangs.
    """
    async with asyncio.timeout(PATIENCE), harness() as keyspace:
        await case.check(keyspace)


async def run_case(case: Case[H], harness: Callable[[], H]) -> Outcome:
    """Run one case, and tell what came of it."""
    known = known_gaps(case, harness)
    try:
        await check_case(case, harness)
    except Exception as error:
        if known is not None:
            return Outcome(case.name, "gap", known)
        return Outcome(case.name, "broken", f"{type(error).__name__}: {error}")
    if known is not None:
        return Outcome(case.name, "closed", "It is kept now; take the gap away.")
    return Outcome(case.name, "kept")


async def run_cases(harness: Callable[[], H], cases: Iterable[Case[H]]) -> Report:
    """Run cases one after the other, each on a harness of its own."""
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
