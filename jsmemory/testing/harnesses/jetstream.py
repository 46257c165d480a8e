"""A bucket on a real server, or on a cluster."""

import asyncio
import json
import secrets
from collections.abc import Mapping
from contextlib import AsyncExitStack
from types import TracebackType
from typing import Any, Final, Literal, Self

from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.errors import NoRespondersError
from nats.js.errors import NotFoundError

from jsmemory.backed_store import BackedStore
from jsmemory.backend import Backend
from jsmemory.backends.jetstream.backend import JetStreamBackend
from jsmemory.backends.jetstream.options import ELECTION_TIMEOUT, WRITE_BUDGET
from jsmemory.backends.jetstream.wire import Connection, Wire
from jsmemory.keys import Prefix
from jsmemory.store import Store
from jsmemory.testing.harness import BackendHarness
from jsmemory.testing.servers import make_bucket, plain_client

_PATIENCE: Final = 30.0
# Seconds for what the harness itself asks of a server.


class JetStreamHarness(BackendHarness):
    """
    A fresh bucket, removed after. Every store has a connection of its own, as in another
    process; on a cluster each is connected to another server.

    Args:
        urls: Where the servers listen.
        replicas: Of the bucket.
        prefix: What the stores are bound to; ``""`` is the whole bucket.
        preflight: Whether the stores examine the bucket.
        budget: Seconds that a store takes for one call at most.
        operator: How the harness and a neighbour connect: options of nats-py, such as ``user``.
        worker: How the stores connect.
    """

    def __init__(
        self,
        *urls: str,
        replicas: Literal[1, 3] = 1,
        prefix: str = "team",
        preflight: bool = True,
        budget: float = WRITE_BUDGET,
        operator: Mapping[str, Any] | None = None,
        worker: Mapping[str, Any] | None = None,
    ) -> None:
        self._urls = urls
        self._replicas = replicas
        self._prefix = prefix
        self._preflight = preflight
        self._budget = budget
        self._operator = operator or {}
        self._worker = worker or {}
        self._bucket = f"kit-{secrets.token_hex(6)}"
        self._opened = 0
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Self:
        await self._stack.__aenter__()
        self._client = await self._connect(self._operator)
        await make_bucket(self._client, self._bucket, replicas=self._replicas)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            await self._ask(f"STREAM.DELETE.KV_{self._bucket}")
        finally:
            await self._stack.__aexit__(kind, error, trace)

    async def drive(self) -> Backend:
        return await self._bind(self._prefix, self._worker)

    async def neighbour(self) -> Store:
        return BackedStore(await self._bind(f"{self._prefix}-too", self._operator))

    async def plant(self, name: str, value: bytes) -> None:
        async with asyncio.timeout(_PATIENCE):
            reply = await self._ask_until_heard(self._subject(name), value)
        answer = json.loads(reply.data)
        if "error" in answer:
            raise RuntimeError(f"The server refused the planted value with error {answer['error'].get('err_code')}.")

    async def peek(self, key: str) -> bytes | None:
        jetstream = self._client.jetstream()
        try:
            message = await jetstream.get_last_msg(f"KV_{self._bucket}", self._subject(key))
        except NotFoundError:
            return None
        return None if "KV-Operation" in (message.headers or {}) else message.data or b""

    def between(self, client: Client) -> Connection:
        """What a store gets of a client that was connected for it; a harness may put something in between."""
        return client

    async def recreate(self) -> None:
        await self._ask(f"STREAM.DELETE.KV_{self._bucket}")
        await make_bucket(self._client, self._bucket, replicas=self._replicas)

    async def _connect(self, options: Mapping[str, Any]) -> Client:
        turn = self._opened % len(self._urls)
        self._opened += 1
        return await self._stack.enter_async_context(plain_client(*self._urls[turn:], *self._urls[:turn], **options))

    async def _bind(self, prefix: str, options: Mapping[str, Any]) -> Backend:
        wire = Wire(self.between(await self._connect(options)))
        return await JetStreamBackend.bind(
            wire, self._bucket, prefix, preflight=self._preflight, bind_timeout=ELECTION_TIMEOUT, budget=self._budget
        )

    async def _ask_until_heard(self, subject: str, payload: bytes) -> Msg:
        # Replicas of a new bucket are not there at once; a store has the patience for that itself.
        while True:
            try:
                return await self._client.request(subject, payload, timeout=_PATIENCE)
            except NoRespondersError:
                await asyncio.sleep(0.02)

    async def _ask(self, operation: str) -> None:
        await self._client.request(f"$JS.API.{operation}", b"", timeout=_PATIENCE)

    def _subject(self, name: str) -> str:
        return f"$KV.{self._bucket}.{Prefix(self._prefix).join(name)}"
