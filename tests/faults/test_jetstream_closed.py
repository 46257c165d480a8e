"""A store whose connection was closed says so at once, and honestly."""

import pytest
from nats.aio.client import Client

from jsmemory.backends.jetstream import JetStreamStore
from jsmemory.connecting import connect
from jsmemory.errors import BackendUnavailableError, OutcomeUnknownError
from jsmemory.scope import Scope
from jsmemory.testing.lossy import LossyConnection
from jsmemory.testing.servers import NatsServer, plain_client


async def expect_closed(store: JetStreamStore, scope: Scope) -> None:
    for call in (
        store.read("k", scope=None),
        store.list(),
        store.create("new", "d", "c", scope=None),
        store.update("k", "d", "c", scope=scope),
        store.delete("k", scope=None),
    ):
        with pytest.raises(BackendUnavailableError, match="connection of this store was closed"):
            await call


async def test_a_store_used_after_its_connection_was_left_is_told_so_at_once(
    nats_server: NatsServer, bucket: str
) -> None:
    """Fifteen seconds, and then a hint at a server that is well, would send people the wrong way."""
    scope = Scope()
    async with connect(servers=nats_server.url) as connection:
        store = await JetStreamStore.bind(connection, bucket, "p")
        await store.create("k", "d", "c", scope=scope)
    await expect_closed(store, scope)


async def test_a_bare_client_that_was_closed_is_told_of_as_well(nats_server: NatsServer, bucket: str) -> None:
    scope = Scope()
    async with plain_client(nats_server.url) as client:
        store = await JetStreamStore.bind(client, bucket, "p")
        await store.create("k", "d", "c", scope=scope)
    await expect_closed(store, scope)


async def test_a_write_whose_answer_was_lost_before_the_close_is_unknown(nats_server: NatsServer, bucket: str) -> None:
    """ "Nothing was written" would be a guess: it was."""
    scope = Scope()
    async with plain_client(nats_server.url) as client:
        lossy = LossyConnection(client)
        store = await JetStreamStore.bind(lossy, bucket, "p")
        await store.create("k", "d", "c", scope=scope)
        lossy.lose("answer", f"$KV.{bucket}.p.k", then=client.close)
        with pytest.raises(OutcomeUnknownError):
            await store.update("k", "d", "c2", scope=scope)


async def test_the_other_stores_of_a_connection_are_not_its_owners(nc: Client, bucket: str) -> None:
    """There is no close on a store: a backend never closes what it has borrowed."""
    store = await JetStreamStore.bind(nc, bucket, "p")
    await store.create("k", "d", "c", scope=None)
    del store
    assert nc.is_connected
