"""What each run had seen when it made a call, worked out from the answers that it had got."""

from typing import Final

from jsmemory.testing.torture.calls import Call, History
from jsmemory.testing.torture.records import Restored, Suspended

_NOTICED_AFTER: Final = 20.0
# Seconds within which a store has found out that its bucket was made anew; until then a run
# that reads in the new one learns for the old.

Seen = dict[tuple[str, str], Call]
"""By keyspace and key, the call that has shown the value, which may be the write itself."""


def authorities(history: History) -> dict[Call, Call]:
    """
    For each update, the call that had shown its run the value which it may replace.

    An update of a run that had seen nothing is not in it.
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
                _follow(event, seen, found)
    return found


def _follow(call: Call, seen: Seen, found: dict[Call, Call]) -> None:
    place = (call.space, call.key)
    match call.operation:
        case "update":
            if place in seen:
                found[call] = seen[place]
            if call.outcome == "ok":
                seen[place] = call
            elif call.outcome != "unavailable":
                seen.pop(place, None)
        case "create":
            if call.outcome == "ok":
                seen[place] = call
            elif call.outcome == "unknown":
                seen.pop(place, None)
        case "read":
            if call.outcome == "ok":
                seen[place] = call
            elif call.outcome == "refused":
                seen.pop(place, None)
        case "delete":
            seen.pop(place, None)


def _time(event: Call | Suspended | Restored) -> float:
    return event.start if isinstance(event, Call) else event.at


def may_have_lapsed(shown: Call, call: Call, history: History) -> bool:
    """Whether what a call had shown may be no authority any more: for another store, or for a bucket made anew."""
    if shown.store != call.store and history.lonely & {shown.store, call.store}:
        return True
    return any(wipe.ended > shown.start - _NOTICED_AFTER and wipe.began < call.end for wipe in history.wipes)
