"""Faults 2 and 3, and the session guarantees, on a bucket with three replicas."""

import asyncio
from typing import Any

import pytest
from nats.aio.client import Client

from jsmemory.backends.jetstream import JetStreamStore
from jsmemory.connecting import connect
from jsmemory.errors import BackendError, JsMemoryError, StaleEntryError
from jsmemory.scope import Scope
from jsmemory.testing.servers import NatsCluster, make_bucket, plain_client


async def test_a_store_reads_its_own_writes_from_lagging_replicas(
    nats_cluster: NatsCluster, cluster_nc: Client
) -> None:
    """Followers answer direct gets too: measured, 90 of 3,000 reads right after the write were old."""
    await make_bucket(cluster_nc, "own-writes", replicas=3)
    stores = []
    clients = []
    for url in nats_cluster.urls:
        opened = plain_client(url)
        clients.append(opened)
        stores.append(await JetStreamStore.bind(await opened.__aenter__(), "own-writes", "p"))
    try:
        await asyncio.gather(*(write_and_read(store, f"k{number}", 250) for number, store in enumerate(stores)))
    finally:
        for opened in clients:
            await opened.__aexit__(None, None, None)


async def write_and_read(store: JetStreamStore, key: str, turns: int) -> None:
    scope = Scope()
    await store.create(key, "d", "start", scope=scope)
    for turn in range(turns):
        await store.update(key, "d", f"{turn}", scope=scope)
        assert (await store.read(key, scope=scope)).content == f"{turn}"
        await store.create(f"{key}-{turn}", "d", "c", scope=None)
        assert (await store.read(f"{key}-{turn}", scope=None)).content == "c"
        # Fault 3: a delete that looks at a lagging replica finds nothing, and does nothing.
        assert await store.delete(f"{key}-{turn}", scope=None) is True


async def test_reads_of_one_store_never_go_back_in_time(nats_cluster: NatsCluster, cluster_nc: Client) -> None:
    await make_bucket(cluster_nc, "monotonic", replicas=3)
    writer = await JetStreamStore.bind(cluster_nc, "monotonic", "p")
    scope = Scope()
    await writer.create("k", "d", "0", scope=scope)
    async with plain_client(nats_cluster.urls[1]) as client:
        reader = await JetStreamStore.bind(client, "monotonic", "p")
        last = 0
        for turn in range(1, 300):
            await writer.update("k", "d", str(turn), scope=scope)
            for _ in range(3):
                seen = int((await reader.read("k", scope=None)).content)
                assert seen >= last
                last = seen


async def test_of_concurrent_updates_one_wins_and_the_rest_are_stale(
    cluster_nc: Client, replicated_bucket: str
) -> None:
    """Fault 2: with several in flight a replicated bucket says conflict with another code."""
    stores = [await JetStreamStore.bind(cluster_nc, replicated_bucket, "p") for _ in range(4)]
    await stores[0].create("k", "d", "start", scope=None)
    for turn in range(40):
        scopes = [Scope() for _ in range(12)]
        for number, scope in enumerate(scopes):
            await stores[number % 4].read("k", scope=scope)
        outcomes = await asyncio.gather(
            *(
                stores[number % 4].update("k", "d", f"{turn}-{number}", scope=scope)
                for number, scope in enumerate(scopes)
            ),
            return_exceptions=True,
        )
        winners = [number for number, outcome in enumerate(outcomes) if outcome is None]
        # A read may have shown a replica that lags; then nobody held the newest, and all are refused.
        assert len(winners) <= 1
        assert all(outcome is None or isinstance(outcome, StaleEntryError) for outcome in outcomes)
        if winners:
            assert (await stores[winners[0] % 4].read("k", scope=None)).content == f"{turn}-{winners[0]}"


async def test_increments_of_a_fleet_are_all_there(nats_cluster: NatsCluster, cluster_nc: Client) -> None:
    """Eight workers, ten increments each: eighty, or somebody's work was overwritten unread."""
    await make_bucket(cluster_nc, "increments", replicas=3)
    first = await JetStreamStore.bind(cluster_nc, "increments", "p")
    await first.create("counter", "d", "0", scope=None)

    async def increment(number: int) -> None:
        async with plain_client(nats_cluster.urls[number % 3]) as client:
            store = await JetStreamStore.bind(client, "increments", "p")
            for _ in range(10):
                scope = Scope()
                while True:
                    entry = await store.read("counter", scope=scope)
                    try:
                        await store.update("counter", "d", str(int(entry.content) + 1), scope=scope)
                        break
                    except StaleEntryError:
                        await asyncio.sleep(0.001 * number)

    await asyncio.gather(*(increment(number) for number in range(8)))
    assert (await first.read("counter", scope=None)).content == "80"


async def test_of_concurrent_deletes_exactly_one_answers_true(cluster_nc: Client, replicated_bucket: str) -> None:
    stores = [await JetStreamStore.bind(cluster_nc, replicated_bucket, "p") for _ in range(4)]
    for _ in range(30):
        await stores[0].create("k", "d", "c", scope=None)
        answers = await asyncio.gather(*(stores[number % 4].delete("k", scope=None) for number in range(8)))
        # A store that has not seen the entry may still be shown its absence by a lagging replica.
        assert answers.count(True) <= 1
        await stores[0].delete("k", scope=None)


async def test_writes_go_on_through_the_death_of_the_leader(fresh_cluster: NatsCluster) -> None:
    """A fleet would stand still, or lose what was acknowledged, with the one server that leads."""
    async with connect(servers=",".join(fresh_cluster.urls)) as connection:
        await make_bucket(fresh_cluster.urls[0], "team", replicas=3)
        # Votes that split, and a machine that is busy, take an election beyond the usual budget.
        store = await JetStreamStore.bind(connection, "team", "p", write_budget=90)
        scope = Scope()
        await store.create("k", "d", "0", scope=scope)
        leader = await fresh_cluster.leader_of("KV_team")

        async def write() -> None:
            for turn in range(1, 41):
                await store.update("k", "d", str(turn), scope=scope)
                await asyncio.sleep(0.02)

        writing = asyncio.create_task(write())
        await asyncio.sleep(0.3)
        leader.kill()
        await writing
        assert (await store.read("k", scope=None)).content == "40"
        assert [item.key for item in await store.list()] == ["k"]


async def test_without_a_quorum_nothing_is_said_to_have_landed(
    fresh_cluster: NatsCluster, has_little_time: Any
) -> None:
    """Two of three are gone: a write must not be reported saved, and a read must not show old text as new."""
    async with connect(servers=",".join(fresh_cluster.urls)) as connection:
        await make_bucket(fresh_cluster.urls[0], "team", replicas=3)
        store = await JetStreamStore.bind(connection, "team", "p", write_budget=90)
        scope = Scope()
        await store.create("k", "d", "c", scope=scope)
        leader = await fresh_cluster.leader_of("KV_team")
        for follower in await fresh_cluster.followers_of("KV_team"):
            follower.kill()
        has_little_time(store, 2)
        with pytest.raises(JsMemoryError) as failed:
            await store.update("k", "d", "lost?", scope=scope)
        assert isinstance(failed.value, BackendError)
        assert leader.is_running
