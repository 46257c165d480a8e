"""The guarantee of a session: within one store object no read goes back behind what was read or written there."""

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from jsmemory.testing.torture.calls import Call, History
from jsmemory.testing.torture.checking.authority import may_have_lapsed
from jsmemory.testing.torture.checking.codes import CHANGED, EXISTS
from jsmemory.testing.torture.checking.guarantees import Guarantee, Violation, violation
from jsmemory.testing.torture.records import Wiped


def check_sessions(history: History, seen: Mapping[Call, Call]) -> Iterator[Violation]:
    """Follow what each store object has learnt of each key."""
    for calls in history.by_key().values():
        lives = Lives(calls, seen)
        stores: defaultdict[str, list[Call]] = defaultdict(list)
        for call in calls:
            stores[call.store].append(call)
        for session in stores.values():
            yield from _Session(calls, lives, seen, history).gone_back(session)


class _Session:
    """
    What one store object has learnt of a key.

    Args:
        calls: The calls about the key, on whichever store.
        lives: Which values are older than others.
        seen: What the runs had seen, by their updates.
        history: The run.
    """

    def __init__(self, calls: Sequence[Call], lives: "Lives", seen: Mapping[Call, Call], history: History) -> None:
        self._calls = calls
        self._lives = lives
        self._seen = seen
        self._history = history
        self._known: Call | None = None
        self._deleted: Call | None = None
        self._taken: Call | None = None
        self._changed: dict[str, Call] = {}

    def gone_back(self, session: Sequence[Call]) -> Iterator[Violation]:
        """The reads that went back behind it."""
        # A read is held against what was known when it began.
        moments = sorted(
            [(call.start, 1, number) for number, call in enumerate(session) if call.operation == "read"]
            + [(call.end, 0, number) for number, call in enumerate(session) if not call.is_open]
        )
        for _, begins, number in moments:
            call = session[number]
            if not begins:
                self._learn(call)
            elif (broken := self._gone_back(call)) is not None:
                yield broken

    def _learn(self, call: Call) -> None:
        if call.outcome == "ok" and call.operation in ("read", "create", "update"):
            if self._known is None or not self._lives.is_older(call.value, self._known.value):
                self._known = call
        elif call.operation == "delete" and call.outcome == "ok":
            self._deleted = call
        elif call.code == EXISTS and not call.is_unknown:
            self._taken = call
        elif call.code == CHANGED and call in self._seen and self._is_past(self._seen[call], call):
            self._changed[self._seen[call].value] = call

    def _is_past(self, shown: Call, refused: Call) -> bool:
        """Whether it is known that a value is over, rather than that authority was."""
        return not refused.is_unknown and not may_have_lapsed(shown, refused, self._history)

    def _gone_back(self, read: Call) -> Violation | None:
        if read.outcome == "ok":
            return self._has_shown_what_is_over(read)
        if read.outcome != "refused":
            return None
        known, taken = self._known, self._taken
        if known is not None and not _may_be_gone(read, known, self._calls, self._lives, self._history.wipes):
            what = f"nothing was found where {known.value} was known, and nobody had deleted it"
            return violation(Guarantee.SESSION, what, [*self._lives.written(known.value), known, read])
        if taken is not None and not _may_be_free(read, taken, self._calls, self._history.wipes):
            what = "nothing was found where a value had stood in the way, and nobody had deleted it"
            return violation(Guarantee.SESSION, what, [taken, read])
        return None

    def _has_shown_what_is_over(self, read: Call) -> Violation | None:
        known, deleted, changed = self._known, self._deleted, self._changed.get(read.value)
        written = self._lives.written(read.value)
        if known is not None and self._lives.is_older(read.value, known.value):
            what = f"{read.value} was read where {known.value} was known, which replaced it"
            return violation(Guarantee.SESSION, what, [*written, *self._lives.written(known.value), known, read])
        if deleted is not None and any(call.end < deleted.start for call in written if call.outcome == "ok"):
            what = f"{read.value} was read after this store had found it deleted"
            return violation(Guarantee.SESSION, what, [*written, deleted, read])
        if changed is not None:
            what = f"{read.value} was read after this store had said that it had changed"
            return violation(Guarantee.SESSION, what, [*written, changed, read])
        return None


def _may_be_gone(read: Call, known: Call, calls: Sequence[Call], lives: "Lives", wipes: Sequence[Wiped]) -> bool:
    written = min((call.start for call in lives.written(known.value)), default=-math.inf)
    if any(wipe.ended > written and wipe.began < read.end for wipe in wipes):
        return True
    return any(
        call.start < read.end and (call.end > written or call.is_unknown) and _may_have_removed(call) for call in calls
    )


def _may_be_free(read: Call, taken: Call, calls: Sequence[Call], wipes: Sequence[Wiped]) -> bool:
    """Whether what a create had found, whichever value it was, may be there no more."""
    if any(wipe.ended > taken.start and wipe.began < read.end for wipe in wipes):
        return True
    return any(
        call.start < read.end and (call.end > taken.start or call.is_unknown) and _may_have_removed(call)
        for call in calls
    )


def _may_have_removed(call: Call) -> bool:
    return call.operation == "delete" and (call.existed or call.is_unknown)


@dataclass(slots=True)
class _Life:
    """What is known of a value and all that replaced it, until it was deleted."""

    some_ended: float = math.inf
    some_began: float = -math.inf


class Lives:
    """
    Which values of a key are older than others, where that is certain.

    A life is a created value and what replaced it, each by a run that had seen the one before.

    Args:
        calls: The calls about the key.
        seen: What the runs had seen, by their updates.
    """

    def __init__(self, calls: Sequence[Call], seen: Mapping[Call, Call]) -> None:
        self._writes: dict[str, Call] = {call.value: call for call in calls if call.operation in ("create", "update")}
        self._before = {call.value: seen[call].value for call in calls if call.operation == "update" and call in seen}
        self._places: dict[str, tuple[str, int]] = {}
        self._lives: defaultdict[str, _Life] = defaultdict(_Life)
        for value, write in self._writes.items():
            if write.outcome == "ok":
                life = self._lives[self._place(value)[0]]
                life.some_ended = min(life.some_ended, write.end)
                life.some_began = max(life.some_began, write.start)

    def written(self, value: str) -> list[Call]:
        """The write of a value, if it is known."""
        return [self._writes[value]] if value in self._writes else []

    def is_older(self, one: str, other: str) -> bool:
        """Whether one value was replaced, or deleted, before the other one was there."""
        if one == other or one not in self._writes or other not in self._writes:
            return False
        (life, number), (other_life, other_number) = self._place(one), self._place(other)
        if life == other_life:
            return number < other_number
        return self._lives[life].some_ended < self._lives[other_life].some_began

    def _place(self, value: str) -> tuple[str, int]:
        """The life that a value belongs to, and which one of it it is."""
        chain = {value: None}
        # Where one value has replaced itself, which is told elsewhere, a chain has no beginning.
        while value not in self._places and self._before.get(value, value) not in chain:
            value = self._before[value]
            chain[value] = None
        life, number = self._places.setdefault(value, (value, 0))
        for later in reversed(list(chain)[:-1]):
            number += 1
            self._places[later] = (life, number)
        return life, number
