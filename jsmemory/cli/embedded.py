"""A JetStream server of our own, for commands that need one."""

import os
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from jsmemory.testing.servers import NatsServer, ServerSettings, embedded_cluster, embedded_server, make_bucket

_KEPT: Final = "NATS_SERVER_BIN"

_ROOM: Final = 64 * 1024**3
# Bytes that a server may store: more than ten million entries of a few hundred bytes.


@dataclass(frozen=True, slots=True)
class Embedded:
    """
    A server that runs, with a bucket in it.

    Attributes:
        server: The server.
        url: What clients connect to.
        environment: For processes that connect to it.
    """

    server: NatsServer
    url: str
    environment: Mapping[str, str]


@asynccontextmanager
async def embedded_bucket(
    bucket: str, folder: Path | None = None, *, port: int | None = None
) -> AsyncIterator[Embedded]:
    """
    Run a server with a bucket that is fit for memory, until the block ends.

    The variables that say how to connect elsewhere are taken out of this process: the
    credentials and certificates of another server would keep it from its own.

    Args:
        bucket: Its name.
        folder: Where its streams stay; by default one that is removed with the server.
        port: Where clients connect; by default a free one.

    Raises:
        InvalidOptionsError: there is no nats-server; or the folder holds the bucket, and made otherwise.
        BackendUnavailableError: the server did not start.
    """
    async with embedded_server(folder, port=port) as server:
        _forget_other_servers()
        await make_bucket(server.url, bucket)
        yield Embedded(server, server.url, dict(os.environ))


@asynccontextmanager
async def embedded_servers(replicas: int, *, is_durable: bool) -> AsyncIterator[tuple[str, ...]]:
    """
    Servers with room for millions of entries, one for each replica, until the block ends.

    As for `embedded_bucket`, variables that say how to connect elsewhere are taken out of this process.

    Args:
        replicas: 1, 3 or 5.
        is_durable: Whether they sync what they store before they acknowledge it.

    Yields:
        What clients connect to.

    Raises:
        InvalidOptionsError: there is no nats-server.
        BackendUnavailableError: they did not start.
    """
    settings = ServerSettings(max_file=_ROOM, sync_interval="always" if is_durable else "2m")
    async with AsyncExitStack() as stack:
        urls: tuple[str, ...]
        if replicas == 1:
            urls = ((await stack.enter_async_context(embedded_server(settings=settings))).url,)
        else:
            urls = (await stack.enter_async_context(embedded_cluster(size=replicas, settings=settings))).urls
        _forget_other_servers()
        yield urls


def _forget_other_servers() -> None:
    for variable in [name for name in os.environ if name.startswith("NATS_") and name != _KEPT]:
        del os.environ[variable]
