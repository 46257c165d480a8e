"""The guarantees about the limit: it is never passed, and what is free can be used."""

import math
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import NamedTuple

from jsmemory.limits import MAX_ENTRIES
from jsmemory.testing.torture.calls import Call, History
from jsmemory.testing.torture.checking.codes import FULL
from jsmemory.testing.torture.checking.guarantees import Guarantee, Violation, violation
from jsmemory.testing.torture.checking.listings import final_listing
from jsmemory.testing.torture.checking.writes import is_steady
from jsmemory.testing.torture.records import Wiped


def check_capacity(history: History) -> Iterator[Violation]:
    """
    Count what listings and the final states show, and what can have been there when a store said that it was full.

    At rest the limit holds exactly. A listing that is taken while entries come and go may show
    one that has gone and the one that came in its place.
    """
    capacity = MAX_ENTRIES if history.settings is None else history.settings.capacity
    creates: defaultdict[str, list[Call]] = defaultdict(list)
    for call in history.calls:
        if call.operation == "create" and not call.is_refused:
            creates[call.space].append(call)
    for call in history.calls:
        if call.operation == "list" and len(call.listed) > capacity:
            under_way = [each for each in creates[call.space] if each.start < call.end and each.end > call.start]
            if len(call.listed) > capacity + len(under_way):
                what = f"{len(call.listed)} entries were listed, of {capacity} that there may be"
                yield violation(Guarantee.CAPACITY, what, [*under_way, call])
    for rest in map(final_listing, history.rests):
        if len(rest.listed) > capacity:
            # Those that came last are the ones too many.
            kept = {value for _, value in rest.listed}
            last = [each for each in creates[rest.space] if each.value in kept][capacity:]
            what = f"in the end there were {len(rest.listed)} entries, of {capacity} that there may be"
            yield violation(Guarantee.CAPACITY, what, [*last, rest])
    yield from _held_at_once(history, capacity)
    yield from _refused_with_room(history, capacity)


def _held_at_once(history: History, capacity: int) -> Iterator[Violation]:
    """Tell where more acknowledged entries were there at one moment than there may be, also if nobody listed them."""
    stays: defaultdict[str, list[_Stay]] = defaultdict(list)
    for (space, _), calls in history.by_key().items():
        stays[space].extend(_stays(calls, history.wipes))
    for there in stays.values():
        # What goes at a moment makes room for what comes at it.
        moments = sorted([(stay.since, 1) for stay in there] + [(stay.until, -1) for stay in there])
        counts = accumulate(change for _, change in moments)
        most, at = max(zip(counts, (at for at, _ in moments), strict=True), default=(0, math.inf))
        if most > capacity:
            held = sorted((stay for stay in there if stay.since <= at < stay.until), key=lambda stay: stay.since)
            what = f"{most} acknowledged entries were there at once, of {capacity} that there may be"
            yield violation(Guarantee.CAPACITY, what, [stay.create for stay in held[capacity:]], key="")


class _Stay(NamedTuple):
    """How long the entry of a create that returned was there for certain, whatever value it had."""

    since: float
    until: float
    create: Call


def _stays(calls: Sequence[Call], wipes: Sequence[Wiped]) -> Iterator[_Stay]:
    """From when a create returned until the first thing began that may have removed the entry."""
    removals = [(wipe.began, wipe.ended) for wipe in wipes]
    removals += [
        (call.start, call.end) for call in calls if call.operation == "delete" and (call.existed or call.is_unknown)
    ]
    removals.sort()
    starts = [start for start, _ in removals]
    ends = [-math.inf, *accumulate((end for _, end in removals), max)]
    for call in calls:
        if call.operation == "create" and call.outcome == "ok":
            earlier = bisect_left(starts, call.start)
            until = starts[earlier] if earlier < len(starts) else math.inf
            if ends[earlier] < call.start and call.end < until:
                yield _Stay(call.end, until, call)


def _refused_with_room(history: History, capacity: int) -> Iterator[Violation]:
    full = [call for call in history.calls if call.code == FULL]
    if not full:
        return
    there = {space: _Presence(history, space) for space in {call.space for call in full}}
    for call in full:
        at_most = there[call.space].at_most(call)
        if at_most < capacity:
            what = f"the store was said to be full, with {at_most} entries at most, of {capacity} that there may be"
            yield violation(Guarantee.ROOM, what, [call])


class _Presence:
    """
    Which keys of a keyspace can have held a value.

    Args:
        history: The run.
        space: The keyspace.
    """

    def __init__(self, history: History, space: str) -> None:
        self._absences: dict[str, list[tuple[float, float]]] = {}
        come: list[float] = []
        gone: list[float] = []
        for (where, key), calls in history.by_key().items():
            if where != space:
                continue
            if not is_steady(calls):
                self._absences[key] = _absences(calls, history.wipes)
                continue
            # There are a thousand of these: they come once, and go with the bucket.
            created = next(call for call in calls if call.is_write)
            come.append(created.start)
            gone += [wipe.ended for wipe in history.wipes if wipe.began > created.end][:1]
        self._come, self._gone = sorted(come), sorted(gone)

    def at_most(self, refused: Call) -> int:
        """How many other keys can have held a value at one moment of a call that was refused."""
        steady = bisect_left(self._come, refused.end) - bisect_right(self._gone, refused.start)
        return steady + sum(
            key != refused.key and not any(gone < refused.start and refused.end < come for gone, come in spans)
            for key, spans in self._absences.items()
        )


def _absences(calls: list[Call], wipes: Sequence[Wiped]) -> list[tuple[float, float]]:
    """The spans in which a key held nothing for certain: after it was found so, and before any create can be later."""
    creates = [call for call in calls if call.operation == "create" and not call.is_refused]
    spans = [(-math.inf, min((create.start for create in creates), default=math.inf))]
    found = [(wipe.began, wipe.ended) for wipe in wipes]
    # Each has found nothing at some moment, which may be long before it returned.
    found += [
        (call.start, call.end)
        for call in calls
        if (call.operation == "delete" and call.outcome == "ok") or call.code == FULL
    ]
    for since, until in found:
        later = (create.start for create in creates if _latest(create) > since)
        spans.append((until, min(later, default=math.inf)))
    return [(gone, come) for gone, come in spans if gone < come]


def _latest(create: Call) -> float:
    return math.inf if create.is_unknown else create.end
