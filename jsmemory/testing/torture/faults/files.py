"""What happens to a directory and its disk."""

import asyncio
import random
from collections.abc import Mapping
from typing import Final

from jsmemory.testing.torture.arena import FolderArena
from jsmemory.testing.torture.fleet import Fleet
from jsmemory.testing.torture.jobs import Order
from jsmemory.testing.torture.nemesis import Fault

LARGEST: Final = 48 * 1024
"""
Bytes over which no file of a worker grows while its disk is full: below the largest values, so
that they break off in the middle, and above the files that it records into.
"""


class FolderFaults:
    """
    Args:
        arena: Whose directory.
        fleet: The workers.
    """

    def __init__(self, arena: FolderArena, fleet: Fleet) -> None:
        self._arena = arena
        self._fleet = fleet

    @property
    def faults(self) -> Mapping[str, Fault]:
        """By their names."""
        return {"directory made anew": self._make_anew, "disk full": self._fill}

    async def _make_anew(self, seconds: float, lot: random.Random) -> str:
        await self._arena.wipe()
        return ""

    async def _fill(self, seconds: float, lot: random.Random) -> str:
        # A limit of the system on the process: a write ends short, and the next one fails.
        for worker in self._fleet.names:
            self._fleet.order(worker, Order("files", LARGEST))
        try:
            await asyncio.sleep(seconds)
        finally:
            for worker in self._fleet.names:
                self._fleet.order(worker, Order("files", -1))
        return ""
