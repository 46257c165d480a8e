"""
The calls about one key as steps: what each needs the key to hold at some moment, and what it makes of it.

A step happens at one moment between two times. One that changes nothing is a look: it says
what a call has found.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Final, Literal

from jsmemory.testing.torture.calls import Call, History
from jsmemory.testing.torture.checking.authority import may_have_lapsed
from jsmemory.testing.torture.checking.codes import CHANGED, EXISTS, FULL

_HELD_BACK: Final = 10.0
# Seconds for which a request may be under way when nobody waits for it any more: longer than any
# link is slow or down.

Needs = Literal["anything", "nothing", "something", "value", "other"]
"""
What the key must hold: whatever it is; no value; any value; the value that is named; or anything
else than the value that is named.
"""


@dataclass(frozen=True, slots=True, eq=False)
class Step:
    """
    One step.

    Attributes:
        call: The call that it belongs to; None for what the operator did.
        needs: What the key must hold.
        which: The value that `needs` names.
        changes: Whether it makes the key hold something else.
        makes: What that is; None for no value.
        start: The earliest moment.
        end: The latest moment; infinity where it may come late.
        must: Whether it has happened for certain.
        fixed_at: When its condition was fixed at the latest. What changes the key later than
            that, this step can not come after.
    """

    call: Call | None
    needs: Needs
    start: float
    end: float
    which: str = ""
    changes: bool = False
    makes: str | None = None
    must: bool = True
    fixed_at: float = math.inf

    def fits(self, state: str | None) -> bool:
        """Whether the key holds what the step needs."""
        match self.needs:
            case "anything":
                return True
            case "nothing":
                return state is None
            case "something":
                return state is not None
            case "value":
                return state == self.which
            case "other":
                return state != self.which


def steps_of(
    calls: Iterable[Call], seen: Mapping[Call, Call], shown: Mapping[str, float], history: History
) -> list[Step]:
    """
    The steps of all writes of one key, and of what the operator did.

    Args:
        calls: The calls about the key.
        seen: What the runs had seen, by their updates.
        shown: By value, when it had been shown by somebody: by then its write has landed.
        history: The run.
    """
    steps: list[Step] = []
    for call in calls:
        match call.operation:
            case "create":
                _creating(call, shown, history, steps)
            case "update":
                if call in seen:
                    _updating(call, seen[call], shown, history, steps)
            case "delete":
                _deleting(call, steps)
            case _:
                pass
    steps.extend(Step(None, "anything", wipe.began, wipe.ended, changes=True) for wipe in history.wipes)
    return steps


def look(call: Call, value: str | None) -> Step:
    """What a listing, or the final state, has shown of the key."""
    if value is None:
        return Step(call, "nothing", call.start, call.end)
    return Step(call, "value", call.start, call.end, which=value)


def _written(call: Call, needs: Needs, shown: Mapping[str, float], which: str = "") -> Step:
    """The change of a write that returned, or may have landed."""
    if call.outcome == "ok":
        return Step(call, needs, call.start, call.end, which=which, changes=True, makes=call.value)
    # Its condition was fixed while it was made, and it may land at any time after.
    by = shown.get(call.value, math.inf)
    return Step(
        call,
        needs,
        call.start,
        by,
        which=which,
        changes=True,
        makes=call.value,
        must=by < math.inf,
        fixed_at=call.end,
    )


def _creating(call: Call, shown: Mapping[str, float], history: History, steps: list[Step]) -> None:
    if call.outcome == "ok" or call.is_unknown:
        step = _written(call, "nothing", shown)
        # A request that is held back finds nothing under its key in a bucket that is made anew either.
        meanwhile = [wipe.ended for wipe in history.wipes if 0 <= wipe.began - call.end < _HELD_BACK]
        steps.append(replace(step, fixed_at=max([step.fixed_at, *meanwhile])))
    elif call.code == EXISTS:
        steps.append(Step(call, "something", call.start, call.end))
    elif call.code == FULL:
        steps.append(Step(call, "nothing", call.start, call.end))


def _updating(call: Call, seen: Call, shown: Mapping[str, float], history: History, steps: list[Step]) -> None:
    if call.outcome == "ok" or call.is_unknown:
        steps.append(_written(call, "value", shown, seen.value))
    elif call.code == CHANGED and not may_have_lapsed(seen, call, history):
        steps.append(Step(call, "other", call.start, call.end, which=seen.value))


def _deleting(call: Call, steps: list[Step]) -> None:
    if call.is_unknown:
        steps.append(Step(call, "something", call.start, math.inf, changes=True, must=False, fixed_at=call.end))
    elif call.outcome == "ok" and call.existed:
        steps.append(Step(call, "something", call.start, call.end, changes=True))
    elif call.outcome == "ok":
        steps.append(Step(call, "nothing", call.start, call.end))
