"""Servers for as long as a block lasts."""

import shutil
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

from jsmemory.testing.servers.cluster import NatsCluster
from jsmemory.testing.servers.configuration import ServerSettings
from jsmemory.testing.servers.process import NatsServer


@contextmanager
def local_server(
    folder: Path | None = None,
    *,
    port: int | None = None,
    monitor: bool = False,
    settings: ServerSettings | None = None,
) -> Iterator[NatsServer]:
    """As `embedded_server`, for code without an event loop."""
    with _placed(folder) as place:
        server = NatsServer(place, port=port, monitor=monitor, settings=settings)
        try:
            server.start()
            yield server
        finally:
            _end(server, keep=folder is not None)


@asynccontextmanager
async def embedded_server(
    folder: Path | None = None,
    *,
    port: int | None = None,
    monitor: bool = False,
    settings: ServerSettings | None = None,
) -> AsyncIterator[NatsServer]:
    """
    A server of one node, ready for clients, that ends with the block.

    Args:
        folder: Where its streams stay; by default one that is removed with the server.
        port: Where clients connect; by default a free one.
        monitor: Serve the monitoring pages as well.
        settings: What is to differ from the defaults.

    Raises:
        InvalidOptionsError: there is no nats-server.
        BackendUnavailableError: it did not become ready.
    """
    with _placed(folder) as place:
        server = NatsServer(place, port=port, monitor=monitor, settings=settings)
        try:
            server.begin()
            await server.ready()
            yield server
        finally:
            _end(server, keep=folder is not None)


@contextmanager
def local_cluster(
    folder: Path | None = None, *, size: int = 3, settings: ServerSettings | None = None
) -> Iterator[NatsCluster]:
    """As `embedded_cluster`, for code without an event loop."""
    with _placed(folder) as place:
        cluster = NatsCluster(place, size=size, settings=settings)
        try:
            cluster.start()
            yield cluster
        finally:
            _end(cluster, keep=folder is not None)


@asynccontextmanager
async def embedded_cluster(
    folder: Path | None = None, *, size: int = 3, settings: ServerSettings | None = None
) -> AsyncIterator[NatsCluster]:
    """
    A cluster in which replicated buckets can be made at once; it ends with the block.

    Args:
        folder: Where its streams stay; by default one that is removed with the cluster.
        size: How many servers.
        settings: What is to differ from the defaults, alike for all.

    Raises:
        InvalidOptionsError: there is no nats-server.
        BackendUnavailableError: it did not become ready.
    """
    with _placed(folder) as place:
        cluster = NatsCluster(place, size=size, settings=settings)
        try:
            cluster.begin()
            await cluster.ready()
            yield cluster
        finally:
            _end(cluster, keep=folder is not None)


@contextmanager
def _placed(folder: Path | None) -> Iterator[Path]:
    if folder is not None:
        yield folder
        return
    place = Path(tempfile.mkdtemp(prefix="jsmemory-nats-"))
    try:
        yield place
    finally:
        shutil.rmtree(place)


def _end(servers: NatsServer | NatsCluster, *, keep: bool) -> None:
    # What nobody will look at again needs no good order.
    if keep:
        servers.terminate()
    elif isinstance(servers, NatsCluster):
        servers.kill_all()
    else:
        servers.kill()
