"""What happens to clients: their links, and the processes that they are."""

import asyncio
import random
from collections.abc import Mapping
from typing import Final

from jsmemory.testing.torture.fleet import Fleet
from jsmemory.testing.torture.jobs import Order
from jsmemory.testing.torture.links import BOTH, Weather
from jsmemory.testing.torture.nemesis import Fault
from jsmemory.testing.torture.network import Network

_DELAY_S: Final = (0.005, 0.08)
_STALLS: Final = (0.05, 0.3)
_JUMPS_S: Final = (-86_400.0, 86_400.0)


class WorkerFaults:
    """
    What happens to any process.

    Args:
        fleet: The workers.
    """

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet

    @property
    def faults(self) -> Mapping[str, Fault]:
        """By their names."""
        return {
            "worker killed": self._kill,
            "worker paused": self._pause,
            "clock jumped": self._jump,
        }

    async def _kill(self, seconds: float, lot: random.Random) -> str:
        worker = self._fleet.any(lot)
        await self._fleet.kill(worker)
        return worker

    async def _pause(self, seconds: float, lot: random.Random) -> str:
        worker = self._fleet.any(lot)
        self._fleet.pause(worker)
        try:
            await asyncio.sleep(seconds)
        finally:
            self._fleet.resume(worker)
        return worker

    async def _jump(self, seconds: float, lot: random.Random) -> str:
        worker = self._fleet.any(lot)
        self._fleet.order(worker, Order("clock", lot.uniform(*_JUMPS_S)))
        return worker


class LinkFaults:
    """
    What happens between clients and servers.

    Args:
        fleet: The workers.
        network: The links to the servers.
    """

    def __init__(self, fleet: Fleet, network: Network) -> None:
        self._fleet = fleet
        self._network = network

    @property
    def faults(self) -> Mapping[str, Fault]:
        """By their names."""
        return {
            "answers swallowed": self._swallow_answers,
            "requests swallowed": self._swallow_requests,
            "cut after a write was sent": self._cut_writes,
            "links slow": self._slow,
            "links lossy": self._lose,
            "link down": self._down,
            "client reconnected": self._reconnect,
        }

    async def _swallow_answers(self, seconds: float, lot: random.Random) -> str:
        # The server acts, and says so to nobody.
        return await self._weather(Weather(holds={"down"}), seconds, self._some(lot), cutting=True)

    async def _swallow_requests(self, seconds: float, lot: random.Random) -> str:
        return await self._weather(Weather(holds={"up"}), seconds, self._some(lot), cutting=True)

    async def _cut_writes(self, seconds: float, lot: random.Random) -> str:
        return await self._weather(Weather(cuts_writes=True), seconds, self._some(lot))

    async def _slow(self, seconds: float, lot: random.Random) -> str:
        return await self._weather(Weather(delay=lot.uniform(*_DELAY_S)), seconds, self._some(lot))

    async def _lose(self, seconds: float, lot: random.Random) -> str:
        return await self._weather(Weather(stalls=lot.uniform(*_STALLS)), seconds, self._some(lot))

    async def _down(self, seconds: float, lot: random.Random) -> str:
        link = lot.choice(sorted(self._network.clients))
        self._network.clients[link].turn(Weather(holds=set(BOTH), refuses=True))
        try:
            await asyncio.sleep(seconds)
        finally:
            # Half of the time what was held arrives late, else it is lost.
            if lot.random() < 0.5:
                self._network.clients[link].cut()
            self._network.clients[link].clear()
        return link

    async def _reconnect(self, seconds: float, lot: random.Random) -> str:
        workers = self._some(lot)
        for link in self._network.clients.values():
            link.cut(workers)
        return ", ".join(workers)

    async def _weather(self, weather: Weather, seconds: float, workers: list[str], *, cutting: bool = False) -> str:
        for link in self._network.clients.values():
            link.turn(weather, workers)
        try:
            await asyncio.sleep(seconds)
        finally:
            for link in self._network.clients.values():
                if cutting:
                    link.cut(workers)
                link.clear()
        return ", ".join(workers)

    def _some(self, lot: random.Random) -> list[str]:
        names = sorted(self._fleet.names)
        return sorted(lot.sample(names, lot.randint(1, len(names))))
