"""
A driver whose answers get lost, come late, or never come: for trying out what is above it.

    backend = FaultyBackend(InProcessBackend(), scripted(Fault.NONE, Fault.LOST_ANSWER))
    store = BackedStore(backend)
"""

import random
from collections.abc import Callable, Hashable, Iterable, Sequence
from enum import Enum
from typing import TypeVar

import anyio

from jsmemory.backend import Backend, Keyspace, Record, Stored
from jsmemory.entries import Item
from jsmemory.errors import BackendUnavailableError, IncompleteListingError, OutcomeUnknownError

T = TypeVar("T")


class Fault(Enum):
    """What happens to one call of a verb."""

    NONE = "none"
    UNAVAILABLE = "unavailable"
    """The verb is not carried out, and the caller is told so."""
    LOST_REQUEST = "lost request"
    """The verb is not carried out, and a caller that writes cannot know."""
    LOST_ANSWER = "lost answer"
    """The verb is carried out, and a caller that writes cannot know."""
    DELAY = "delay"
    """The verb is carried out after a while, in which others get on."""
    HANG = "hang"
    """The verb is not carried out, and the call ends only when it is cancelled."""
    HANG_AFTER = "hang after"
    """The verb is carried out, and the call ends only when it is cancelled."""


Schedule = Callable[[str], Fault]
"""Given the name of a verb that is called, tells what happens to the call."""


def scripted(*faults: Fault, verbs: Iterable[str] = ("scan", "load", "insert", "replace", "remove")) -> Schedule:
    """
    One fault a call, in this order, and none after the last.

    Args:
        faults: What happens.
        verbs: The verbs whose calls are counted; others are left alone.
    """
    left = iter(faults)
    counted = frozenset(verbs)

    def next_fault(verb: str) -> Fault:
        return next(left, Fault.NONE) if verb in counted else Fault.NONE

    return next_fault


def seeded(seed: int, faults: Sequence[Fault], *, rate: float) -> Schedule:
    """
    Faults at random, the same ones for the same seed and the same calls.

    Args:
        seed: Where the randomness begins.
        faults: Out of which to choose.
        rate: The share of calls that one happens to, 0 to 1.
    """
    dice = random.Random(seed)  # noqa: S311 - it has to be repeatable

    def next_fault(_verb: str) -> Fault:
        return dice.choice(faults) if dice.random() < rate else Fault.NONE

    return next_fault


class FaultyBackend(Backend):
    """
    A driver to which faults happen.

    Args:
        inner: The driver that does the work.
        schedule: Which faults.
        delay: Seconds of a `Fault.DELAY`.
    """

    def __init__(self, inner: Backend, schedule: Schedule, *, delay: float = 0.001) -> None:
        self._inner = inner
        self._schedule = schedule
        self._delay = delay
        self.calls: list[tuple[str, Fault]] = []
        """The verbs that were called, and what happened to each."""

    def describe(self) -> Keyspace:
        return self._inner.describe()

    def keyspace_names(self) -> frozenset[Hashable]:
        return self._inner.keyspace_names()

    async def scan(self) -> Sequence[Item]:
        before, after = self._fault_of("scan", IncompleteListingError())
        await before()
        return await after(await self._inner.scan())

    async def load(self, key: str) -> Stored | None:
        before, after = self._fault_of("load", BackendUnavailableError("The answer was lost."))
        await before()
        return await after(await self._inner.load(key))

    async def insert(self, key: str, record: Record, *, capacity: int) -> str:
        before, after = self._fault_of("insert", OutcomeUnknownError(key))
        await before()
        return await after(await self._inner.insert(key, record, capacity=capacity))

    async def replace(self, key: str, record: Record, *, expected: str) -> str:
        before, after = self._fault_of("replace", OutcomeUnknownError(key))
        await before()
        return await after(await self._inner.replace(key, record, expected=expected))

    async def remove(self, key: str) -> bool:
        before, after = self._fault_of("remove", OutcomeUnknownError(key))
        await before()
        return await after(await self._inner.remove(key))

    def _fault_of(self, verb: str, lost: Exception) -> "tuple[_Before, _After]":
        fault = self._schedule(verb)
        self.calls.append((verb, fault))
        return _Before(fault, lost, self._delay), _After(fault, lost)


class _Before:
    """What happens ahead of the verb."""

    def __init__(self, fault: Fault, lost: Exception, delay: float) -> None:
        self._fault = fault
        self._lost = lost
        self._delay = delay

    async def __call__(self) -> None:
        match self._fault:
            case Fault.UNAVAILABLE:
                raise BackendUnavailableError("The backend is out of reach.")
            case Fault.LOST_REQUEST:
                raise self._lost
            case Fault.DELAY:
                await anyio.sleep(self._delay)
            case Fault.HANG:
                await anyio.sleep_forever()
            case _:
                pass


class _After:
    """What happens to the answer."""

    def __init__(self, fault: Fault, lost: Exception) -> None:
        self._fault = fault
        self._lost = lost

    async def __call__(self, answer: T) -> T:
        match self._fault:
            case Fault.LOST_ANSWER:
                raise self._lost
            case Fault.HANG_AFTER:
                await anyio.sleep_forever()
            case _:
                pass
        return answer
