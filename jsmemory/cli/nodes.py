"""The nodes of a cluster on this machine: where they listen, how they begin, and who starts them again."""

import asyncio
import os
import subprocess  # the server's own check of its configuration
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Never

from jsmemory import InvalidOptionsError, PreparedCluster
from jsmemory.cli import screen
from jsmemory.cli.exits import SetupRefused
from jsmemory.testing.servers import (
    NatsCluster,
    NatsServer,
    WrittenConfiguration,
    draw_port,
    find_nats_server,
    is_free,
)

HOST: Final = "127.0.0.1"
NODES: Final = 3
ROUTES_ABOVE: Final = 2000
MONITORS_ABOVE: Final = 4000
"""From 4222 for clients to 6222 for routes and 8222 for the monitoring pages, as is customary."""

_CUSTOMARY: Final = 4222
_LOOK_S: Final = 0.25
_PAUSE_S: Final = 1.0
_LONGEST_PAUSE_S: Final = 30.0
# Before a node that ended by itself is started again: the longer, the sooner it ended.


@dataclass(frozen=True, slots=True)
class Place:
    """The ports of a node: for clients, for the other nodes, for the monitoring pages."""

    client: int
    route: int
    monitor: int


def places_from(first: int) -> list[Place]:
    """Where the nodes listen: `first` is where clients connect to the first of them."""
    return [Place(port, port + ROUTES_ABOVE, port + MONITORS_ABOVE) for port in range(first, first + NODES)]


def free_places(first: int) -> list[Place]:
    """
    Where the nodes can listen now.

    Args:
        first: Where clients connect to the first of them; 0 takes free ports.

    Raises:
        SetupRefused: a port is taken.
    """
    if first == 0:
        return drawn_places()
    places = places_from(first)
    check_free(places)
    return places


def drawn_places() -> list[Place]:
    """Free ports for all nodes."""
    return [Place(draw_port(), draw_port(), draw_port()) for _ in range(NODES)]


def check_free(places: Sequence[Place]) -> None:
    """
    See whether nodes can listen there now.

    Raises:
        SetupRefused: a port is taken.
    """
    for port in (port for place in places for port in (place.client, place.route, place.monitor)):
        if not is_free(port):
            raise SetupRefused(
                f"Port {port} is taken or may not be used. Choose where they begin: --port N, or --port 0."
            )


def nodes_of(prepared: PreparedCluster, places: Sequence[Place]) -> list[NatsServer]:
    """The nodes of a cluster, each in its folder, not started yet."""
    written = written_for(prepared, places)
    return [
        NatsServer(prepared.folder / name, name=name, port=place.client, monitor=place.monitor, written=written[name])
        for name, place in zip(prepared.nodes, places, strict=True)
    ]


def written_for(prepared: PreparedCluster, places: Sequence[Place]) -> dict[str, WrittenConfiguration]:
    """What each node is started with, by its name."""
    return {
        name: WrittenConfiguration(file=prepared.configuration, environment=variables)
        for name, variables in _variables(prepared, places)
    }


def check_configuration(prepared: PreparedCluster) -> None:
    """
    Have the server look at what its nodes are started with; nothing is started.

    Raises:
        SetupRefused: it does not take it, as where a worker's file is not what was printed.
        InvalidOptionsError: there is no nats-server.
    """
    # A check listens nowhere.
    node, variables = next(_variables(prepared, places_from(_CUSTOMARY)))
    checked = subprocess.run(  # noqa: S603
        [find_nats_server(), "-t", "-c", prepared.configuration],
        cwd=prepared.folder / node,
        env={**os.environ, **variables},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if checked.returncode:
        said = screen.one_line(checked.stderr.removeprefix("nats-server: "))
        raise SetupRefused(f"A server does not take its configuration. Mend this, then try again: {said}")


async def keep_up(cluster: NatsCluster, written: Callable[[], Mapping[str, WrittenConfiguration]]) -> Never:
    """
    Start every node again that ends, and say so.

    Args:
        cluster: The nodes.
        written: What they are to be started with now; asked each time, so that a node which is ended
            on purpose comes back with the passwords of today.
    """
    watched = [_Watched(node, written) for node in cluster.nodes]
    while True:
        await asyncio.sleep(_LOOK_S)
        for each in watched:
            each.look(time.monotonic())


def _variables(prepared: PreparedCluster, places: Sequence[Place]) -> Iterator[tuple[str, dict[str, str]]]:
    """The environment of each node, by its name."""
    routes = [f"{HOST}:{place.route}" for place in places]
    for name, place in zip(prepared.nodes, places, strict=True):
        listen, monitor = f"{HOST}:{place.client}", f"{HOST}:{place.monitor}"
        yield name, prepared.variables(name, listen=listen, monitor=monitor, routes=routes)


class _Watched:
    def __init__(self, node: NatsServer, written: Callable[[], Mapping[str, WrittenConfiguration]]) -> None:
        self._node = node
        self._written = written
        self._pause = _PAUSE_S
        self._begun = time.monotonic()
        self._due: float | None = None

    def look(self, now: float) -> None:
        if self._node.is_running:
            return
        if self._due is None:
            lasted = now - self._begun > _LONGEST_PAUSE_S
            self._pause = _PAUSE_S if lasted else min(2 * self._pause, _LONGEST_PAUSE_S)
            self._due = now + self._pause
            screen.talk(f"{self._node.name} ended by itself, and is started again. Its log may tell why.")
        elif now > self._due:
            self._due = None
            self._begun = now
            try:
                self._node.written = self._written()[self._node.name]
            except InvalidOptionsError as error:
                screen.talk(f"{self._node.name} is started as before: {error}")
            self._node.begin()
