"""
Whether one order of all writes of a key explains every answer.

Calls overlap, and a write whose outcome is unknown may have landed late or never; so there
is not one order to look at but many. They are followed side by side, from one moment to the
next: each is a state that the key may be in. A write happens as late as it can, when its
call returns; what only looks is done as soon as it finds what it needs. Where no state is
left, no order explains the answer that was just given.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from jsmemory.testing.torture.checking.steps import Step

TOO_MANY: Final = 20_000
"""States after which a key is given up as undecided: a checker must end."""


class _State(NamedTuple):
    """
    One way in which things may stand.

    Attributes:
        value: What the key holds.
        since: When the call began whose write that is.
        done: Steps that have happened and are not over, or may never be.
        looked: Looks that have found what they need, and are not over.
    """

    value: str | None
    since: float
    done: frozenset[int]
    looked: frozenset[int]


@dataclass(frozen=True, slots=True)
class Contradiction:
    """
    An answer that no order explains.

    Attributes:
        step: What was answered.
        possible: What the key could have held when it was.
        writers: The steps that made it so.
    """

    step: Step
    possible: tuple[str | None, ...]
    writers: tuple[Step, ...]


class Undecided(Exception):
    """There are too many orders to follow."""


class Ordering:
    """
    The orders of the steps of one key.

    Args:
        steps: What has happened, or may have.
    """

    def __init__(self, steps: Iterable[Step]) -> None:
        self._steps: list[Step] = list(steps)
        self._endless = frozenset(number for number, step in enumerate(self._steps) if step.end == math.inf)
        self._changes: set[int] = set()
        self._looks: set[int] = set()
        self._states = {_State(None, -math.inf, frozenset(), frozenset())}

    def contradictions(self) -> list[Contradiction]:
        """
        Follow all orders from the beginning to the end.

        Raises:
            Undecided: there are too many.
        """
        found: list[Contradiction] = []
        for _, is_end, number in self._moments():
            step = self._steps[number]
            if not is_end:
                self._begin(number, step)
            elif (contradiction := self._end(number, step)) is not None:
                found.append(contradiction)
        return found

    def _moments(self) -> list[tuple[float, int, int]]:
        moments = [(step.start, 0, number) for number, step in enumerate(self._steps)]
        for number, step in enumerate(self._steps):
            if number not in self._endless:
                moments.append((step.end, 1, number))
        return sorted(moments)

    # -- Beginnings and ends ----------------------------------------------------------------

    def _begin(self, number: int, step: Step) -> None:
        if step.changes:
            self._changes.add(number)
            return
        self._looks.add(number)
        self._states = {
            state._replace(looked=state.looked | {number}) if step.fits(state.value) else state
            for state in self._states
        }

    def _end(self, number: int, step: Step) -> Contradiction | None:
        before = self._states
        left: set[_State] = set()
        for state in before:
            left |= self._followed(state, number, step)
        contradiction = None
        if not left:
            contradiction = self._contradicted(step, before)
            left = before
            if step.changes:
                # To find what else is wrong, it is believed and followed from there.
                left = {self._after(state, number) for state in before}
        self._changes.discard(number)
        self._looks.discard(number)
        self._states = self._fewest(
            {state._replace(done=state.done - {number}, looked=state.looked - {number}) for state in left}
        )
        return contradiction

    def _followed(self, state: _State, number: int, step: Step) -> set[_State]:
        if number in (state.done if step.changes else state.looked):
            return {state}
        return self._until(state, number)

    def _until(self, state: _State, number: int) -> set[_State]:
        """The states in which a step has happened that can follow from one in which it has not."""
        reached: set[_State] = set()
        met = {state}
        open_ = [state]
        while open_:
            current = open_.pop()
            for change in self._changes:
                if not self._can(change, current):
                    continue
                after = self._after(current, change)
                if after in met:
                    continue
                met.add(after)
                if len(met) > TOO_MANY:
                    raise Undecided
                if number in after.done or number in after.looked:
                    reached.add(after)
                else:
                    open_.append(after)
        return reached

    # -- One step -----------------------------------------------------------------------------

    def _can(self, number: int, state: _State) -> bool:
        step = self._steps[number]
        return number not in state.done and step.fits(state.value) and state.since < step.fixed_at

    def _after(self, state: _State, number: int) -> _State:
        step = self._steps[number]
        looked = {look for look in self._looks if self._steps[look].fits(step.makes)}
        return _State(step.makes, step.start, state.done | {number}, state.looked | looked)

    def _fewest(self, states: set[_State]) -> set[_State]:
        """Without those that allow nothing which another one does not allow too."""
        if len(states) == 1:
            return states
        kept: list[_State] = []
        for state in sorted(states, key=lambda each: (each.since, len(each.done), -len(each.looked))):
            if not any(self._allows_more(other, state) for other in kept):
                kept.append(state)
        return set(kept)

    def _allows_more(self, one: _State, other: _State) -> bool:
        return (
            one.value == other.value
            and one.since <= other.since
            and one.done <= other.done
            # What may never happen, and has not, can still; what must, and has not, is owed.
            and (other.done - one.done) <= self._endless
            and one.looked >= other.looked
        )

    def _contradicted(self, step: Step, states: Iterable[_State]) -> Contradiction:
        possible = {state.value for state in states}
        writers = [each for each in self._steps if each.changes and each.makes is not None and each.makes in possible]
        return Contradiction(step, tuple(sorted(possible, key=str)), tuple(writers))


def holding(states: Sequence[str | None]) -> str:
    """In words, what a key could have held."""
    return " or ".join("nothing" if state is None else state for state in states)
