"""Least privilege: what a store does with the rights of one prefix and nothing more."""

from collections.abc import AsyncIterator

import pytest

from jsmemory.backends.jetstream import JetStreamStore
from jsmemory.connecting import connect
from jsmemory.errors import AccessDeniedError, EntryNotFoundError, StaleEntryError
from jsmemory.scope import Scope
from jsmemory.testing.servers import NatsServer, ServerSettings, embedded_server, make_bucket, plain_client
from jsmemory.testing.servers.users import Worker, account_of, rights_in

_ALICE = Worker("alice", rights_in("team", "alice"))
_MUTE = Worker("mute", ["$JS.API.DIRECT.GET.>"], subscribe=[">"])


@pytest.fixture
async def server() -> AsyncIterator[NatsServer]:
    async with embedded_server(settings=ServerSettings(extra=account_of(_ALICE, _MUTE))) as server:
        async with plain_client(server.url, user="operator", password="secret") as operator:
            await make_bucket(operator, "team")
        yield server


async def use_whole(store: JetStreamStore) -> None:
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


async def test_a_store_works_whole_with_the_rights_of_its_own_prefix(server: NatsServer) -> None:
    """A worker with more rights than its prefix can read everybody's notes."""
    async with connect(servers=server.url, user="alice", password="secret", inbox_prefix="_INBOX_alice") as connection:
        await use_whole(await JetStreamStore.bind(connection, "team", "alice", preflight=False))


async def test_a_bare_client_of_nats_py_does_as_well(server: NatsServer) -> None:
    async with plain_client(server.url, user="alice", password="secret", inbox_prefix=b"_INBOX_alice") as client:
        await use_whole(await JetStreamStore.bind(client, "team", "alice", preflight=False))


async def test_a_foreign_prefix_is_denied_and_the_permission_named(server: NatsServer) -> None:
    """ "Unavailable" would send an operator to look at a server that is well."""
    async with connect(servers=server.url, user="alice", password="secret", inbox_prefix="_INBOX_alice") as connection:
        store = await JetStreamStore.bind(connection, "team", "bob", preflight=False, write_budget=1)
        with pytest.raises(AccessDeniedError, match=r"\$KV\.team\.bob"):
            await store.read("k", scope=None)
        with pytest.raises(AccessDeniedError, match=r"\$KV\.team\.bob"):
            await store.list()
        with pytest.raises(AccessDeniedError, match=r"\$KV\.team\.bob"):
            await store.create("k", "d", "c", scope=None)
        with pytest.raises(AccessDeniedError):
            await store.delete("k", scope=None)


async def test_a_denied_read_never_looks_like_an_empty_memory(server: NatsServer) -> None:
    """Fault 36: an agent that takes "not allowed" for "nothing there" writes its notes anew."""
    async with plain_client(server.url, user="mute", password="secret") as client:
        store = await JetStreamStore.bind(client, "team", "mute", preflight=False, write_budget=1)
        with pytest.raises(EntryNotFoundError):
            await store.read("k", scope=None)
        with pytest.raises(AccessDeniedError):
            await store.list()
        with pytest.raises(AccessDeniedError):
            await store.create("k", "d", "c", scope=None)


async def test_preflight_without_the_right_to_examine_says_what_is_missing(server: NatsServer) -> None:
    async with connect(servers=server.url, user="alice", password="secret", inbox_prefix="_INBOX_alice") as connection:
        with pytest.raises(AccessDeniedError, match="preflight off"):
            await JetStreamStore.bind(connection, "team", "alice")
