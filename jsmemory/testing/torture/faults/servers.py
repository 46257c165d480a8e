"""What happens to servers and their routes."""

import asyncio
import random
from collections.abc import Mapping

from jsmemory.testing.servers.process import NatsServer
from jsmemory.testing.torture.arena import BucketArena
from jsmemory.testing.torture.links import Weather
from jsmemory.testing.torture.nemesis import Fault

_ROUTE_DELAY_S = (0.005, 0.05)


class ServerFaults:
    """
    Args:
        arena: Whose servers.
    """

    def __init__(self, arena: BucketArena) -> None:
        self._arena = arena
        self._network = arena.network

    @property
    def faults(self) -> Mapping[str, Fault]:
        """By their names."""
        return {
            "leader killed": self._kill_leader,
            "member killed": self._kill_member,
            "server killed": self._kill_member,
            "majority killed": self._kill_majority,
            "all killed": self._kill_all,
            "leader paused": self._pause_leader,
            "member paused": self._pause_member,
            "server paused": self._pause_member,
            "leader parted": self._part_leader,
            "member parted": self._part_member,
            "followers parted": self._part_followers,
            "routes slow": self._slow_routes,
        }

    async def _kill_leader(self, seconds: float, lot: random.Random) -> str:
        return await self._kill([await self._leader()], seconds)

    async def _kill_member(self, seconds: float, lot: random.Random) -> str:
        return await self._kill([self._any(lot)], seconds)

    async def _kill_majority(self, seconds: float, lot: random.Random) -> str:
        return await self._kill(lot.sample(self._network.nodes, len(self._network.nodes) // 2 + 1), seconds)

    async def _kill_all(self, seconds: float, lot: random.Random) -> str:
        return await self._kill(list(self._network.nodes), seconds)

    async def _kill(self, nodes: list[NatsServer], seconds: float) -> str:
        for node in nodes:
            node.kill()
        await asyncio.sleep(seconds)
        self._network.begin()
        await self._network.ready()
        return _listed([node.name for node in nodes])

    async def _pause_leader(self, seconds: float, lot: random.Random) -> str:
        return await self._pause(await self._leader(), seconds)

    async def _pause_member(self, seconds: float, lot: random.Random) -> str:
        return await self._pause(self._any(lot), seconds)

    async def _pause(self, node: NatsServer, seconds: float) -> str:
        node.pause()
        try:
            await asyncio.sleep(seconds)
        finally:
            node.resume()
        await self._network.ready()
        return node.name

    async def _part_leader(self, seconds: float, lot: random.Random) -> str:
        return await self._part([await self._arena.operator.leader()], seconds)

    async def _part_member(self, seconds: float, lot: random.Random) -> str:
        return await self._part([self._any(lot).name], seconds)

    async def _part_followers(self, seconds: float, lot: random.Random) -> str:
        # The leader has a majority of the servers with it, and none of those that hold the stream.
        return await self._part(await self._arena.operator.followers(), seconds)

    async def _part(self, names: list[str], seconds: float) -> str:
        self._network.part(*names)
        try:
            await asyncio.sleep(seconds)
        finally:
            self._network.join()
        await self._network.ready()
        return _listed(names)

    async def _slow_routes(self, seconds: float, lot: random.Random) -> str:
        for link in self._network.routes.values():
            link.turn(Weather(delay=lot.uniform(*_ROUTE_DELAY_S)))
        try:
            await asyncio.sleep(seconds)
        finally:
            self._network.join()
        return ""

    async def _leader(self) -> NatsServer:
        name = await self._arena.operator.leader()
        return next(node for node in self._network.nodes if node.name == name)

    def _any(self, lot: random.Random) -> NatsServer:
        return lot.choice(self._network.nodes)


def _listed(names: list[str]) -> str:
    return ", ".join(sorted(names))
