"""The tasks that carry entries at the same time, and stop together where it is no use to go on."""

from collections.abc import AsyncGenerator, AsyncIterator, Iterable
from contextlib import aclosing
from typing import Final

import anyio

from jsmemory.errors import BackendUnavailableError, JsMemoryError
from jsmemory.moving.carrying import Carrier
from jsmemory.moving.parcels import Parcel
from jsmemory.moving.report import Moved, MovingReport, Outcome, Progressed

AT_ONCE: Final = 32
"""Entries that are on their way at once: as many hide a round trip, and a few MiB hold them."""

_GIVE_UP_AFTER: Final = 8
# Entries that fail one after the other, each after several attempts. A store that is gone fails
# them all; an entry that always fails must not keep those behind it from being moved.

_NOT_REACHED: Final = "It was not reached. Do the same again: what is equal is passed over."

Expected = tuple[str, str]
"""The origin and the key of an entry that a source has."""


class Crew:
    """
    Carries all entries of a source, and makes the report.

    Args:
        carrier: Carries one.
        at_once: How many are on their way at once, 1 or more.
        on_progress: Told after each entry.
    """

    def __init__(self, carrier: Carrier, *, at_once: int, on_progress: Progressed) -> None:
        if at_once < 1:
            raise ValueError("It takes one task or more.")
        self._carrier = carrier
        self._at_once = at_once
        self._on_progress = on_progress
        self._moved: dict[Expected, Moved] = {}
        self._total = 0
        self._failures = 0
        self._is_given_up = False
        self._raised: JsMemoryError | None = None

    async def carry_all(
        self,
        parcels: AsyncGenerator[Parcel, None],
        expected: Iterable[Expected],
        *,
        beside: Iterable[Moved] = (),
        dry_run: bool,
    ) -> MovingReport:
        """
        Carry what a source gives, one task for each entry that is on its way.

        Args:
            parcels: The entries, in any order. Closed here.
            expected: All of them by name, so that those which were not reached are told.
            beside: What is reported without having been carried.
            dry_run: What the report is to say of that.

        Raises:
            JsMemoryError: the source gave no further entries, or the destination takes none.
                Entries that were on their way have been finished.
        """
        wanted = list(expected)
        self._total = len(wanted)
        turn = anyio.Lock(fast_acquire=True)
        async with aclosing(parcels), anyio.create_task_group() as tasks:
            for _ in range(min(self._at_once, self._total)):
                tasks.start_soon(self._work, parcels, turn)
        if self._raised is not None:
            raise self._raised
        for origin, key in wanted:
            self._moved.setdefault(
                (origin, key), Moved(origin, key, Outcome.UNTRIED, Outcome.UNTRIED.value, _NOT_REACHED)
            )
        moved = sorted((*self._moved.values(), *beside), key=lambda each: each.origin)
        return MovingReport(tuple(moved), dry_run)

    async def _work(self, parcels: AsyncIterator[Parcel], turn: anyio.Lock) -> None:
        while not self._is_given_up and self._raised is None:
            try:
                async with turn:
                    parcel = await anext(parcels, None)
                if parcel is None:
                    return
                moved = await self._carrier.carry(parcel)
            except JsMemoryError as error:
                self._raised = error
                return
            self._note(moved)

    def _note(self, moved: Moved) -> None:
        self._moved[moved.origin, moved.key] = moved
        has_failed = moved.outcome is Outcome.UNKNOWN or moved.code == BackendUnavailableError.code
        self._failures = self._failures + 1 if has_failed else 0
        if self._failures >= _GIVE_UP_AFTER:
            self._is_given_up = True
        self._on_progress(len(self._moved), self._total)
