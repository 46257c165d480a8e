"""What an operator does to a bucket, by intent and by mistake."""

import asyncio
import random
from collections.abc import Mapping

from jsmemory.testing.torture.arena import BucketArena
from jsmemory.testing.torture.bucket_operator import STREAM
from jsmemory.testing.torture.nemesis import Fault


class BucketFaults:
    """
    Args:
        arena: Whose bucket.
    """

    def __init__(self, arena: BucketArena) -> None:
        self._arena = arena
        self._operator = arena.operator

    @property
    def faults(self) -> Mapping[str, Fault]:
        """By their names."""
        return {
            "leader stepped down": self._step_down,
            "replicas 3 to 1 to 3": self._shrink,
            "peer removed": self._remove_peer,
            "disk full": self._fill,
            "bucket made anew": self._make_anew,
        }

    async def _step_down(self, seconds: float, lot: random.Random) -> str:
        leader = await self._operator.leader()
        await self._operator.ask(f"STREAM.LEADER.STEPDOWN.{STREAM}")
        return leader

    async def _shrink(self, seconds: float, lot: random.Random) -> str:
        # A membership change that three servers can carry out. To remove a peer takes a fourth
        # one that steps in: without, the server refuses with code 10075.
        await self._operator.change(num_replicas=1)
        await asyncio.sleep(seconds)
        await self._operator.change(num_replicas=3)
        await self._operator.wait_current()
        return ""

    async def _remove_peer(self, seconds: float, lot: random.Random) -> str:
        # With a fourth server: another one steps in, and whoever was removed comes back for another one day.
        holders = [await self._operator.leader(), *await self._operator.followers()]
        removed = lot.choice(sorted(holders))
        await self._operator.ask(f"STREAM.PEER.REMOVE.{STREAM}", {"peer": removed})
        await asyncio.sleep(seconds)
        await self._operator.wait_current()
        return removed

    async def _fill(self, seconds: float, lot: random.Random) -> str:
        # What a store meets is what it meets of a full disk: the server takes nothing more.
        state = (await self._operator.describe())["state"]
        await self._operator.change(max_bytes=max(1, state["bytes"]))
        try:
            await asyncio.sleep(seconds)
        finally:
            await self._operator.change(max_bytes=-1)
        return ""

    async def _make_anew(self, seconds: float, lot: random.Random) -> str:
        await self._arena.wipe()
        return ""
