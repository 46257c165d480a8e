"""JetStream through a configuration, on a real server."""

import secrets
from collections.abc import Iterator

import pytest
from nats.aio.client import Client

import jsmemory
from jsmemory import (
    BackendUnavailableError,
    BucketNotFoundError,
    BucketUnfitError,
    Info,
    InProcessStore,
    InvalidOptionsError,
    ReadOnlyStoreError,
    Scope,
    StaleEntryError,
    open_store,
)
from jsmemory.testing.servers import NatsServer, ServerSettings, local_server, make_bucket, plain_client


async def test_yaml_opens_a_bucket_and_the_identity_is_the_prefix(nc: Client, bucket: str) -> None:
    """Two agents of one fleet would find each other's notes."""
    text = f"backend: jetstream\noptions:\n  bucket: {bucket}\n"
    alice = await open_store(text, identity="alice", nats=nc)
    bob = await open_store(text, identity="bob", nats=nc)
    assert alice.info() == Info("jetstream", bucket)
    scope = Scope()
    await alice.create("note", "a line", "alice's", scope=scope)
    await alice.update("note", "a line", "alice's still", scope=scope)
    await bob.create("note", "a line", "bob's", scope=None)
    assert tuple(await alice.read("note", scope=None)) == ("a line", "alice's still")
    assert (await nc.request(f"$JS.API.DIRECT.GET.KV_{bucket}.$KV.{bucket}.bob.note", b"")).data.endswith(b"bob's")


async def test_an_empty_prefix_is_the_flat_keyspace(nc: Client, bucket: str) -> None:
    """A bucket that another program fills without prefixes could not be read."""
    store = await open_store(
        {"backend": "jetstream", "options": {"bucket": bucket, "prefix": ""}}, identity="alice", nats=nc
    )
    await store.create("note", "a line", "text", scope=None)
    assert (await nc.request(f"$JS.API.DIRECT.GET.KV_{bucket}.$KV.{bucket}.note", b"")).data.endswith(b"text")


async def test_every_option_reaches_the_store(nc: Client, bucket: str) -> None:
    """An option that is decoded and then dropped silently does not hold."""
    options = {
        "bucket": bucket,
        "prefix": "team",
        "require_read_before_update": False,
        "preflight": False,
        "write_budget": 5,
        "bind_timeout": 5,
        "api_prefix": "$JS.API",
    }
    store = await open_store({"backend": "jetstream", "options": options}, identity="alice", nats=nc)
    await store.update("note", "a line", "unguarded", scope=None)
    guarded = await open_store(
        {"backend": "jetstream", "options": {"bucket": bucket, "prefix": "team"}}, identity="bob", nats=nc
    )
    assert tuple(await guarded.read("note", scope=None)) == ("a line", "unguarded")
    with pytest.raises(StaleEntryError):
        await guarded.update("note", "a line", "blind", scope=None)


async def test_an_unfit_and_a_missing_bucket_are_refused_at_opening(nc: Client) -> None:
    """Notes that expire silently are found out about when they are needed."""
    name = f"ttl-{secrets.token_hex(6)}"
    await make_bucket(nc, name, max_age=3600 * 1_000_000_000)
    with pytest.raises(BucketUnfitError) as unfit:
        await open_store({"backend": "jetstream", "options": {"bucket": name}}, identity="alice", nats=nc)
    assert [finding.code for finding in unfit.value.findings] == ["bucket_ttl"]
    with pytest.raises(BucketNotFoundError) as missing:
        await open_store({"backend": "jetstream", "options": {"bucket": "nobodys"}}, identity="alice", nats=nc)
    assert missing.value.cure.startswith("nats kv add nobodys ")
    # An operator's bucket is an operator's to make: nothing was made on the way.
    with pytest.raises(BucketNotFoundError):
        await open_store({"backend": "jetstream", "options": {"bucket": "nobodys"}}, identity="alice", nats=nc)


async def test_read_only_is_read_only_on_jetstream(nc: Client, bucket: str) -> None:
    """An endpoint for strangers' prompts would store what they say."""
    config = {"backend": "jetstream", "read_only": True, "options": {"bucket": bucket}}
    store = await open_store(config, identity="alice", nats=nc)
    with pytest.raises(ReadOnlyStoreError):
        await store.create("note", "a line", "text", scope=None)
    assert await store.list() == ()


async def test_an_injected_jetstream_store_is_taken_or_refused_by_its_backend(nc: Client, bucket: str) -> None:
    """A host that passes the wrong store would keep a fleet's notes where nobody looks."""
    store = await open_store({"backend": "jetstream", "options": {"bucket": bucket}}, identity="alice", nats=nc)
    assert await open_store("backend: jetstream", identity="alice", store=store) is store
    with pytest.raises(InvalidOptionsError, match=r"'file'.*'jetstream'"):
        await open_store("backend: file", identity="alice", store=store)
    with pytest.raises(InvalidOptionsError, match=r"'jetstream'.*'in_process'"):
        await open_store("backend: jetstream", identity="alice", store=InProcessStore())


async def test_an_injected_jetstream_store_is_held_against_the_options(nc: Client, bucket: str) -> None:
    """Notes would go to another bucket than the one that an operator has made safe, or to another agent's."""
    options = {"bucket": bucket, "prefix": "team"}
    store = await open_store({"backend": "jetstream", "options": options}, identity="alice", nats=nc)
    assert await open_store({"options": options}, identity="bob", store=store) is store
    for other in ({"bucket": "another"}, {"prefix": "mine"}, {"prefix": ""}):
        with pytest.raises(InvalidOptionsError, match="Make them agree") as refused:
            await open_store({"options": options | other}, identity="alice", store=store)
        assert refused.value.option == f"options.{next(iter(other))}"


async def test_a_connection_is_borrowed_and_stays_open(nc: Client, bucket: str) -> None:
    """A host that shares its connection would lose it together with the memory."""
    config = {"backend": "jetstream", "options": {"bucket": bucket}}
    store = await open_store(config, identity="alice", nats=nc)
    await store.create("note", "a line", "text", scope=None)
    del store
    assert nc.is_connected
    with pytest.raises(InvalidOptionsError):
        await open_store({"backend": "jetstream", "options": {"bucket": bucket, "bukket": 1}}, identity="a", nats=nc)
    assert nc.is_connected


async def test_a_supervised_connection_opens_a_store(nats_server: NatsServer, bucket: str) -> None:
    """It is what the quick start and the command line use."""
    async with jsmemory.connect(servers=nats_server.url) as connection:
        store = await open_store(
            {"backend": "jetstream", "options": {"bucket": bucket}}, identity="alice", nats=connection
        )
        await store.create("note", "a line", "text", scope=None)
        assert [item.key for item in await store.list()] == ["note"]


@pytest.fixture(scope="module")
def renamed_api() -> Iterator[NatsServer]:
    """A server that shows JetStream's API under another name too, as the import of an account does."""
    with local_server(settings=ServerSettings(extra='mappings: {"team.API.>": "$JS.API.>"}')) as server:
        yield server


async def test_an_api_under_another_name_is_asked_for_there(renamed_api: NatsServer) -> None:
    """A fleet whose account imports JetStream would look for it where its permissions end."""
    await make_bucket(renamed_api.url, "notes")
    async with plain_client(renamed_api.url) as client:
        options = {"bucket": "notes", "api_prefix": "team.API"}
        store = await open_store({"backend": "jetstream", "options": options}, identity="alice", nats=client)
        await store.create("note", "a line", "text", scope=None)
        assert [item.key for item in await store.list()] == ["note"]
        options = {"bucket": "notes", "api_prefix": "nobodys.API", "bind_timeout": 0.3}
        with pytest.raises(
            BackendUnavailableError, match=r"Nobody answers to nobodys\.API\..* the domain or API prefix"
        ):
            await open_store({"backend": "jetstream", "options": options}, identity="alice", nats=client)


async def test_where_no_api_is_named_that_of_the_connection_is_asked(renamed_api: NatsServer) -> None:
    """A domain that an operator wrote into the connection would have to be written twice."""
    config = {"backend": "jetstream", "options": {"bucket": "notes", "bind_timeout": 0.3}}
    await make_bucket(renamed_api.url, "notes")
    async with jsmemory.connect(servers=renamed_api.url, jetstream_api_prefix="team.API") as connection:
        assert (await open_store(config, identity="alice", nats=connection)).info() == Info("jetstream", "notes")
    async with jsmemory.connect(servers=renamed_api.url, jetstream_api_prefix="nobodys.API") as connection:
        with pytest.raises(BackendUnavailableError):
            await open_store(config, identity="alice", nats=connection)
