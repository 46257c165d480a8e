"""Several nats-servers that replicate for each other."""

import shutil
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import anyio

from jsmemory.errors import BackendUnavailableError
from jsmemory.testing.servers.configuration import Membership, ServerSettings
from jsmemory.testing.servers.monitoring import is_healthy, leader_seen_by, meta_peers
from jsmemory.testing.servers.ports import draw_port
from jsmemory.testing.servers.process import NatsServer

CLUSTER_READY_S = 60.0
"""
A new cluster takes 0.2 to 0.7 s, with bad luck 2 s; after a leader was killed an election takes 4 to
9 s, twice that where votes split, and longer on a busy machine.
"""

FIRST_ELECTION_S = 1.2
"""
The members of a new cluster elect their leader within 0.7 s, or, once in some twenty starts, split
their votes and try again only after 4 to 9 s: it is quicker to begin anew with empty folders.
"""

CLUSTER_POLL_S = 0.01
NAME = "jsmemory"


class NatsCluster:
    """
    Servers named n1, n2, n3 and so on, each in its own folder, with routes to each other.

    A member is killed, terminated, paused and started through itself (`node`), or by
    `kill` and `start_node`. As with `NatsServer`, one thread at a time.

    Args:
        folder: Holds the members' folders.
        size: How many members; 3 or 5.
        settings: What is to differ from the defaults, alike for all.
    """

    def __init__(self, folder: Path, *, size: int = 3, settings: ServerSettings | None = None) -> None:
        self.nodes = tuple(
            NatsServer(folder / name, name=name, monitor=True, settings=settings)
            for name in (f"n{number}" for number in range(1, size + 1))
        )
        # Nobody has seen it yet: it has nothing to lose, and its ports may still change.
        self._is_new = not any(node.folder.exists() for node in self.nodes)
        self._draw_routes()

    @classmethod
    def of(cls, nodes: Sequence[NatsServer]) -> "NatsCluster":
        """A cluster of servers whose places are settled; nothing of theirs is ever drawn or begun anew."""
        cluster = cls.__new__(cls)
        cluster.nodes = tuple(nodes)
        cluster._is_new = False
        return cluster

    @property
    def urls(self) -> tuple[str, ...]:
        """What clients connect to: every member, also one that is down."""
        return tuple(node.url for node in self.nodes)

    def node(self, which: int | str) -> NatsServer:
        """
        A member, by its place from 0 or by its name.

        Raises:
            LookupError: there is none.
        """
        if isinstance(which, int):
            return self.nodes[which]
        return {node.name: node for node in self.nodes}[which]

    # -- Starting and ending ----------------------------------------------------------------

    def start(self, deadline: float = CLUSTER_READY_S) -> None:
        """
        Start every member that does not run, and wait until the cluster is ready.

        Raises:
            InvalidOptionsError: there is no nats-server.
            BackendUnavailableError: it was not ready in `deadline` seconds, or a member ended.
        """
        self.begin()
        self.wait_ready(deadline)

    def begin(self) -> None:
        """Start every member that does not run, without waiting."""
        for node in self.nodes:
            node.begin()

    def wait_ready(self, deadline: float = CLUSTER_READY_S) -> None:
        """
        Wait until the members that were started can replicate.

        They take clients, have a leader that places streams, and are current with it and
        with every stream they hold. Members that were killed or paused are not waited for.

        Raises:
            BackendUnavailableError: not in `deadline` seconds, as when no majority runs.
        """
        for _ in self._until_ready(deadline):
            time.sleep(CLUSTER_POLL_S)

    async def ready(self, deadline: float = CLUSTER_READY_S) -> None:
        """As `wait_ready`, without stopping the event loop."""
        for _ in self._until_ready(deadline):
            await anyio.sleep(CLUSTER_POLL_S)

    def kill(self, which: int | str) -> NatsServer:
        """End a member as a crash would; the others take up to 9 s to elect new leaders."""
        node = self.node(which)
        node.kill()
        return node

    async def restart(self, which: int | str, deadline: float = CLUSTER_READY_S) -> NatsServer:
        """Kill a member if it runs, start it on its folder and port, and wait until it is current."""
        node = self.kill(which)
        node.begin()
        await self.ready(deadline)
        return node

    def kill_all(self) -> None:
        """End every member as a power cut would end the processes."""
        for node in self.nodes:
            node.kill()

    def terminate(self) -> None:
        """End every member in good order."""
        for node in self.nodes:
            node.terminate()

    # -- Leaders ----------------------------------------------------------------------------

    async def leader_of(self, stream: str, deadline: float = CLUSTER_READY_S) -> NatsServer:
        """
        The member that leads a stream (a bucket's is ``KV_<bucket>``), once all who hold it agree.

        A new leader is silent, or refuses, for some milliseconds more: whoever asks it then asks again.

        Raises:
            BackendUnavailableError: none leads it in `deadline` seconds.
        """
        end = time.monotonic() + deadline
        while True:
            nodes = {node.name: node for node in self._answering()}
            views = {view for node in nodes.values() if (view := leader_seen_by(node, stream))}
            # One that hung, and goes on, still holds itself for the leader; the others know better.
            if len(views) == 1 and (leader := nodes.get(views.pop())):
                return leader
            if time.monotonic() > end:
                raise BackendUnavailableError("The stream has no leader.", "Start a majority of its members.")
            await anyio.sleep(CLUSTER_POLL_S)

    async def followers_of(self, stream: str, deadline: float = CLUSTER_READY_S) -> tuple[NatsServer, ...]:
        """The members that run and do not lead the stream; raises as `leader_of` does."""
        leader = await self.leader_of(stream, deadline)
        return tuple(node for node in self._answering() if node is not leader)

    # -- Inside -----------------------------------------------------------------------------

    def _answering(self) -> list[NatsServer]:
        return [node for node in self.nodes if node.is_started and not node.paused]

    def _until_ready(self, deadline: float) -> Iterator[None]:
        start = time.monotonic()
        end, patience, again = start + deadline, FIRST_ELECTION_S, start + FIRST_ELECTION_S
        while not self._is_up(end) or not self._replicates():
            now = time.monotonic()
            if now > end:
                raise BackendUnavailableError("The cluster was not ready in time.", "Start a majority of its members.")
            if self._is_new and now > again:
                self._start_afresh()
                # A busy machine may simply need longer.
                patience *= 2
                again = now + patience
            yield
        self._is_new = False

    def _is_up(self, end: float) -> bool:
        nodes = self._answering()
        if self._is_new and any(node.lost_its_port for node in nodes):
            # The members know each other by these ports, so all get new ones.
            self._draw_routes()
            self._start_afresh()
        late = time.monotonic() > end
        return [node.progress(late=late) for node in nodes].count(False) == 0

    def _start_afresh(self) -> None:
        for node in self.nodes:
            node.kill()
            shutil.rmtree(node.folder, ignore_errors=True)
        self.begin()

    def _replicates(self) -> bool:
        nodes = self._answering()
        if len(nodes) <= len(self.nodes) // 2:
            # A leader that was left alone still holds itself for one, until it notices.
            return False
        names = {node.name for node in nodes}
        for node in nodes:
            peers = meta_peers(node)
            if peers is not None:
                current = all(peers.get(name, False) for name in names - {node.name})
                return current and all(map(is_healthy, nodes))
        return False

    def _draw_routes(self) -> None:
        routes = [draw_port() for _ in self.nodes]
        for node, port in zip(self.nodes, routes, strict=True):
            node.membership = Membership(cluster=NAME, port=port, routes=routes)
