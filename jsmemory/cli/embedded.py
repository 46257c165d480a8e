"""A JetStream server of our own, for commands that need one."""

import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from jsmemory.testing.servers import NatsServer, embedded_server, make_bucket

_KEPT: Final = "NATS_SERVER_BIN"


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
        for variable in [name for name in os.environ if name.startswith("NATS_") and name != _KEPT]:
            del os.environ[variable]
        await make_bucket(server.url, bucket)
        yield Embedded(server, server.url, dict(os.environ))
