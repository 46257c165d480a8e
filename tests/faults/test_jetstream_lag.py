"""What a replica that lags shows must reach nobody: the rare case on real replicas, made certain."""

import asyncio

import pytest
from nats.aio.client import Client

from jsmemory.backend import Record
from jsmemory.backends.jetstream import JetStreamBackend, JetStreamStore
from jsmemory.backends.jetstream.wire import Wire
from jsmemory.errors import BackendUnavailableError, StaleEntryError, StoreFullError
from jsmemory.limits import MAX_ENTRIES
from jsmemory.scope import Scope
from jsmemory.testing.lagging import LaggingConnection
from jsmemory.testing.lossy import LossyConnection


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


async def test_a_read_that_cannot_catch_up_in_time_raises(cluster_nc: Client, replicated_bucket: str) -> None:
    """Old text is never the answer: an agent would act on it."""
    connection = LaggingConnection(cluster_nc)
    store = await JetStreamStore.bind(connection, replicated_bucket, "p", preflight=False, write_budget=0.5)
    scope = Scope()
    await store.create("k", "d", "first", scope=scope)
    await store.read("k", scope=scope)
    await store.update("k", "d", "second", scope=scope)
    connection.answer_old(10_000)
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
    store = await JetStreamStore.bind(connection, replicated_bucket, "p", write_budget=3)
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


async def test_creates_that_slip_past_the_condition_on_a_prefix_are_counted(
    cluster_nc: Client, replicated_bucket: str
) -> None:
    """On replicas a create in flight is not yet seen by a condition on the whole prefix."""
    wire = Wire(cluster_nc)
    backend = await JetStreamBackend.bind(wire, replicated_bucket, "p", preflight=True, bind_timeout=10, budget=15)
    capacity = 40
    record = Record(b"---\ndescription: d\n---\n\nc", "d")

    async def slip_past(number: int) -> None:
        await cluster_nc.request(f"$KV.{replicated_bucket}.p.theirs{number}", b"x", timeout=5)

    for number in range(capacity // 2):
        await asyncio.gather(slip_past(number), backend.insert(f"ours{number}", record, capacity=capacity))
    with pytest.raises(StoreFullError):
        await backend.insert("one-too-many", record, capacity=capacity)
    assert len(await backend.scan()) == capacity
