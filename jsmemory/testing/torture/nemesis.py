"""Who carries out the plan: each fault is begun, lasts, and is healed, and is written down."""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import Final

from jsmemory.testing.torture.plan import Strike
from jsmemory.testing.torture.recording import Recorder
from jsmemory.testing.torture.records import Struck

Fault = Callable[[float, random.Random], Awaitable[str]]
"""Carries a fault out for some seconds, heals it, and says whom it struck."""

Told = Callable[[str], None]
"""Hears the name of a fault that begins."""

WAIT_S: Final = 90.0
"""Seconds after which a fault that does not heal is a failure of the campaign itself."""


class Nemesis:
    """
    One hand of it.

    Args:
        faults: What it can do.
        recorder: Where it is written down.
        told: Hears what begins.
        recovered: Waits until the store can be written again.
    """

    def __init__(
        self, faults: Mapping[str, Fault], recorder: Recorder, told: Told, recovered: Callable[[], Awaitable[None]]
    ) -> None:
        self._faults = faults
        self._recorder = recorder
        self._told = told
        self._recovered = recovered

    async def act(self, strikes: Iterator[Strike], until: float) -> None:
        """Carry strikes out, one after the other, until a time of the monotonic clock."""
        for strike in strikes:
            await asyncio.sleep(min(strike.after, max(0.0, until - time.monotonic())))
            if time.monotonic() + strike.seconds > until:
                return
            self._told(strike.fault)
            began = time.monotonic()
            lot = random.Random(strike.lot)  # noqa: S311 - it has to be repeatable
            async with asyncio.timeout(WAIT_S):
                target = await self._faults[strike.fault](strike.seconds, lot)
            self._recorder.write(Struck(strike.fault, target, began, time.monotonic()))
            await self._recovered()
