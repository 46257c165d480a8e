"""Servers that run with what is printed for their workers, and a store put through its paces."""

import json
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import pytest
from nats.aio.client import Client

from jsmemory import (
    AccessDeniedError,
    EntryNotFoundError,
    JetStreamJournal,
    JetStreamStore,
    Journal,
    Scope,
    StaleEntryError,
    WorkerPermissions,
    connect,
)
from jsmemory.testing.servers import NatsServer, ServerSettings, embedded_server, make_bucket, plain_client
from jsmemory.testing.streams import make_stream

SECRET = "secret"


class Grounds:
    """Where tests of this folder take place: what is printed, in force on a real server."""

    def settings(self, workers: Sequence[WorkerPermissions], *, extra: str = "") -> ServerSettings:
        """A server for these workers, whose shared bucket, if any, is in the account WORK."""
        return ServerSettings(extra=accounts_for(workers) + extra)

    @asynccontextmanager
    async def server(self, *workers: WorkerPermissions, **stream: Any) -> AsyncIterator[NatsServer]:
        """One server with these workers, and the buckets and streams made that they need."""
        async with embedded_server(settings=self.settings(workers)) as server:
            for operator, bucket, journal in {(operator_of(each), each.bucket, each.journal) for each in workers}:
                async with plain_client(server.url, user=operator, password=SECRET) as client:
                    await make_bucket(client, bucket, **stream)
                    if journal:
                        await make_stream(client, journal)
            yield server

    def operator(self, url: str, worker: WorkerPermissions) -> AbstractAsyncContextManager[Client]:
        """Who may do everything where the worker's notes are."""
        return plain_client(url, user=operator_of(worker), password=SECRET)

    def bare(self, url: str, worker: WorkerPermissions) -> AbstractAsyncContextManager[Client]:
        """A client of nats-py with nothing around it."""
        return plain_client(
            url, user=worker.worker, password=SECRET, inbox_prefix=worker.inbox_prefix.encode(), name=worker.worker
        )

    def connection(self, url: str, worker: WorkerPermissions) -> AbstractAsyncContextManager[Any]:
        """The supervised connection that the worker's host is told to make."""
        return connect(
            servers=url,
            user=worker.worker,
            password=SECRET,
            inbox_prefix=worker.inbox_prefix,
            jetstream_api_prefix=worker.api_prefix,
        )

    @asynccontextmanager
    async def store(
        self, url: str, worker: WorkerPermissions, *, bare: bool = False, write_budget: float = 15
    ) -> AsyncIterator[JetStreamStore]:
        """The worker's store, opened as its host is told to."""
        if bare:
            async with self.bare(url, worker) as client:
                yield await JetStreamStore.bind(
                    client, **worker.options, api_prefix=worker.api_prefix, write_budget=write_budget
                )
            return
        async with self.connection(url, worker) as connection:
            yield await JetStreamStore.bind(connection, **worker.options, write_budget=write_budget)

    @asynccontextmanager
    async def places(self, url: str, worker: WorkerPermissions) -> AsyncIterator[tuple[JetStreamStore, Journal]]:
        """The worker's store and its journal, opened as its host does."""
        async with self.connection(url, worker) as connection:
            yield (
                await JetStreamStore.bind(connection, **worker.options),
                await JetStreamJournal.bind(connection, worker.journal),
            )

    async def use_whole(self, store: JetStreamStore) -> None:
        """Every verb, with every answer that needs a second look at the bucket."""
        scope = Scope()
        await store.create("k", "d", "one", scope=scope)
        await store.update("k", "d", "two", scope=scope)
        with pytest.raises(StaleEntryError):
            await store.update("k", "d", "three", scope=Scope())
        stale = Scope()
        await store.read("k", scope=stale)
        await store.update("k", "d", "three", scope=scope)
        with pytest.raises(StaleEntryError) as refused:
            await store.update("k", "d", "late", scope=stale)
        assert refused.value.reason == "changed"
        assert [item.key for item in await store.list()] == ["k"]
        assert await store.delete("k", scope=scope) is True
        assert await store.delete("k", scope=scope) is False
        await store.create("k", "d", "anew", scope=scope)
        with pytest.raises(EntryNotFoundError):
            await store.read("absent", scope=scope)
        # More than one answer to a question: what a service that is imported wrongly would cut off.
        for number in range(20):
            await store.create(f"n{number}", f"what {number} is about", "text", scope=None)
        assert len(await store.list()) == 21

    async def use_to_read(self, store: JetStreamStore, *, keys: Sequence[str]) -> None:
        """Everything that reads works whole, and everything that writes is refused by the server."""
        scope = Scope()
        assert [item.key for item in await store.list()] == sorted(keys)
        for key in keys:
            await store.read(key, scope=scope)
        with pytest.raises(EntryNotFoundError):
            await store.read("absent", scope=scope)
        with pytest.raises(AccessDeniedError):
            await store.create("new", "d", "c", scope=scope)
        with pytest.raises(AccessDeniedError):
            await store.update(keys[0], "d", "c", scope=scope)
        with pytest.raises(AccessDeniedError):
            await store.delete(keys[0], scope=scope)
        assert [item.key for item in await store.list()] == sorted(keys)


def operator_of(worker: WorkerPermissions) -> str:
    return worker.memory if worker.isolated else "operator"


def accounts_for(workers: Sequence[WorkerPermissions]) -> str:
    """The accounts of a server, as an operator puts them together from what is printed."""
    shared = "\n".join(worker.configuration() for worker in workers if not worker.isolated)
    own = "\n".join(worker.configuration() for worker in workers if worker.isolated)
    operator = json.dumps({"user": "operator", "password": SECRET})
    return f"accounts {{\n  WORK: {{ jetstream: enabled, users: [\n{operator}\n{shared} ] }}\n{own}}}\n"


@pytest.fixture
def grounds(monkeypatch: pytest.MonkeyPatch) -> Grounds:
    """The grounds, and every password that their servers ask for."""
    for name in ("alice", "bob", "alice_reader", "bob_reader", "MEMORY_team_alice", "MEMORY_team_bob"):
        monkeypatch.setenv(f"PASSWORD_{name}", SECRET)
    return Grounds()
