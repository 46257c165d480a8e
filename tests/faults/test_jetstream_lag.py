"""What a replica that lags shows must reach nobody: the rare case on real replicas, made certain."""

import asyncio
import json
from typing import Any

import pytest
from nats.aio.client import Client
from nats.errors import NoRespondersError

from jsmemory.backends.jetstream import JetStreamStore
from jsmemory.errors import (
    BackendUnavailableError,
    EntryExistsError,
    EntryNotFoundError,
    StaleEntryError,
    StoreFullError,
)
from jsmemory.limits import MAX_ENTRIES
from jsmemory.scope import Scope
from jsmemory.testing.lagging import LaggingConnection
from jsmemory.testing.lossy import LossyConnection
from jsmemory.testing.servers import plant


@pytest.mark.parametrize("preflight", [True, False])
async def test_a_listing_waits_for_the_replica_that_serves_it(
    cluster_nc: Client, replicated_bucket: str, preflight: bool
) -> None:
    """A note that was acknowledged a moment ago is in the index of the next run."""
    connection = LaggingConnection(cluster_nc)
    store = await JetStreamStore.bind(connection, replicated_bucket, "p", preflight=preflight)
    await store.create("old", "d", "c", scope=None)
    await store.create("new", "d", "c", scope=None)
    connection.deliver_late(f"$KV.{replicated_bucket}.p.new")
    assert [item.key for item in await store.list()] == ["new", "old"]


@pytest.mark.parametrize("preflight", [True, False])
async def test_a_read_never_answers_older_than_what_was_written(
    cluster_nc: Client, replicated_bucket: str, preflight: bool
) -> None:
    connection = LaggingConnection(cluster_nc)
    store = await JetStreamStore.bind(connection, replicated_bucket, "p", preflight=preflight)
    scope = Scope()
    await store.create("k", "d", "first", scope=scope)
    await store.read("k", scope=scope)
    await store.update("k", "d", "second", scope=scope)
    connection.answer_old(3)
    assert (await store.read("k", scope=scope)).content == "second"


async def test_a_read_that_cannot_catch_up_in_time_raises(
    cluster_nc: Client, replicated_bucket: str, has_little_time: Any
) -> None:
    """Old text is never the answer: an agent would act on it."""
    connection = LaggingConnection(cluster_nc)
    store = await JetStreamStore.bind(connection, replicated_bucket, "p", preflight=False)
    scope = Scope()
    await store.create("k", "d", "first", scope=scope)
    await store.read("k", scope=scope)
    await store.update("k", "d", "second", scope=scope)
    connection.answer_old(10_000)
    has_little_time(store, 0.5)
    with pytest.raises(BackendUnavailableError):
        await store.read("k", scope=scope)


async def test_a_delete_looks_past_a_lagging_replica(cluster_nc: Client, replicated_bucket: str) -> None:
    """Fault 3: the follower that has not seen the note says "absent", and nothing is deleted."""
    connection = LaggingConnection(cluster_nc)
    store = await JetStreamStore.bind(connection, replicated_bucket, "p")
    assert await store.delete("k", scope=None) is False
    await store.create("k", "d", "c", scope=None)
    connection.answer_old(1)
    assert await store.delete("k", scope=None) is True


async def test_after_a_conflict_the_newest_value_is_read(cluster_nc: Client, replicated_bucket: str) -> None:
    """The refusal named the sequence; a model that reads again must see that value, or it never gets on."""
    connection = LaggingConnection(cluster_nc)
    store = await JetStreamStore.bind(connection, replicated_bucket, "p")
    other = await JetStreamStore.bind(cluster_nc, replicated_bucket, "p")
    mine, theirs = Scope(), Scope()
    await other.create("k", "d", "first", scope=theirs)
    await store.read("k", scope=mine)
    await other.update("k", "d", "second", scope=theirs)
    connection.answer_old(10_000)
    with pytest.raises(StaleEntryError):
        await store.update("k", "d", "late", scope=mine)
    connection.answer_old(2)
    assert (await store.read("k", scope=mine)).content == "second"


async def test_a_create_held_back_while_the_store_filled_up_is_taken_back(nc: Client, bucket: str) -> None:
    """It was decided on a count that was right when it was sent."""
    lossy = LossyConnection(nc)
    store = await JetStreamStore.bind(lossy, bucket, "p")
    other = await JetStreamStore.bind(nc, bucket, "p")
    await store.create("first", "d", "c", scope=None)

    async def fill() -> None:
        for start in range(1, MAX_ENTRIES, 64):
            numbers = range(start, min(start + 64, MAX_ENTRIES))
            await asyncio.gather(*(other.create(f"k{number}", "d", "c", scope=None) for number in numbers))

    lossy.lose("request", f"$KV.{bucket}.p.late", then=fill)
    with pytest.raises(StoreFullError):
        await store.create("late", "d", "c", scope=None)
    keys = [item.key for item in await other.list()]
    assert len(keys) == MAX_ENTRIES
    assert "late" not in keys


async def test_one_too_many_is_no_entry_also_where_a_full_bucket_keeps_it(nc: Client, bucket: str) -> None:
    """A bucket without room takes no marker either; what cannot be removed must not count, nor be shown."""
    lossy = LossyConnection(nc)
    store = await JetStreamStore.bind(lossy, bucket, "p")
    other = await JetStreamStore.bind(nc, bucket, "p")
    await store.create("first", "d", "c", scope=None)

    async def limit(*, is_full: bool) -> None:
        described = json.loads((await nc.request(f"$JS.API.STREAM.INFO.KV_{bucket}", b"")).data)
        described["config"]["max_bytes"] = described["state"]["bytes"] if is_full else -1
        await nc.request(f"$JS.API.STREAM.UPDATE.KV_{bucket}", json.dumps(described["config"]).encode())

    async def fill() -> None:
        await plant(nc, bucket, {f"p.k{number}": b"x" for number in range(1, MAX_ENTRIES)})

    async def leave_no_room() -> None:
        await limit(is_full=True)

    lossy.lose("request", f"$KV.{bucket}.p.late", then=fill)
    lossy.lose("request", "$JS.API.CONSUMER.CREATE", then=leave_no_room)
    with pytest.raises(StoreFullError):
        await store.create("late", "d", "c", scope=None)
    assert len((await nc.jetstream().get_last_msg(f"KV_{bucket}", f"$KV.{bucket}.p.late")).data or b"") > 0
    for each in (store, other):
        assert "late" not in {item.key for item in await each.list()}
        with pytest.raises(EntryNotFoundError):
            await each.read("late", scope=None)
    await limit(is_full=False)
    await other.delete("k1", scope=None)
    await other.create("instead", "d", "c", scope=None)
    assert len(await store.list()) == MAX_ENTRIES


@pytest.mark.parametrize("preflight", [True, False])
async def test_what_was_refused_for_want_of_a_place_is_shown_to_nobody(
    cluster_nc: Client, replicated_bucket: str, preflight: bool
) -> None:
    """
    One too many was there for a moment, and a paused follower showed it five seconds later.

    Found by ``jsmemory torture --servers 5 --seed 5005``.
    """
    await plant(cluster_nc, replicated_bucket, {f"p.k{number}": b"x" for number in range(1, MAX_ENTRIES)})
    lossy, lagging = LossyConnection(cluster_nc), LaggingConnection(cluster_nc)
    store = await JetStreamStore.bind(lossy, replicated_bucket, "p")
    other = await JetStreamStore.bind(cluster_nc, replicated_bucket, "p")
    readers = [await JetStreamStore.bind(lagging, replicated_bucket, "p", preflight=preflight) for _ in range(2)]
    held: list[bytes | None] = []

    async def take_the_last_place() -> None:
        await other.create("first", "d", "c", scope=None)
        lossy.lose("request", "$JS.API.CONSUMER.CREATE", then=look)

    async def look() -> None:
        subject = f"$KV.{replicated_bucket}.p.late"
        held.append((await cluster_nc.jetstream().get_last_msg(f"KV_{replicated_bucket}", subject)).data)
        with pytest.raises(EntryNotFoundError):
            await readers[0].read("late", scope=None)

    lossy.lose("request", f"$KV.{replicated_bucket}.p.late", then=take_the_last_place)
    with pytest.raises(StoreFullError):
        await store.create("late", "d", "c", scope=None)
    assert [(each or b"").endswith(b"c") for each in held] == [True]
    for reader in readers:
        lagging.answer_old(1)
        with pytest.raises(EntryNotFoundError):
            await reader.read("late", scope=None)


async def test_of_two_creates_of_one_key_one_wins_whatever_each_has_counted(
    cluster_nc: Client, replicated_bucket: str
) -> None:
    """One knows its place by its count and the other has to count again: the key decides for both."""
    early = await JetStreamStore.bind(cluster_nc, replicated_bucket, "p")
    await early.create("first", "d", "c", scope=None)
    filler = await JetStreamStore.bind(cluster_nc, replicated_bucket, "p")
    for number in range(800):
        await filler.create(f"f{number}", "d", "c", scope=None)
    late = await JetStreamStore.bind(cluster_nc, replicated_bucket, "p")
    for number in range(60):
        outcomes = await asyncio.gather(
            early.create(f"k{number}", "d", "early", scope=None),
            late.create(f"k{number}", "d", "late", scope=None),
            return_exceptions=True,
        )
        assert [type(outcome) for outcome in outcomes if outcome is not None] == [EntryExistsError]


async def see_nothing(connection: LaggingConnection, subject: str) -> None:
    """Look for what is not there yet: that is the old answer which the connection can give later."""
    while True:
        try:
            await connection.request(subject, b"", 30)
        except NoRespondersError:
            # The servers of a cluster learn of a new bucket one after the other.
            await asyncio.sleep(0.02)
        else:
            return


async def test_a_delete_of_what_others_stored_looks_past_a_lagging_replica(
    cluster_nc: Client, replicated_bucket: str
) -> None:
    """Fault 3, for a key that this store has never seen: the follower says "absent" of an entry that is there."""
    for preflight in (True, False):
        connection = LaggingConnection(cluster_nc)
        store = await JetStreamStore.bind(connection, replicated_bucket, "p", preflight=preflight)
        other = await JetStreamStore.bind(cluster_nc, replicated_bucket, "p")
        subject = f"$JS.API.DIRECT.GET.KV_{replicated_bucket}.$KV.{replicated_bucket}.p.k"
        await see_nothing(connection, subject)
        await other.create("k", "d", "c", scope=None)
        connection.answer_old(1)
        assert (await store.read("k", scope=None)).content == "c"
        connection.answer_old(0)
        connection = LaggingConnection(cluster_nc)
        await see_nothing(connection, subject.replace("p.k", "p.k2"))
        store = await JetStreamStore.bind(connection, replicated_bucket, "p", preflight=preflight)
        await other.create("k2", "d", "c", scope=None)
        connection.answer_old(1)
        assert await store.delete("k2", scope=None) is True
        assert await other.delete("k", scope=None) is True


async def test_a_listing_waits_for_descriptions_that_only_bodies_hold(
    cluster_nc: Client, replicated_bucket: str
) -> None:
    """A value of another program, on a replica that has not seen it yet, is still in the listing."""
    connection = LaggingConnection(cluster_nc)
    store = await JetStreamStore.bind(connection, replicated_bucket, "p")
    subject = f"$JS.API.DIRECT.GET.KV_{replicated_bucket}.$KV.{replicated_bucket}.p.theirs"
    await see_nothing(connection, subject)
    await plant(cluster_nc, replicated_bucket, {"p.theirs": b"---\ndescription: by hand\n---\n\nx"})
    connection.answer_old(1)
    assert [(item.key, item.description) for item in await store.list()] == [("theirs", "by hand")]


async def test_a_run_that_goes_on_elsewhere_is_not_refused_because_a_replica_lags(
    cluster_nc: Client, replicated_bucket: str
) -> None:
    """What it wrote a moment ago, in another process, nobody has changed since."""
    connection = LaggingConnection(cluster_nc)
    store = await JetStreamStore.bind(connection, replicated_bucket, "p")
    other = await JetStreamStore.bind(cluster_nc, replicated_bucket, "p")
    run = Scope()
    await other.create("k", "d", "first", scope=run)
    await store.read("k", scope=None)
    await other.update("k", "d", "second", scope=run)
    connection.answer_old(3)
    await store.update("k", "d", "third", scope=run)
    assert (await other.read("k", scope=None)).content == "third"
