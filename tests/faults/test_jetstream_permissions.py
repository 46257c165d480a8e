"""Least privilege: what a store says where the rights of its credentials end."""

from collections.abc import AsyncIterator

import pytest
from nats.aio.msg import Msg

from jsmemory.backends.jetstream import JetStreamStore
from jsmemory.connecting import connect
from jsmemory.errors import AccessDeniedError, EntryNotFoundError
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


async def test_a_foreign_prefix_is_denied_and_the_permission_named(server: NatsServer) -> None:
    """ "Unavailable" would send an operator to look at a server that is well."""
    async with connect(servers=server.url, user="alice", password="secret", inbox_prefix="_INBOX_alice") as connection:
        store = await JetStreamStore.bind(connection, "team", "bob", preflight=False)
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
    asked: list[Msg] = []

    async def note(message: Msg) -> None:
        asked.append(message)

    async with (
        plain_client(server.url, user="operator", password="secret") as operator,
        plain_client(server.url, user="mute", password="secret") as client,
    ):
        await operator.subscribe("$JS.API.DIRECT.GET.>", cb=note)
        await operator.flush()
        # A bare client learns of a denial when a try is over, which takes two seconds.
        store = await JetStreamStore.bind(client, "team", "mute", preflight=False, write_budget=3)
        with pytest.raises(EntryNotFoundError):
            await store.read("k", scope=None)
        # Again would be too late: to learn what it may not do has taken all of its time.
        assert len(asked) == 1
        with pytest.raises(AccessDeniedError):
            await store.list()
        with pytest.raises(AccessDeniedError):
            await store.create("k", "d", "c", scope=None)


async def test_preflight_without_the_right_to_examine_says_what_is_missing(server: NatsServer) -> None:
    async with connect(servers=server.url, user="alice", password="secret", inbox_prefix="_INBOX_alice") as connection:
        with pytest.raises(AccessDeniedError, match="preflight off"):
            await JetStreamStore.bind(connection, "team", "alice")
