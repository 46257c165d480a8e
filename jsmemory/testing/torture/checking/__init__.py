"""
The checker: records and final states in, violations out. A pure function, which can be run again on kept records.

`guarantees` names what is promised, `authority` works out what each run had seen, `steps`
and `ordering` look for an order of the writes of a key that explains every answer, `naming`
tells what is broken where there is none. Each family of guarantees has its room: `answers`,
`writes`, `listings`, `sessions`, `capacity`, and `streams` for what the stream itself shows.
"""

from dataclasses import dataclass

from jsmemory.testing.torture.calls import History
from jsmemory.testing.torture.checking.answers import check_answers
from jsmemory.testing.torture.checking.authority import authorities
from jsmemory.testing.torture.checking.capacity import check_capacity
from jsmemory.testing.torture.checking.guarantees import Guarantee, Violation
from jsmemory.testing.torture.checking.listings import check_listings, looks_of
from jsmemory.testing.torture.checking.sessions import check_sessions
from jsmemory.testing.torture.checking.streams import check_stream
from jsmemory.testing.torture.checking.writes import check_writes

__all__ = ["Checked", "Guarantee", "Violation", "check"]


@dataclass(frozen=True, slots=True)
class Checked:
    """
    What the checker has found.

    Attributes:
        violations: Guarantees that were broken, each with the history that shows it.
        undecided: Keys whose calls overlapped in too many ways to be followed.
    """

    violations: tuple[Violation, ...]
    undecided: tuple[str, ...]


def check(history: History) -> Checked:
    """Hold a run against every guarantee."""
    seen = authorities(history)
    ordered = check_writes(history, seen, looks_of(history))
    found = [
        *check_answers(history),
        *check_stream(history, seen),
        *ordered.violations,
        *check_listings(history),
        *check_sessions(history, seen),
        *check_capacity(history),
    ]
    return Checked(tuple(found), ordered.undecided)
