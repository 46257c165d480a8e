"""Measure a store on a bucket, and leave the bucket as it was."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final

import anyio
from nats.aio.client import Client

from jsmemory.backends.jetstream import JetStreamStore
from jsmemory.connecting import Connection
from jsmemory.errors import BackendError, InvalidOptionsError
from jsmemory.keys import Prefix
from jsmemory.limits import MAX_CONTENT_BYTES, MAX_ENTRIES
from jsmemory.store import Store
from jsmemory.testing.measuring.comparing import Comparison
from jsmemory.testing.measuring.copying import NAME as COPY
from jsmemory.testing.measuring.copying import measure_copy
from jsmemory.testing.measuring.listing import measure_listing
from jsmemory.testing.measuring.operations import Operations, Report
from jsmemory.testing.measuring.plain import Plain, translated
from jsmemory.testing.measuring.tools import measure_tools
from jsmemory.testing.measuring.viewing import NAME as LIVE_LIST
from jsmemory.testing.measuring.viewing import measure_view

ROUNDS: Final = 1000
SIZE: Final = 4096
_REMOVING_S: Final = 60.0


@dataclass(frozen=True, slots=True)
class BucketMeasured:
    """
    What a bucket was measured to take.

    Attributes:
        operations: By the name of the operation, against the raw request.
        tools: By the name of the tool, against the store.
        server_version: Of the server that is connected to.
        replicas: Of the bucket.
        is_clean: Whether everything that was written is gone again; False where the
            credentials may not purge, and delete markers stay behind.
    """

    operations: Mapping[str, Comparison]
    tools: Mapping[str, Comparison]
    server_version: str
    replicas: int
    is_clean: bool


async def measure_bucket(
    connection: Connection | Client,
    bucket: str,
    prefix: str,
    *,
    rounds: int = ROUNDS,
    size: int = SIZE,
    entries: int = MAX_ENTRIES,
    entry_size: int = MAX_CONTENT_BYTES,
    report: Report = lambda operation, part: None,
) -> BucketMeasured:
    """
    Time every operation of a store against the raw request under it, and every tool against the store.

    Args:
        connection: Where; it stays open.
        bucket: A bucket that is fit for memory; other programs may use it meanwhile.
        prefix: One token that nobody uses. What is measured is stored under ``<prefix>-a`` to
            ``<prefix>-f``, and removed afterwards.
        rounds: How often each operation and tool is timed.
        size: Bytes of a content that is read or written.
        entries: How many entries are listed, and copied, at most 1,024.
        entry_size: Bytes of the content of each.
        report: Told the operation and which part of it is done.

    Raises:
        InvalidKeyError: the prefix is no token.
        InvalidOptionsError: something is stored under the prefix; nothing was written.
        SetupError: the bucket is missing or unfit.
        BackendError: it cannot be reached, or may not be described.
    """
    tokens = tuple(f"{prefix}-{part}" for part in "abcdef")
    for token in tokens:
        Prefix(token)
    inside, beside, full, called, bare, copied = tokens
    store = await JetStreamStore.bind(connection, bucket, inside)
    client = connection.client if isinstance(connection, Connection) else connection
    api = getattr(connection, "jetstream_api_prefix", "$JS.API")
    plain = Plain(connection, client, api, bucket)
    async with translated():
        # What lies under the prefix itself is not touched; but somebody uses it.
        for token in (prefix, *tokens):
            stream = await plain.stream(f"$KV.{bucket}.{token}.>")
            if stream["state"].get("subjects"):
                raise InvalidOptionsError(
                    "prefix", "names a place where something is stored", "Name an unused one; its entries are removed."
                )
        plain.allows_direct = bool(stream["config"].get("allow_direct"))
        cleaning = _Cleaning(plain, connection, bucket, tokens)
        async with cleaning.afterwards():
            # First, as in a run of an agent: a listing is what it begins with.
            filled = await JetStreamStore.bind(connection, bucket, full)
            listing = await measure_listing(
                filled, plain, client, f"$KV.{bucket}.{full}.>", entries=entries, size=entry_size, report=report
            )
            live = await measure_view(filled, plain, f"{beside}.request", rounds=rounds, report=report)
            copying = await _measure_copy(filled, cleaning, {"bare": bare, "copied": copied}, report)
            operations = Operations(store, plain, inside, beside, size=size, rounds=rounds)
            read = await operations.read(report)
            update = await operations.update(report)
            create, delete = await operations.create_and_delete(report)
            tools = await measure_tools(
                await JetStreamStore.bind(connection, bucket, called), filled, rounds=rounds, size=size, report=report
            )
    server = client.connected_server_version
    return BucketMeasured(
        {
            "read": read,
            "update": update,
            "create": create,
            "delete": delete,
            "list": listing,
            LIVE_LIST: live,
            COPY: copying,
        },
        tools,
        f"{server.major}.{server.minor}.{server.patch}",
        int(stream["config"]["num_replicas"]),
        cleaning.is_clean,
    )


async def _measure_copy(source: Store, cleaning: "_Cleaning", tokens: Mapping[str, str], report: Report) -> Comparison:
    async def open_empty(name: str) -> Store:
        await cleaning.clean(tokens[name])
        return await cleaning.open(tokens[name])

    return await measure_copy(source, open_empty, report=report)


class _Cleaning:
    """Removes what was written, and nothing else: the prefixes were empty before."""

    def __init__(self, plain: Plain, connection: Connection | Client, bucket: str, tokens: Sequence[str]) -> None:
        self._plain = plain
        self._connection = connection
        self._bucket = bucket
        self._tokens = tokens
        self.is_clean = True

    @asynccontextmanager
    async def afterwards(self) -> AsyncIterator[None]:
        """Clean up after the block, cancelled or not."""
        try:
            yield
        finally:
            with anyio.move_on_after(_REMOVING_S, shield=True):
                for token in self._tokens:
                    await self.clean(token)

    async def open(self, token: str) -> Store:
        """The store of a prefix."""
        return await JetStreamStore.bind(self._connection, self._bucket, token)

    async def clean(self, token: str) -> None:
        """Remove what is in a prefix."""
        if self.is_clean:
            try:
                await self._plain.purge(f"$KV.{self._bucket}.{token}.>")
            except BackendError:
                self.is_clean = False
            else:
                return
        # Not everybody may purge. Deletes are allowed, and leave their markers.
        store = await self.open(token)
        for item in await store.list():
            await store.delete(item.key, scope=None)
