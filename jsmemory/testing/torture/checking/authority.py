"""What each run had seen when it made a call, worked out from the answers that it had got."""

from typing import Final

from jsmemory.testing.torture.calls import Call, History
from jsmemory.testing.torture.checking.codes import CHANGED
from jsmemory.testing.torture.records import Restored, Suspended

_NOTICED_AFTER: Final = 20.0
# Seconds within which a store has found out that its bucket was made anew; until then a run
# that reads in the new one learns for the old.

Seen = dict[tuple[str, str, str], Call]
"""
By keyspace, key and realm, the call that has shown the value, which may be the write itself.

The realm is ``""``, or the store object whose authority ends with it.
"""


def authorities(history: History, *, forgets: bool = True) -> dict[Call, Call]:
    """
    For each update, the call that had shown its run the value which it may replace.

    An update of a run that had seen nothing is not in it.

    Args:
        history: The run.
        forgets: Whether authority is dropped as a store drops it. If not, only updates of
            runs that can never have seen anything are left out.
    """
    found: dict[Call, Call] = {}
    snapshots: dict[str, Seen] = {}
    # Over all scopes by time: a snapshot is taken in one and restored in another.
    events = sorted(
        ((scope, event) for scope, happened in history.scopes.items() for event in happened),
        key=lambda each: _time(each[1]),
    )
    scopes: dict[str, Seen] = {scope: {} for scope in history.scopes}
    for scope, event in events:
        seen = scopes[scope]
        match event:
            case Suspended():
                snapshots[event.snapshot] = dict(seen)
            case Restored():
                scopes[scope] = snapshots.get(event.snapshot, {}) | seen
            case Call():
                _follow(event, seen, found, history, forgets=forgets)
    return found


def _follow(call: Call, seen: Seen, found: dict[Call, Call], history: History, *, forgets: bool) -> None:
    place = (call.space, call.key, call.store if call.store in history.lonely else "")
    shown = seen.get(place)
    if call.operation == "update" and shown is not None:
        found[call] = shown
    has_learnt = call.outcome == "ok" or (not forgets and call.is_unknown)
    if call.operation != "delete" and has_learnt and call.key:
        seen[place] = call
    elif forgets and shown is not None and _drops(call) and not may_have_lapsed(shown, call, history):
        del seen[place]


def _drops(call: Call) -> bool:
    """Whether an answer takes authority away; a refusal that the run has none takes away nothing."""
    match call.operation:
        case "update":
            return call.is_unknown or call.code == CHANGED
        case "create":
            return call.is_unknown
        case "read":
            return call.outcome == "refused"
        case "delete":
            return True
        case "list":
            return False


def _time(event: Call | Suspended | Restored) -> float:
    return event.start if isinstance(event, Call) else event.at


def may_have_lapsed(shown: Call, call: Call, history: History) -> bool:
    """Whether what a call had shown may be no authority any more, or one that another store object knows as another."""
    return any(wipe.ended > shown.start - _NOTICED_AFTER and wipe.began < call.end for wipe in history.wipes)
