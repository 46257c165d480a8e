"""One run by the store, and the same run by nats-py alone."""

from collections.abc import Iterator, Sequence
from itertools import cycle
from typing import Protocol

import msgspec
from nats.aio.client import Client

from jsmemory.backends.jetstream import messages
from jsmemory.errors import BackendUnavailableError
from jsmemory.scope import Scope
from jsmemory.store import Store
from jsmemory.testing.measuring.plain import marker_headers, value_and_headers
from jsmemory.testing.measuring.throughput.steps import Step

_TIMEOUT: float = 15.0
# Seconds: as long as the store tries.


class Running(Protocol):
    """Who does the steps of one run."""

    async def begin(self) -> None:
        """Store the note that is read and updated from then on."""

    async def do(self, step: Step) -> None:
        """Do one step."""


class StoreRun:
    """
    A run on a store, with a scope of its own.

    Args:
        store: Shared with other runs.
        name: Of the run's note; a second one, which comes and goes, is ``<name>-new``.
        notes: What it writes.
    """

    def __init__(self, store: Store, name: str, notes: Sequence[tuple[str, str]]) -> None:
        self._store = store
        self._name = name
        self._passing = f"{name}-new"
        self._notes: Iterator[tuple[str, str]] = cycle(notes)
        self._scope = Scope()

    async def begin(self) -> None:
        await self._store.create(self._name, *next(self._notes), scope=self._scope)

    async def do(self, step: Step) -> None:
        match step:
            case "read":
                await self._store.read(self._name, scope=self._scope)
            case "update":
                await self._store.update(self._name, *next(self._notes), scope=self._scope)
            case "create":
                await self._store.create(self._passing, *next(self._notes), scope=self._scope)
            case "delete":
                await self._store.delete(self._passing, scope=self._scope)


class PlainRun:
    """
    The same requests, made by nats-py: the same values and headers, ready before they are sent.

    An update and a create are a conditional publish, a read a direct get; a delete looks first
    and is both, as in the store. Nothing is checked save that the server took it.

    Args:
        client: Of nats-py, as it comes.
        bucket: The bucket.
        name: As for a `StoreRun`, with a prefix.
        notes: What it writes.
    """

    def __init__(self, client: Client, bucket: str, name: str, notes: Sequence[tuple[str, str]]) -> None:
        self._client = client
        self._subject = f"$KV.{bucket}.{name}"
        self._passing = f"$KV.{bucket}.{name}-new"
        self._gets = f"$JS.API.DIRECT.GET.KV_{bucket}."
        self._messages = cycle([value_and_headers(*note, expected=1) for note in notes])
        self._marker = marker_headers(1)
        self._last: dict[str, int] = {}

    async def begin(self) -> None:
        await self._put(self._subject)

    async def do(self, step: Step) -> None:
        match step:
            case "read":
                await self._get(self._subject)
            case "update":
                await self._put(self._subject)
            case "create":
                await self._put(self._passing)
            case "delete":
                await self._get(self._passing)
                await self._publish(self._passing, b"", self._marker)

    async def _get(self, subject: str) -> None:
        await self._client.request(self._gets + subject, b"", timeout=_TIMEOUT)

    async def _put(self, subject: str) -> None:
        value, headers = next(self._messages)
        await self._publish(subject, value, headers)

    async def _publish(self, subject: str, value: bytes, headers: dict[str, str]) -> None:
        headers[messages.EXPECTED] = str(self._last.get(subject, 0))
        reply = await self._client.request(subject, value, timeout=_TIMEOUT, headers=headers)
        answer = msgspec.json.decode(reply.data)
        if "seq" not in answer:
            raise BackendUnavailableError("The bucket refused a raw publish.", "Let nobody else write there meanwhile.")
        self._last[subject] = answer["seq"]
