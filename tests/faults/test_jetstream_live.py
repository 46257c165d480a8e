"""A view of a bucket of one server: what becomes of it, and of who follows it, when something goes wrong."""

import asyncio
import json
import traceback
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import nats.errors
import pytest
from nats.aio.client import Client
from nats.aio.msg import Msg

from jsmemory import (
    BackendError,
    BackendUnavailableError,
    IncompleteListingError,
    Item,
    JetStreamStore,
    Scope,
    TooManyEntriesError,
)
from jsmemory.backends.jetstream import following as jetstream_following
from jsmemory.connecting import connect
from jsmemory.live import picture
from jsmemory.live import view as view_of_a_store
from jsmemory.testing.lagging import LaggingConnection
from jsmemory.testing.lossy import LossyConnection
from jsmemory.testing.mirroring import LONGEST_S, mirrored
from jsmemory.testing.servers import NatsServer, make_bucket, plain_client, plant


async def api(nc: Client, operation: str, **asked: Any) -> dict[str, Any]:
    """What the server answers its operator."""
    payload = json.dumps(asked).encode() if asked else b""
    answer: dict[str, Any] = json.loads((await nc.request(f"$JS.API.{operation}", payload)).data)
    assert "error" not in answer, answer
    return answer


async def is_answered_again(nc: Client) -> None:
    """Wait for a client that comes back: it calls itself connected before it listens for answers."""
    async with asyncio.timeout(LONGEST_S):
        while True:
            try:
                await nc.request("$JS.API.INFO", timeout=1)
            except nats.errors.Error:
                await asyncio.sleep(0.001)
            else:
                return


async def consumers_of(nc: Client, bucket: str) -> list[str]:
    return list((await api(nc, f"CONSUMER.NAMES.KV_{bucket}"))["consumers"] or [])


@asynccontextmanager
async def two_stores(nc: Client, bucket: str) -> AsyncIterator[tuple[JetStreamStore, JetStreamStore]]:
    """The store that is viewed, and one of another host."""
    store = await JetStreamStore.bind(nc, bucket, "p")
    yield store, await JetStreamStore.bind(nc, bucket, "p")


# -- What it costs --------------------------------------------------------------------------


async def test_a_listing_of_a_view_is_one_request(nc: Client, bucket: str) -> None:
    """The index of every run, in every process, would else be a consumer, and a second of the fleet's time."""
    lossy = LossyConnection(nc)
    store = await JetStreamStore.bind(lossy, bucket, "p")
    await store.create("k", "d", "c", scope=None)
    async with store.live() as view:
        await view.list()
        sent = len(lossy.sent)
        for _ in range(20):
            assert await view.list() == (Item("k", "d"),)
        assert await view.count() == 1
        assert lossy.sent[sent:] == [f"$KV.{bucket}.p./"] * 21


async def test_a_view_moves_no_bodies(nc: Client, bucket: str) -> None:
    """Fault 15: neither at the beginning, nor with each change."""
    store = await JetStreamStore.bind(nc, bucket, "p")
    scope = Scope()
    for number in range(50):
        await store.create(f"k{number}", "d", "x" * 65_536, scope=scope)
    before = nc.stats["in_bytes"]
    async with store.live() as view, mirrored(view) as mirror:
        for number in range(50):
            await store.update(f"k{number}", "e", "y" * 65_536, scope=scope)
        await mirror.agrees(view, store)
    assert nc.stats["in_bytes"] - before < 64 * 1024


async def test_the_description_of_a_foreign_value_is_fetched_once(nc: Client, bucket: str) -> None:
    """Its body has to come for that; once for each revision, however often it is listed or looked at anew."""
    lossy = LossyConnection(nc)
    store = await JetStreamStore.bind(lossy, bucket, "p")
    await nc.request(f"$KV.{bucket}.p.theirs", b"---\ndescription: by hand\n---\n\nbody")
    async with store.live() as view, mirrored(view) as mirror:
        for _ in range(3):
            assert await view.list() == (Item("theirs", "by hand"),)
            (consumer,) = await consumers_of(nc, bucket)
            await api(nc, f"CONSUMER.DELETE.KV_{bucket}.{consumer}")
            await _another_consumer(nc, bucket, consumer)
        fetched = [subject for subject in lossy.sent if "DIRECT.GET" in subject]
        assert len(fetched) == 1
        await nc.request(f"$KV.{bucket}.p.theirs", b"---\ndescription: changed\n---\n\nbody")
        assert await view.list() == (Item("theirs", "changed"),)
        assert [change.description for change in mirror.told] == ["by hand", "changed"]


async def test_all_views_of_a_store_share_one_consumer_and_leave_none(nc: Client, bucket: str) -> None:
    """A bucket allows 1,000 consumers: one for each run would stop everybody."""
    store = await JetStreamStore.bind(nc, bucket, "p")
    async with store.live() as view:
        async with store.live() as same, store.live():
            assert same is view
            assert len(await consumers_of(nc, bucket)) == 1
        assert len(await consumers_of(nc, bucket)) == 1
        assert await view.list() == ()
    assert await consumers_of(nc, bucket) == []


async def test_a_view_that_is_cancelled_anywhere_leaves_no_consumer(nc: Client, bucket: str) -> None:
    """What cancelled runs leave behind would add up."""
    store = await JetStreamStore.bind(nc, bucket, "p")
    for number in range(50):
        await store.create(f"k{number}", "d", "c", scope=None)

    async def look() -> None:
        async with store.live() as view:
            await view.list()
            await anext(view.changes())

    for turns in [*range(30), *range(30, 400, 10)]:
        task = asyncio.create_task(look())
        for _ in range(turns):
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait([task])
    async with asyncio.timeout(LONGEST_S):
        while await consumers_of(nc, bucket):
            await asyncio.sleep(0.05)
    assert [task for task in asyncio.all_tasks() if "_follow" in repr(task)] == []


async def test_the_consumer_of_a_process_that_died_is_forgotten_by_the_server(nc: Client, bucket: str) -> None:
    """Nobody is left to delete it: the server does, ten seconds after it was last asked."""
    store = await JetStreamStore.bind(nc, bucket, "p")
    async with store.live():
        (consumer,) = await consumers_of(nc, bucket)
        config = (await api(nc, f"CONSUMER.INFO.KV_{bucket}.{consumer}"))["config"]
        assert config["inactive_threshold"] == 10 * 10**9
        assert config["num_replicas"] == 1
        assert config["mem_storage"] is True


# -- What happens to the feed ---------------------------------------------------------------


async def test_an_operator_who_deletes_the_consumer_takes_nothing_away(nc: Client, bucket: str) -> None:
    """Also what changed in the gap is seen and told, and what went in it without a trace."""
    async with two_stores(nc, bucket) as (store, other), store.live() as view, mirrored(view) as mirror:
        for key in ("a", "b", "c", "d"):
            await other.create(key, "d", "c", scope=None)
        await mirror.agrees(view, other)
        for key in ("a", "b"):
            (consumer,) = await consumers_of(nc, bucket)
            await api(nc, f"CONSUMER.DELETE.KV_{bucket}.{consumer}")
            await other.delete(key, scope=None)
            await other.create(f"after-{key}", "d", "c", scope=None)
            await api(nc, f"STREAM.PURGE.KV_{bucket}", filter=f"$KV.{bucket}.p.{key}")
            await mirror.agrees(view, other)
            await _another_consumer(nc, bucket, consumer)
        told = [(change.kind, change.key) for change in mirror.told[-4:]]
        assert sorted(told) == [("created", "after-a"), ("created", "after-b"), ("deleted", "a"), ("deleted", "b")]


async def test_a_server_that_restarts_takes_nothing_away(fresh_server: NatsServer) -> None:
    """Its consumers were in its memory: each view makes another, and tells what it finds to be different."""
    async with connect(servers=fresh_server.url) as connection, plain_client(fresh_server.url) as nc:
        await make_bucket(nc, "b")
        store = await JetStreamStore.bind(connection, "b", "p")
        other = await JetStreamStore.bind(nc, "b", "p")
        async with store.live() as view, mirrored(view) as mirror:
            for turn in range(2):
                await other.create(f"before-{turn}", "d", "c", scope=None)
                await mirror.agrees(view, other)
                fresh_server.kill()
                async with asyncio.timeout(LONGEST_S):
                    while view.trouble is None:
                        await asyncio.sleep(0.02)
                fresh_server.begin()
                await fresh_server.ready()
                async with asyncio.timeout(LONGEST_S):
                    while not nc.is_connected:
                        await asyncio.sleep(0.02)
                await other.create(f"after-{turn}", "d", "c", scope=None)
                await other.delete(f"before-{turn}", scope=None)
                await mirror.agrees(view, other)
                async with asyncio.timeout(LONGEST_S):
                    while view.trouble is not None:
                        await asyncio.sleep(0.02)


async def test_a_dead_server_is_told_in_time(
    fresh_server: NatsServer, monkeypatch: pytest.MonkeyPatch, has_little_time: Any
) -> None:
    """Fault 20: neither a wait without end, nor the notes of before the outage."""
    async with connect(servers=fresh_server.url) as connection:
        await make_bucket(fresh_server.url, "b")
        store = await JetStreamStore.bind(connection, "b", "p")
        await store.create("k", "d", "c", scope=None)
        async with store.live() as view:
            fresh_server.kill()
            has_little_time(store, 1)
            async with asyncio.timeout(10):
                for ask in (view.list, view.count):
                    with pytest.raises((IncompleteListingError, BackendUnavailableError)):
                        await ask()
        monkeypatch.setattr(view_of_a_store, "BEGIN_S", 2.0)
        async with asyncio.timeout(LONGEST_S):
            with pytest.raises(BackendError):
                async with store.live():
                    pass


async def test_a_client_that_is_cut_off_sees_afterwards_what_it_missed(fresh_server: NatsServer) -> None:
    """Nothing tells it that it is cut off: its server just does not answer."""
    async with connect(servers=fresh_server.url) as connection, plain_client(fresh_server.url) as nc:
        await make_bucket(nc, "b")
        store = await JetStreamStore.bind(connection, "b", "p")
        other = await JetStreamStore.bind(nc, "b", "p")
        for key in ("a", "b"):
            await other.create(key, "d", "c", scope=None)
        async with store.live() as view, mirrored(view) as mirror:
            await mirror.agrees(view, other)
            connection.client._transport.close()  # type: ignore[union-attr]
            await other.delete("a", scope=None)
            await other.create("c", "d", "c", scope=None)
            await mirror.agrees(view, other)


async def test_a_connection_that_is_closed_ends_the_changes_and_says_so(fresh_server: NatsServer) -> None:
    """Who iterates would wait for ever on a connection that nobody opens again."""
    await make_bucket(fresh_server.url, "b")
    async with connect(servers=fresh_server.url) as connection:
        store = await JetStreamStore.bind(connection, "b", "p")
        entered = store.live()
        view = await entered.__aenter__()
        changes = view.changes()
    try:
        async with asyncio.timeout(LONGEST_S):
            for _ in range(10):
                with pytest.raises(BackendUnavailableError, match="connection of this store was closed") as told:
                    await anext(changes)
            # Who asks again and again is told again and again, and that leaves nothing behind.
            assert len(traceback.extract_tb(told.tb)) < 10
            with pytest.raises(BackendUnavailableError, match="connection of this store was closed"):
                await view.list()
    finally:
        await entered.__aexit__(None, None, None)


async def test_a_view_waits_for_a_replica_that_lags(nc: Client, bucket: str) -> None:
    """Its consumer may live on one that has not got the entry yet which a run has just written."""
    lagging = LaggingConnection(nc)
    store = await JetStreamStore.bind(lagging, bucket, "p")
    for key in ("a", "b"):
        await store.create(key, "d", "c", scope=None)
    lagging.deliver_late(f"$KV.{bucket}.p.b")
    async with store.live() as view:
        assert [item.key for item in await view.list()] == ["a", "b"]


async def invite(nc: Client, guest: str) -> None:
    """Another program's consumer, if there is a place for it."""
    config = {"name": guest, "ack_policy": "none", "inactive_threshold": 10**12}
    made = json.dumps({"stream_name": "KV_crowded", "config": config}).encode()
    await nc.request(f"$JS.API.CONSUMER.CREATE.KV_crowded.{guest}", made)


class Dropping(LossyConnection):
    """A connection whose client cannot keep up, and drops a message: the next one of a subject."""

    dropped: str | None = None

    async def subscribe(self, subject: str, *, cb: Any) -> Any:
        async def receive(message: Msg) -> None:
            if message.subject == self.dropped:
                self.dropped = None
            else:
                await cb(message)

        return await super().subscribe(subject, cb=receive)


@pytest.mark.parametrize("is_followed", [True, False], ids=["others follow", "the last one"])
async def test_a_message_that_the_client_dropped_is_missed(
    nc: Client, bucket: str, is_followed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The entry would be hidden until it changes again; the consumer's count, or its sign of life, tells."""
    monkeypatch.setattr(jetstream_following, "_LOOKED_ANEW_EVERY", 1000.0)
    dropping = Dropping(nc)
    store = await JetStreamStore.bind(dropping, bucket, "p")
    other = await JetStreamStore.bind(nc, bucket, "p")
    for key in ("a", "b"):
        await other.create(key, "d", "c", scope=None)
    async with store.live() as view, mirrored(view) as mirror:
        await mirror.agrees(view, other)
        dropping.dropped = f"$KV.{bucket}.p.new"
        await other.create("new", "d", "c", scope=None)
        if is_followed:
            await other.delete("a", scope=None)
            await mirror.agrees(view, other)
        await mirror.becomes(await other.list())
        await mirror.agrees(view, other)
    dropping.dropped = f"$KV.{bucket}.p.b"
    async with store.live() as view:
        assert await view.list() == await other.list()


async def test_a_full_bucket_of_consumers_hides_nothing(nc: Client) -> None:
    """A view that has its consumer goes on; one that lost it and gets no other says so, and comes back."""
    await make_bucket(nc, "crowded", max_consumers=16)
    store = await JetStreamStore.bind(nc, "crowded", "p", write_budget=1)
    other = await JetStreamStore.bind(nc, "crowded", "p")
    async with store.live() as view, mirrored(view) as mirror:
        await other.create("a", "d", "c", scope=None)
        guests = {f"guest{number}" for number in range(16)}
        for guest in sorted(guests)[1:]:
            await invite(nc, guest)
        assert [item.key for item in await view.list()] == ["a"]
        with pytest.raises(IncompleteListingError):
            await store.list()
        (consumer,) = set(await consumers_of(nc, "crowded")) - guests
        await api(nc, f"CONSUMER.DELETE.KV_crowded.{consumer}")
        async with asyncio.timeout(LONGEST_S):
            # Whoever asks all the time gets the place of the one that was taken away.
            while set(await consumers_of(nc, "crowded")) != guests:
                await invite(nc, "guest0")
                for name in set(await consumers_of(nc, "crowded")) - guests:
                    await nc.request(f"$JS.API.CONSUMER.DELETE.KV_crowded.{name}", b"")
        with pytest.raises(IncompleteListingError):
            await view.list()
        scope = Scope()
        await other.read("a", scope=scope)
        await other.update("a", "changed", "c", scope=scope)
        await api(nc, "CONSUMER.DELETE.KV_crowded.guest0")
        async with asyncio.timeout(LONGEST_S):
            while view.trouble is not None:
                await asyncio.sleep(0.02)
        assert await view.list() == (Item("a", "changed"),)
        await mirror.becomes((Item("a", "changed"),))


# -- What goes without a word ---------------------------------------------------------------


async def test_what_expires_with_a_marker_is_gone_at_once(nc: Client) -> None:
    """A server that lets a value expire says so in its own way: by a marker with a reason."""
    await make_bucket(nc, "expiring-viewed", allow_msg_ttl=True, subject_delete_marker_ttl=2 * 10**9)
    async with two_stores(nc, "expiring-viewed") as (store, other), store.live() as view, mirrored(view) as mirror:
        await nc.request("$KV.expiring-viewed.p.theirs", b"text", headers={"Nats-TTL": "1s"})
        await other.create("ours", "d", "c", scope=None)
        await mirror.becomes((Item("ours", "d"),))
        await mirror.agrees(view, other)
        told = [change.kind for change in mirror.told if change.key == "theirs"]
        assert told in (["created", "deleted"], []), "on a busy machine it may have come and gone untold"
        # And then the marker goes as well: the leader names an older message as the last one.
        async with asyncio.timeout(LONGEST_S):
            while (await api(nc, "STREAM.INFO.KV_expiring-viewed"))["state"]["messages"] > 1:
                await asyncio.sleep(0.1)
        for _ in range(3):
            await mirror.agrees(view, other)
        await other.create("more", "d", "c", scope=None)
        await mirror.agrees(view, other)


@pytest.mark.parametrize("operation", ["DEL", "PURGE"])
async def test_what_another_program_deletes_is_gone(nc: Client, bucket: str, operation: str) -> None:
    """As `nats kv del` and `nats kv purge` do it: by a marker of their own."""
    async with two_stores(nc, bucket) as (store, other), store.live() as view, mirrored(view) as mirror:
        for key in ("a", "b"):
            await other.create(key, "d", "c", scope=None)
        await mirror.agrees(view, other)
        headers = {"KV-Operation": operation} | ({"Nats-Rollup": "sub"} if operation == "PURGE" else {})
        await nc.request(f"$KV.{bucket}.p.a", b"", headers=headers)
        await mirror.agrees(view, other)
        assert (mirror.told[-1].kind, mirror.told[-1].key) == ("deleted", "a")


async def test_what_an_operator_purges_is_seen_to_be_gone(nc: Client, bucket: str) -> None:
    """A purge leaves no message. Where it took the newest one, the leader's answer gives it away."""
    async with two_stores(nc, bucket) as (store, other), store.live() as view, mirrored(view) as mirror:
        for key in ("a", "b", "c"):
            await other.create(key, "d", "c", scope=None)
        await mirror.agrees(view, other)
        for key in ("c", "b", "a"):
            await api(nc, f"STREAM.PURGE.KV_{bucket}", filter=f"$KV.{bucket}.p.{key}")
            await mirror.agrees(view, other)
        assert [(change.kind, change.key) for change in mirror.told[-3:]] == [
            ("deleted", "c"),
            ("deleted", "b"),
            ("deleted", "a"),
        ]


async def test_what_went_without_any_trace_is_found_in_the_end(
    nc: Client, bucket: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An older message that is purged changes nothing that the leader is asked for: the view looks anew by itself."""
    monkeypatch.setattr(jetstream_following, "_LOOKED_ANEW_EVERY", 0.5)
    async with two_stores(nc, bucket) as (store, other), store.live() as view, mirrored(view) as mirror:
        for key in ("a", "b"):
            await other.create(key, "d", "c", scope=None)
        await mirror.agrees(view, other)
        await api(nc, f"STREAM.PURGE.KV_{bucket}", filter=f"$KV.{bucket}.p.a")
        await mirror.becomes((Item("b", "d"),))
        await mirror.agrees(view, other)


async def test_a_view_that_nobody_has_used_for_long_looks_before_it_answers(
    nc: Client, bucket: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It costs nothing while it is idle; what an operator purged in that time is shown to nobody."""
    monkeypatch.setattr(jetstream_following, "_SHOWN_FOR", 0.2)
    async with two_stores(nc, bucket) as (store, other), store.live() as view:
        for key in ("a", "b"):
            await other.create(key, "d", "c", scope=None)
        assert await view.count() == 2
        await api(nc, f"STREAM.PURGE.KV_{bucket}", filter=f"$KV.{bucket}.p.a")
        await asyncio.sleep(0.3)
        assert await view.list() == (Item("b", "d"),)


async def test_a_bucket_that_was_made_anew_behind_a_lost_connection_is_seen_at_once(fresh_server: NatsServer) -> None:
    """It has come to the same number, and nobody was there to be told that the consumer is gone."""
    async with connect(servers=fresh_server.url) as connection, plain_client(fresh_server.url) as nc:
        await make_bucket(nc, "b")
        store = await JetStreamStore.bind(connection, "b", "p")
        async with store.live() as view:
            await store.create("old", "d", "c", scope=None)
            assert await view.list() == (Item("old", "d"),)
            fresh_server.kill()
            fresh_server.begin()
            await fresh_server.ready()
            await is_answered_again(nc)
            await api(nc, "STREAM.DELETE.KV_b")
            await make_bucket(nc, "b")
            await plant(nc, "b", {"p.new": b"new"})
            for _ in range(3):
                assert [item.key for item in await view.list()] == ["new"]


async def test_a_bucket_that_is_gone_is_told_and_one_that_comes_back_is_seen(nc: Client) -> None:
    """Its notes are lost, which nobody may learn by looking at a view that still shows them."""
    await make_bucket(nc, "gone")
    store = await JetStreamStore.bind(nc, "gone", "p", write_budget=1)
    await store.create("k", "d", "c", scope=None)
    async with store.live() as view, mirrored(view) as mirror:
        await mirror.becomes((Item("k", "d"),))
        await api(nc, "STREAM.DELETE.KV_gone")
        with pytest.raises(BackendError):
            await view.list()
        assert mirror.entries == {"k": "d"}, "told as deleted before anybody knew"
        await make_bucket(nc, "gone")
        other = await JetStreamStore.bind(nc, "gone", "p")
        await mirror.agrees(view, other)
        assert mirror.told[-1].kind == "deleted"


# -- How much it keeps ----------------------------------------------------------------------


async def test_more_than_a_view_keeps_is_listed_all_the_same(
    nc: Client, bucket: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A program that floods the bucket must neither fill the memory of every worker nor hide their notes."""
    monkeypatch.setattr(picture, "MAX_KNOWN", 10)
    monkeypatch.setattr(jetstream_following, "_PAUSE_WHERE_WAITING_IS_VAIN", 0.2)
    store = await JetStreamStore.bind(nc, bucket, "p")
    async with store.live() as view:
        changes = view.changes()
        for number in range(11):
            await nc.request(f"$KV.{bucket}.p.k{number:02}", b"text")
        assert len(await view.list()) == await view.count() == 11
        async with asyncio.timeout(LONGEST_S):
            told = [await anext(changes) for _ in range(10)]
            assert len({change.key for change in told}) == 10
            with pytest.raises(TooManyEntriesError):
                await anext(changes)
            with pytest.raises(TooManyEntriesError):
                async with (await JetStreamStore.bind(nc, bucket, "p")).live():
                    pass
            await store.delete("k00", scope=None)
            await store.delete("k01", scope=None)
            while view.trouble is not None:
                await asyncio.sleep(0.02)
        assert await view.list() == await store.list()


async def test_names_that_are_no_keys_take_no_room(nc: Client, bucket: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is not listed is not kept, however much of it somebody puts there."""
    monkeypatch.setattr(picture, "MAX_KNOWN", 10)
    store = await JetStreamStore.bind(nc, bucket, "p")
    async with store.live() as view:
        for number in range(50):
            await nc.request(f"$KV.{bucket}.p.no~key{number}", b"text")
        await store.create("k", "d", "c", scope=None)
        assert await view.list() == (Item("k", "d"),)
        assert view.trouble is None


async def _another_consumer(nc: Client, bucket: str, old: str) -> None:
    """Wait until the view has a consumer again."""
    async with asyncio.timeout(LONGEST_S):
        while len(names := await consumers_of(nc, bucket)) != 1 or old in names:
            await asyncio.sleep(0.02)
