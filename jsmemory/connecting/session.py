"""The front of the room: a connection for as long as its context is entered."""

import asyncio
import os
import ssl
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Final

import anyio

from jsmemory.connecting.clients import discard
from jsmemory.connecting.connection import Connection
from jsmemory.connecting.settings import Settings, settle
from jsmemory.connecting.sources import Source, gather
from jsmemory.connecting.supervision import ConnectionEvent, Supervisor
from jsmemory.errors import InvalidOptionsError

CANCEL_AGAIN_S: Final = 0.2


def connect(
    context: str | None = None,
    servers: str | Sequence[str] | None = None,
    *,
    name: str = "jsmemory",
    user: str | None = None,
    password: str | None = None,
    token: str | None = None,
    credentials: str | os.PathLike[str] | None = None,
    nkey: str | os.PathLike[str] | None = None,
    tls: ssl.SSLContext | None = None,
    inbox_prefix: str | None = None,
    jetstream_domain: str | None = None,
    jetstream_api_prefix: str | None = None,
    first_connect_timeout: float = 10.0,
    on_event: Callable[[ConnectionEvent], None] | None = None,
) -> AbstractAsyncContextManager[Connection]:
    """
    Connect to NATS as its operator has set it up, and stay connected.

        async with jsmemory.connect() as nats:
            ...

    Each setting comes from the first of these that has it: the arguments; the context that
    is named here; the variables of the nats CLI (NATS_URL, NATS_USER, NATS_PASSWORD,
    NATS_TOKEN, NATS_CREDS, NATS_NKEY, NATS_JWT with NATS_SEED, NATS_CA, NATS_CERT, NATS_KEY);
    the context that NATS_CONTEXT names; the selected context, if nothing above names servers
    or credentials; nats://127.0.0.1:4222. What is empty counts as not given. Credentials are
    taken from one place, never mixed.

    The connection outlives restarts of servers, and is built anew, with the settings read
    anew, where nats-py closes it for good. On leaving it is closed, and no task is left.

    Args:
        context: The name of a context of the nats CLI.
        servers: URLs, as one text with commas or one by one. Credentials in one win over
            those of the same place.
        name: What operators see of this client.
        user: With `password`; without one it is a token.
        password: The password of `user`.
        token: A token.
        credentials: The path of a .creds file, with a JWT and a seed.
        nkey: The path of a file with the seed of a user's nkey.
        tls: How servers are verified; replaces ca, cert and key from elsewhere.
        inbox_prefix: Where answers come back; by default a random subject under ``_INBOX``.
        jetstream_domain: The domain whose JetStream is used.
        jetstream_api_prefix: Where the JetStream API is; wins over a domain.
        first_connect_timeout: Seconds until the first connection must stand.
        on_event: Told what happens to the connection; must not block.

    Raises:
        InvalidOptionsError: on entering: a setting cannot be used.
        AccessDeniedError: on entering: the credentials are refused, said at once; or they may
            not listen for answers.
        BackendUnavailableError: on entering: no server answered in time, or TLS failed.
    """
    given = {
        "url": servers if isinstance(servers, str) or servers is None else ",".join(servers),
        "user": user,
        "password": password,
        "token": token,
        "creds": None if credentials is None else os.fspath(credentials),
        "nkey": None if nkey is None else os.fspath(nkey),
        "inbox_prefix": inbox_prefix,
        "jetstream_domain": jetstream_domain,
        "jetstream_api_prefix": jetstream_api_prefix,
    }
    explicit = Source(
        {field: value for field, value in given.items() if value}, {"url": "servers", "creds": "credentials"}
    )

    def settings() -> Settings:
        return settle(gather(explicit, context, os.environ), tls=tls, environment=os.environ)

    return _session(settings, name, first_connect_timeout, on_event)


@asynccontextmanager
async def _session(
    settings: Callable[[], Settings], name: str, limit: float, on_event: Callable[[ConnectionEvent], None] | None
) -> AsyncIterator[Connection]:
    if not 0 < limit < float("inf"):
        raise InvalidOptionsError("first_connect_timeout", "is no number of seconds above 0", "Give a few seconds.")
    supervisor = Supervisor(settings, name, on_event)
    connection = await supervisor.begin(limit)
    watching = asyncio.create_task(supervisor.watch(connection), name=f"{name}: supervision of a NATS connection")
    try:
        yield connection
    finally:
        connection.end()
        with anyio.CancelScope(shield=True):
            while not watching.done():
                # Once is not enough: nats-py swallows a cancellation in places.
                watching.cancel()
                await asyncio.wait({watching}, timeout=CANCEL_AGAIN_S)
            await discard(connection.client)
        supervisor.tell("closed")
