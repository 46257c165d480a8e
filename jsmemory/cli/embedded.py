"""A JetStream server of our own, for commands that need one."""

import os
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

import jsmemory
from jsmemory import BucketRecipe
from jsmemory.testing.servers import NatsServer, ServerSettings, embedded_cluster, embedded_server

if TYPE_CHECKING:
    from jsmemory import Connection

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
        differences: How a bucket that was there is not as a new one would be, each with its cure.
    """

    server: NatsServer
    url: str
    environment: Mapping[str, str]
    differences: Sequence[str] = ()


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
        InvalidOptionsError: there is no nats-server.
        BackendUnavailableError: the server did not start.
    """
    async with embedded_server(folder, port=port) as server:
        _forget_other_servers()
        async with jsmemory.connect(servers=server.url, name="jsmemory server") as nats:
            differences = await made_bucket(nats, bucket, replicas=1)
        yield Embedded(server, server.url, dict(os.environ), differences)


async def made_bucket(nats: "Connection", bucket: str, *, replicas: Literal[1, 3]) -> list[str]:
    """Make a bucket as `jsmemory provision` prints it; how one that was there differs, each with its cure."""
    compared = await jsmemory.apply_recipe(nats, BucketRecipe(bucket=bucket, replicas=replicas, allow_rollup=False))
    return [
        f"The bucket was there, and is not as a new one would be: {each.setting} is {each.found}. "
        f"Mend it with: {each.cure}"
        for each in compared.deviations
    ]


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
