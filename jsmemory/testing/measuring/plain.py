"""The raw requests of nats-py that store calls are held against."""

import asyncio
import secrets
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any, Final

import msgspec
import nats.errors
from nats.aio.client import Client
from nats.aio.msg import Msg

from jsmemory.backends.jetstream import messages
from jsmemory.backends.jetstream.heeding import heeded
from jsmemory.backends.jetstream.wire import Connection
from jsmemory.entries import Draft
from jsmemory.errors import AccessDeniedError, BackendUnavailableError
from jsmemory.frontmatter import serialise

_TIMEOUT: Final = 10.0
_BATCH: Final = 256
# Bodies asked for at once. A server cuts off a client for which more than 64 MiB wait, and a
# full store is more than that.
_ANYWHERE: Final = messages.Window(0, 10**13)
# Written in as many characters as a store's own after a million writes; an entry wherever it is stored.


class Plain:
    """
    Requests on one bucket, as short as nats-py makes them.

    Args:
        connection: The connection that the store uses too.
        client: The client in it, for what is timed.
        api: The subject of the JetStream API.
        bucket: The bucket.
    """

    def __init__(self, connection: Connection, client: Client, api: str, bucket: str) -> None:
        self._connection = connection
        self._client = client
        self._api = api
        self._bucket = bucket
        self.allows_direct = True

    # -- What is timed ----------------------------------------------------------------------

    async def read(self, name: str) -> None:
        """Get one value: of any replica where the bucket allows that, else of the leader."""
        subject = f"$KV.{self._bucket}.{name}"
        if self.allows_direct:
            await self._request(f"{self._api}.DIRECT.GET.KV_{self._bucket}.{subject}", b"")
        else:
            asked = b'{"last_by_subj":"%s"}' % subject.encode()
            await self._request(f"{self._api}.STREAM.MSG.GET.KV_{self._bucket}", asked)

    async def publish(self, name: str, value: bytes, headers: dict[str, str]) -> int:
        """
        Publish conditionally.

        Returns:
            The sequence that it was stored at.
        """
        subject = f"$KV.{self._bucket}.{name}"
        reply = await self._request(subject, value, headers)
        answer = msgspec.json.decode(reply.data)
        if "seq" not in answer:
            raise BackendUnavailableError("The bucket refused a raw publish.", "Let nobody else write there meanwhile.")
        return int(answer["seq"])

    async def _request(self, subject: str, payload: bytes, headers: dict[str, str] | None = None) -> Msg:
        # Whoever stops a measurement stops it, also when an answer comes at that moment.
        return await heeded(self._client.request(subject, payload, timeout=_TIMEOUT, headers=headers))

    async def list_with_bodies(self, filter_subject: str) -> list[Msg]:
        """What the consumer that a store lists with delivers, bodies included."""
        name = secrets.token_hex(12)
        stream = f"KV_{self._bucket}"
        config = {
            "name": name,
            "deliver_policy": "last_per_subject",
            "ack_policy": "none",
            "filter_subject": filter_subject,
            "mem_storage": True,
            "num_replicas": 1,
        }
        asked = msgspec.json.encode({"stream_name": stream, "config": config})
        await self.ask(f"CONSUMER.CREATE.{stream}.{name}.{filter_subject}", asked)
        came: list[Msg] = []
        is_over = False
        batch_ended = asyncio.Event()

        async def take(message: Msg) -> None:
            nonlocal is_over
            if (message.headers or {}).get("Status") is not None:
                is_over = True
            else:
                came.append(message)
            if is_over or len(came) % _BATCH == 0:
                batch_ended.set()

        inbox = self._client.new_inbox()
        subscription = await self._client.subscribe(inbox, cb=take)
        more = msgspec.json.encode({"batch": _BATCH, "no_wait": True})
        try:
            async with asyncio.timeout(_TIMEOUT):
                while not is_over:
                    batch_ended.clear()
                    await self._client.publish(f"{self._api}.CONSUMER.MSG.NEXT.{stream}.{name}", more, inbox)
                    await batch_ended.wait()
        except TimeoutError:
            raise BackendUnavailableError("The raw listing did not end.") from None
        await subscription.unsubscribe()
        await self.ask(f"CONSUMER.DELETE.{stream}.{name}", b"")
        return came

    # -- What is not ------------------------------------------------------------------------

    async def stream(self, filter_subject: str) -> dict[str, Any]:
        """The server's description of the bucket's stream, with the subjects under a filter."""
        asked = msgspec.json.encode({"subjects_filter": filter_subject})
        return await self.ask(f"STREAM.INFO.KV_{self._bucket}", asked)

    async def purge(self, filter_subject: str) -> None:
        """Remove everything under a filter, markers too."""
        await self.ask(f"STREAM.PURGE.KV_{self._bucket}", msgspec.json.encode({"filter": filter_subject}))

    async def ask(self, operation: str, payload: bytes) -> dict[str, Any]:
        """
        Ask the JetStream API.

        Raises:
            AccessDeniedError: no answer: as far as can be told the permission is missing.
            BackendUnavailableError: the server refused it.
        """
        try:
            reply = await self._connection.request(f"{self._api}.{operation}", payload, _TIMEOUT)
        except nats.errors.TimeoutError:
            raise AccessDeniedError(f"publish to {self._api}.{operation}") from None
        answer: dict[str, Any] = msgspec.json.decode(reply.data)
        if "error" in answer:
            raise BackendUnavailableError("The server refused what the measurement needs of the bucket.")
        return answer


def value_and_headers(description: str, content: str, expected: int) -> tuple[bytes, dict[str, str]]:
    """What a store would send for this write, byte for byte of the same size; made before the clock runs."""
    draft = Draft.of(description, content)
    headers = {
        messages.OPERATION: messages.new_operation(),
        messages.EXPECTED: str(expected),
        messages.DESCRIPTION: messages.encode_description(draft.description),
    }
    if expected:
        headers[messages.PREVIOUS] = messages.new_operation()
    else:
        headers[messages.NEW] = str(_ANYWHERE)
    return serialise(draft), headers


def marker_headers(expected: int) -> dict[str, str]:
    """The headers of a delete marker, as a store would send them."""
    return {
        messages.OPERATION: messages.new_operation(),
        messages.EXPECTED: str(expected),
        messages.KV_OPERATION: "DEL",
        messages.PREVIOUS: messages.new_operation(),
    }


class Received:
    """How many bytes have come in since a moment."""

    def __init__(self) -> None:
        self.count = 0


@contextmanager
def counted_bytes(client: Client) -> Iterator[Received]:
    """
    Count every byte that arrives on a connection while the block lasts.

    The client's own figure leaves out headers and protocol lines, and a listing without
    bodies is nothing else; so the count is taken where the client reads from its socket.
    """
    received = Received()
    parser: Any = client._ps
    parse = parser.parse

    async def count(data: bytes = b"") -> None:
        received.count += len(data)
        await parse(data)

    parser.parse = count
    try:
        yield received
    finally:
        del parser.parse


@asynccontextmanager
async def translated() -> AsyncIterator[None]:
    """Say what nats-py raises in the block in the words of the contract."""
    try:
        yield
    except (nats.errors.Error, OSError):
        raise BackendUnavailableError("The connection was lost while the bucket was measured.") from None
