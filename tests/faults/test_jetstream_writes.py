"""Writes at the edges: cancelled half-way, as large as may be, into a bucket as small as may be, to a dead server."""

import asyncio
import json
import time
from typing import Any

import pytest
from nats.aio.client import Client

from jsmemory.backends.jetstream import JetStreamStore
from jsmemory.connecting import connect
from jsmemory.errors import (
    BackendUnavailableError,
    BucketNotFoundError,
    InvalidKeyError,
    InvalidOptionsError,
)
from jsmemory.limits import MAX_CONTENT_BYTES, MAX_ENTRY_BYTES
from jsmemory.scope import Scope
from jsmemory.testing.servers import NatsServer, ServerSettings, embedded_server, make_bucket

_COSTLIEST = "\ufeff" * 500
# Six bytes a code point in the header: nothing legal takes more.


async def test_a_write_cancelled_anywhere_leaves_the_old_value_or_the_new_one(nc: Client, bucket: str) -> None:
    """A run that is stopped in the middle of a write must not take the note with it."""
    store = await JetStreamStore.bind(nc, bucket, "p")
    scope = Scope()
    await store.create("k", "d", "0", scope=scope)
    current, cancelled = 0, 0
    for turn in range(1, 200):
        task = asyncio.create_task(store.update("k", "d", str(turn), scope=scope))
        for _ in range(turn % 40):
            await asyncio.sleep(0)
        task.cancel()
        outcome = (await asyncio.gather(task, return_exceptions=True))[0]
        cancelled += isinstance(outcome, asyncio.CancelledError)
        # What was on its way when it was cancelled may land after the read; never over a newer one.
        found = int((await store.read("k", scope=scope)).content)
        assert current <= found <= turn
        current = found
    assert cancelled >= 10


async def test_creates_and_deletes_cancelled_anywhere_leave_no_half(nc: Client, bucket: str) -> None:
    store = await JetStreamStore.bind(nc, bucket, "p")
    for turn in range(100):
        for call in (store.create(f"k{turn}", "d", "c", scope=None), store.delete(f"k{turn}", scope=None)):
            task = asyncio.create_task(call)
            for _ in range(turn):
                await asyncio.sleep(0)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
    for item in await store.list():
        assert tuple(await store.read(item.key, scope=None)) == ("d", "c")
    names = json.loads((await nc.request(f"$JS.API.CONSUMER.NAMES.KV_{bucket}", b"")).data)
    assert not names["consumers"]


async def test_the_largest_legal_entry_fits_the_smallest_legal_bucket(nc: Client) -> None:
    """Fault 13: a bucket that is sized exactly as advised must not refuse a legal note."""
    await make_bucket(nc, "smallest", max_msg_size=MAX_ENTRY_BYTES)
    store = await JetStreamStore.bind(nc, "smallest", "p" * 100)
    scope = Scope()
    key = "k" * 200
    await store.create(key, _COSTLIEST, "x" * MAX_CONTENT_BYTES, scope=scope)
    await store.update(key, _COSTLIEST, "y" * MAX_CONTENT_BYTES, scope=scope)
    entry = await store.read(key, scope=scope)
    assert tuple(entry) == (_COSTLIEST, "y" * MAX_CONTENT_BYTES)
    assert [(item.key, item.description) for item in await store.list()] == [(key, _COSTLIEST)]


async def test_the_largest_entry_fits_a_server_with_the_smallest_legal_payload() -> None:
    """Above `max_payload` the server would cut the connection, and nats-py close it for good."""
    async with (
        embedded_server(settings=ServerSettings(max_payload=MAX_ENTRY_BYTES)) as server,
        connect(servers=server.url) as connection,
    ):
        await make_bucket(server.url, "team")
        store = await JetStreamStore.bind(connection, "team", "p")
        scope = Scope()
        await store.create("k" * 200, _COSTLIEST, "x" * MAX_CONTENT_BYTES, scope=scope)
        await store.update("k" * 200, _COSTLIEST, "y" * MAX_CONTENT_BYTES, scope=scope)
        assert len(await store.list()) == 1


async def test_a_server_that_was_killed_and_restarted_holds_every_acknowledged_note(fresh_server: NatsServer) -> None:
    async with connect(servers=fresh_server.url) as connection:
        await make_bucket(fresh_server.url, "team")
        store = await JetStreamStore.bind(connection, "team", "p")
        for number in range(50):
            await store.create(f"k{number}", "d", f"{number}", scope=None)
        fresh_server.kill()
        fresh_server.start()
        assert len(await store.list()) == 50
        assert (await store.read("k49", scope=None)).content == "49"


async def test_a_write_to_a_dead_server_says_so_within_its_budget(
    fresh_server: NatsServer, has_little_time: Any
) -> None:
    async with connect(servers=fresh_server.url) as connection:
        await make_bucket(fresh_server.url, "team")
        store = await JetStreamStore.bind(connection, "team", "p")
        await store.create("first", "d", "c", scope=None)
        fresh_server.kill()
        while connection.is_connected:
            await asyncio.sleep(0.02)
        has_little_time(store, 1)
        began = time.monotonic()
        with pytest.raises(BackendUnavailableError):
            await store.create("k", "d", "c", scope=None)
        assert time.monotonic() - began < 10


async def test_a_missing_bucket_comes_with_the_line_that_makes_it(nc: Client) -> None:
    with pytest.raises(BucketNotFoundError, match=r"nats kv add nowhere "):
        await JetStreamStore.bind(nc, "nowhere")


async def test_a_bind_to_a_silent_server_ends_within_its_timeout(fresh_server: NatsServer) -> None:
    """A wrong address surfaces at the start of a run, not as a run that never starts."""
    async with connect(servers=fresh_server.url) as connection:
        fresh_server.pause()
        began = time.monotonic()
        with pytest.raises(BackendUnavailableError):
            await JetStreamStore.bind(connection, "team", bind_timeout=0.5)
        assert time.monotonic() - began < 10
        fresh_server.resume()


@pytest.mark.parametrize("prefix", ["a.b", "a/b", "*", ">", "a b", "."])
async def test_a_prefix_that_is_no_token_is_refused(nc: Client, bucket: str, prefix: str) -> None:
    with pytest.raises(InvalidKeyError):
        await JetStreamStore.bind(nc, bucket, prefix)


@pytest.mark.parametrize("name", ["", "a.b", "a b", "*", ">", "x" * 300, "a\n"])
async def test_a_name_that_no_bucket_can_have_is_refused(nc: Client, name: str) -> None:
    with pytest.raises(InvalidOptionsError, match="bucket"):
        await JetStreamStore.bind(nc, name)


@pytest.mark.parametrize("limit", ["max_bytes", "max_msgs"])
async def test_a_full_bucket_is_named_at_once_and_keeps_what_it_holds(nc: Client, bucket: str, limit: str) -> None:
    """The server says it with the code of a lost leader; to wait for that would be to wait in vain."""
    await nc.request(f"$JS.API.STREAM.DELETE.KV_{bucket}", b"")
    await make_bucket(nc, bucket, **{limit: 3 if limit == "max_msgs" else 300_000})
    store = await JetStreamStore.bind(nc, bucket, "p")
    scope = Scope()

    async def fill() -> None:
        for number in range(10):
            await store.create(f"k{number}", "d", "x" * MAX_CONTENT_BYTES, scope=scope)

    began = time.monotonic()
    with pytest.raises(BackendUnavailableError, match=r"The bucket is full\. Nothing was written\."):
        await fill()
    assert time.monotonic() - began < 10
    assert 0 < len(await store.list()) < 10
    await store.update("k0", "d", "smaller", scope=scope)
