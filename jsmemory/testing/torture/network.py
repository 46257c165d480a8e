"""A server or a cluster behind links: nobody reaches a member, client or member, but through one."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Final

from jsmemory.testing.servers.cluster import NAME, NatsCluster
from jsmemory.testing.servers.configuration import Membership, ServerSettings
from jsmemory.testing.servers.ports import draw_port
from jsmemory.testing.servers.process import NatsServer
from jsmemory.testing.torture.links import BOTH, Link, Weather

READY_S: Final = 60.0


class LinkedCluster(NatsCluster):
    """
    A cluster whose members find each other through links only.

    Args:
        folder: Holds the members' folders.
        size: How many members.
        settings: Of all members.
    """

    def __init__(self, folder: Path, *, size: int = 3, settings: ServerSettings | None = None) -> None:
        self._ports: dict[str, int] = {}
        self.routes: dict[str, Link] = {}
        super().__init__(folder, size=size, settings=settings)

    def _draw_routes(self) -> None:
        self._ports = {node.name: draw_port() for node in self.nodes}
        if not self.routes:
            self.routes = {node.name: self._link(node.name) for node in self.nodes}
        for node in self.nodes:
            # A member knows itself by its own port, and the others by their links.
            own = self._ports[node.name]
            others = [link.port for name, link in self.routes.items() if name != node.name]
            node.membership = Membership(
                cluster=NAME, port=own, routes=[own, *others], advertised=self.routes[node.name].port
            )

    def _link(self, name: str) -> Link:
        return Link(lambda: self._ports[name], of_servers=True)


class Network:
    """
    Members and the links to them.

    Args:
        folder: Where the members keep their streams.
        size: 1 for a single server, 3 to 5 for a cluster.
    """

    def __init__(self, folder: Path, size: int) -> None:
        self.cluster = LinkedCluster(folder, size=size) if size > 1 else None
        self.nodes: tuple[NatsServer, ...] = self.cluster.nodes if self.cluster else (NatsServer(folder / "n1"),)
        self.clients = {node.name: _client_link(node) for node in self.nodes}
        self.routes: dict[str, Link] = self.cluster.routes if self.cluster else {}

    @property
    def urls(self) -> tuple[str, ...]:
        """What clients connect to, through the links."""
        return tuple(f"nats://127.0.0.1:{link.port}" for link in self.clients.values())

    @property
    def direct_urls(self) -> tuple[str, ...]:
        """What the operator connects to, past the links."""
        return tuple(node.url for node in self.nodes)

    @property
    def links(self) -> tuple[Link, ...]:
        """Those of clients and those of members."""
        return (*self.clients.values(), *self.routes.values())

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Links and servers, until the block ends."""
        async with AsyncExitStack() as stack:
            for link in self.links:
                await stack.enter_async_context(link.open())
            stack.callback(self._kill_all)
            self.begin()
            await self.ready()
            yield

    def begin(self) -> None:
        """Start every member that does not run, without waiting."""
        for node in self.nodes:
            node.begin()

    async def ready(self) -> None:
        """Wait until all members that run are current with each other."""
        # In a thread, since it looks at pages of servers that may hang, and the links go on meanwhile.
        if self.cluster is not None:
            await asyncio.to_thread(self.cluster.wait_ready, READY_S)
        else:
            await self.nodes[0].ready(READY_S)

    def part(self, *names: str) -> None:
        """Keep some members from the others, and let their clients come to them."""
        others = [node.name for node in self.nodes if node.name not in names]
        # What one sends to another goes over the link of either, whoever of them connected.
        for side, far_side in ((names, others), (others, names)):
            for name in side:
                self.routes[name].turn(Weather(holds=set(BOTH)), far_side)

    def join(self) -> None:
        """Let all routes be fair again; what was held on them arrives late."""
        for link in self.routes.values():
            link.clear()

    def heal(self) -> None:
        """Let all links be fair again, and whoever is paused go on."""
        for link in self.links:
            link.clear()
        for node in self.nodes:
            node.resume()

    def _kill_all(self) -> None:
        for node in self.nodes:
            node.kill()


def _client_link(node: NatsServer) -> Link:
    return Link(lambda: node.port)
