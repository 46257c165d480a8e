"""
The guarantees about the writes of a key: what was acknowledged, overwritten, deleted and refused.

One order of the writes has to explain every answer; `naming` tells which guarantee is broken
where none does.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from jsmemory.testing.torture.calls import Call, History
from jsmemory.testing.torture.checking.authority import authorities, may_have_lapsed
from jsmemory.testing.torture.checking.codes import CHANGED, UNREAD
from jsmemory.testing.torture.checking.guarantees import Guarantee, Violation, violation
from jsmemory.testing.torture.checking.naming import named
from jsmemory.testing.torture.checking.ordering import Ordering, Undecided
from jsmemory.testing.torture.checking.steps import Step, steps_of


@dataclass(frozen=True, slots=True)
class Ordered:
    """
    What came of the search for orders.

    Attributes:
        violations: Answers that no order explains.
        undecided: Keys with too many orders to follow.
    """

    violations: tuple[Violation, ...]
    undecided: tuple[str, ...]


def check_writes(
    history: History, seen: Mapping[Call, Call], looks: Mapping[tuple[str, str], Sequence[Step]]
) -> Ordered:
    """
    Follow the writes of every key.

    Args:
        history: The run.
        seen: What the runs had seen, by their updates.
        looks: What listings and the final states have shown of each key.
    """
    shown = _shown(history)
    may_know = authorities(history, forgets=False)
    found: list[Violation] = []
    undecided: list[str] = []
    for (space, key), calls in history.by_key().items():
        if is_steady(calls):
            continue
        found.extend(_unauthorised(calls, seen, may_know, history))
        steps = steps_of(calls, seen, shown, history)
        try:
            contradictions = Ordering([*steps, *looks.get((space, key), ())]).contradictions()
        except Undecided:
            undecided.append(f"{space}/{key}")
            continue
        found.extend(named(each, calls, seen, history.wipes) for each in contradictions)
    return Ordered(tuple(found), tuple(undecided))


def is_steady(calls: Sequence[Call]) -> bool:
    """Whether a key was written once, by a create that returned, and never again."""
    writes = [call for call in calls if call.is_write]
    return len(writes) == 1 and writes[0].operation == "create" and writes[0].outcome == "ok"


def _shown(history: History) -> dict[str, float]:
    """By value, when a call that has shown it had ended, the earliest of them."""
    shown: dict[str, float] = {}

    def learn(value: str, at: float) -> None:
        shown[value] = min(at, shown.get(value, math.inf))

    for call in history.calls:
        if call.operation == "read" and call.outcome == "ok":
            learn(call.value, call.end)
        for _, value in call.listed:
            learn(value, call.end)
    for rest in history.rests:
        for value in rest.entries.values():
            learn(value, rest.at)
    return shown


def _unauthorised(
    calls: Sequence[Call], seen: Mapping[Call, Call], may_know: Mapping[Call, Call], history: History
) -> Iterator[Violation]:
    for call in calls:
        if call.operation != "update":
            continue
        shown = seen.get(call)
        if shown is None and call.outcome == "ok":
            what = f"{call.value} was stored by a run that had seen nothing of the key"
            yield violation(Guarantee.UNSEEN, what, [call])
        elif call.code == CHANGED and not call.is_unknown and call not in may_know:
            what = "a run that had seen nothing of the key was refused as if what it had seen had changed"
            yield violation(Guarantee.HONEST, what, [call])
        elif shown is not None and call.code == UNREAD and not may_have_lapsed(shown, call, history):
            what = f"the run had seen {shown.value}, and was refused as if it had seen nothing"
            yield violation(Guarantee.HONEST, what, [shown, call])
