"""The guarantee about listings: every entry that was there all the time, in order, and none that cannot have been."""

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from jsmemory.testing.torture.calls import Call, History
from jsmemory.testing.torture.checking.guarantees import Guarantee, Violation, violation
from jsmemory.testing.torture.checking.steps import Step, look
from jsmemory.testing.torture.checking.writes import is_steady
from jsmemory.testing.torture.records import Rested

Looks = dict[tuple[str, str], list[Step]]


def looks_of(history: History) -> Looks:
    """
    What listings and the final states have shown of each key that was written more than once.

    Between the begin and the end of a listing the key held, at one moment, what is shown.
    """
    moving: defaultdict[str, list[str]] = defaultdict(list)
    for (space, key), calls in history.by_key().items():
        if not is_steady(calls):
            moving[space].append(key)
    looks: defaultdict[tuple[str, str], list[Step]] = defaultdict(list)
    for call in _listings(history):
        shown = dict(call.listed)
        for key in moving[call.space]:
            looks[call.space, key].append(look(call, shown.get(key)))
    return dict(looks)


def check_listings(history: History) -> Iterator[Violation]:
    """
    Hold listings against the keys that were written once, and never again, and against those that nobody wrote.

    Each key is listed once, and all of them sorted.
    """
    written: defaultdict[str, set[tuple[str, str]]] = defaultdict(set)
    steady: defaultdict[str, list[Call]] = defaultdict(list)
    for (space, key), calls in history.by_key().items():
        written[space].update((key, call.value) for call in calls if call.is_write)
        if is_steady(calls):
            steady[space].extend(call for call in calls if call.is_write)
    for listing in _listings(history):
        yield from _ghosts(listing, written[listing.space])
        yield from _out_of_order(listing)
        if not any(wipe.began < listing.end and wipe.ended > listing.start for wipe in history.wipes):
            yield from _of_steady(listing, steady[listing.space], history)


def final_listing(rest: Rested) -> Call:
    """The final state of a keyspace as a listing of everything, after all other calls."""
    return Call(
        name="in the end",
        operation="read",
        store="",
        scope="",
        space=rest.space,
        key="",
        value="",
        start=rest.at,
        end=rest.at,
        outcome="ok",
        listed=tuple(sorted(rest.entries.items())),
    )


def _listings(history: History) -> Iterable[Call]:
    yield from (call for call in history.calls if call.operation == "list" and call.outcome == "ok")
    yield from map(final_listing, history.rests)


def _ghosts(listing: Call, written: set[tuple[str, str]]) -> Iterator[Violation]:
    for key, value in listing.listed:
        if (key, value) not in written:
            yield violation(
                Guarantee.LISTED, f"{key} was listed with {value!r}, which nobody wrote", [listing], key=key
            )


def _out_of_order(listing: Call) -> Iterator[Violation]:
    for (one, _), (other, _) in pairwise(listing.listed):
        # Of legal keys the order of the characters is that of the bytes.
        if one >= other:
            what = f"{one} was listed twice" if one == other else f"{one} was listed before {other}"
            yield violation(Guarantee.LISTED, what, [listing], key=other)
            return


def _of_steady(listing: Call, steady: Sequence[Call], history: History) -> Iterator[Violation]:
    shown = frozenset(listing.listed)
    removed = max((wipe.began for wipe in history.wipes if wipe.ended < listing.start), default=-math.inf)
    for created in steady:
        is_shown = (created.key, created.value) in shown
        if is_shown and created.end < removed:
            what = f"{created.key} was listed, which the operator had removed"
        elif not is_shown and removed < created.start and created.end < listing.start:
            what = f"{created.key} was not listed, although it was there all the time"
        else:
            continue
        broken = Guarantee.LISTED if listing.operation == "list" else Guarantee.KEPT
        yield violation(broken, what, [created, listing], key=created.key)
