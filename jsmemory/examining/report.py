"""What an examination comes to: checks, each with a verdict, and findings with their cures."""

from dataclasses import dataclass
from enum import StrEnum

from jsmemory.findings import Finding


class Verdict(StrEnum):
    """How a check came out, from the best to the worst."""

    OK = "ok"
    UNKNOWN = "unknown"
    """Nobody here can see it, as without a right or a monitoring page; never that of a whole report."""
    ADVICE = "advice"
    """It could be better, and nothing is wrong."""
    WARNING = "warning"
    """It will hurt one day: to be mended, and the store can be used."""
    DENIED = "denied"
    """The credentials in use may not do what they are for."""
    UNANSWERED = "unanswered"
    """Nobody answered who had to: to be looked at again."""
    FAULT = "fault"
    """Memories are lost or refused."""


_ORDER = tuple(Verdict)


@dataclass(frozen=True, slots=True)
class Check:
    """
    One thing that was looked at.

    Attributes:
        name: A stable word for programs, e.g. ``replicas``.
        verdict: How it came out.
        said: What was found, in few words.
        findings: What is wrong, each with its cure; nothing where the verdict is ok or unknown.
    """

    name: str
    verdict: Verdict
    said: str
    findings: tuple[Finding, ...] = ()


@dataclass(frozen=True, slots=True)
class Report:
    """
    All that an examination found.

    Attributes:
        backend: Which backend was examined, by its registered name.
        location: The operator's identifier: a bucket; ``""`` for files.
        checks: In the order in which they are best read.
    """

    backend: str
    location: str
    checks: tuple[Check, ...]

    @property
    def verdict(self) -> Verdict:
        """That of the worst check; what cannot be seen counts as nothing found."""
        seen = (check.verdict for check in self.checks if check.verdict is not Verdict.UNKNOWN)
        return max(seen, key=_ORDER.index, default=Verdict.OK)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """All findings, those of the worst checks first."""
        ranked = sorted(self.checks, key=lambda check: -_ORDER.index(check.verdict))
        return tuple(finding for check in ranked for finding in check.findings)


def ok(name: str, said: str) -> Check:
    """A check with nothing to find."""
    return Check(name, Verdict.OK, said)


def unknown(name: str, said: str) -> Check:
    """A check that cannot be made from here."""
    return Check(name, Verdict.UNKNOWN, said)


def found(name: str, verdict: Verdict, code: str, problem: str, cure: str, *, said: str = "") -> Check:
    """
    A check with one finding.

    Args:
        name: Of the check.
        verdict: How bad it is.
        code: Of the finding.
        problem: What is wrong and who would suffer, in one sentence.
        cure: The command or the words that mend it.
        said: What was found, in few words; by default the problem itself.
    """
    return Check(name, verdict, said or problem, (Finding(code, problem, cure),))
