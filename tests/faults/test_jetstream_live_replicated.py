"""A view of a bucket with three replicas: its consumer lives on one of them, and each may die."""

import asyncio
from contextlib import AsyncExitStack

from nats.aio.client import Client

from jsmemory import JetStreamStore, Scope
from jsmemory.connecting import connect
from jsmemory.testing.mirroring import mirrored
from jsmemory.testing.servers import NatsCluster, make_bucket, plain_client


async def test_a_view_misses_no_acknowledged_write_wherever_its_consumer_lives(
    nats_cluster: NatsCluster, cluster_nc: Client, replicated_bucket: str
) -> None:
    """Replicas lag behind the leader, and more so while others write."""
    async with AsyncExitStack() as stack:
        stores, views = [], []
        for url in nats_cluster.urls:
            client = await stack.enter_async_context(plain_client(url))
            stores.append(await JetStreamStore.bind(client, replicated_bucket, "p"))
            views.append(await stack.enter_async_context(stores[-1].live()))
        mirrors = [await stack.enter_async_context(mirrored(view)) for view in views]
        writer = await JetStreamStore.bind(cluster_nc, replicated_bucket, "p")
        scope = Scope()
        await writer.create("busy", "d", "c", scope=scope)
        is_over = False

        async def keep_busy() -> None:
            turn = 0
            while not is_over:
                await writer.update("busy", f"turn {turn}", "c", scope=scope)
                turn += 1

        others = asyncio.create_task(keep_busy())
        expected = {"busy"}
        for number in range(150):
            key = f"k{number}"
            await stores[number % 3].create(key, "d", "c", scope=None)
            expected.add(key)
            if number % 3 == 0:
                assert await stores[(number + 1) % 3].delete(key, scope=None)
                expected.discard(key)
            for listed in await asyncio.gather(*(view.list() for view in views)):
                assert {item.key for item in listed} == expected
        is_over = True
        await others
        for view, mirror in zip(views, mirrors, strict=True):
            await mirror.agrees(view, writer)


async def test_a_view_outlives_the_leader_and_the_server_of_its_consumer(fresh_cluster: NatsCluster) -> None:
    """In the middle of a busy feed; then another one dies: whatever was acknowledged is seen, and told."""
    async with connect(servers=",".join(fresh_cluster.urls)) as connection:
        await make_bucket(fresh_cluster.urls[0], "team", replicas=3)
        # Votes that split, and a machine that is busy, take an election beyond the usual budget.
        store = await JetStreamStore.bind(connection, "team", "p", write_budget=90)
        other = await JetStreamStore.bind(connection, "team", "p", write_budget=90)
        async with store.live() as view, mirrored(view) as mirror:
            for round_ in range(2):
                leader = await fresh_cluster.leader_of("KV_team")

                async def write(name: str) -> None:
                    scope = Scope()
                    for turn in range(30):
                        await other.create(f"{name}-{turn}", "d", "c", scope=scope)
                        if turn % 3 == 0:
                            await other.delete(f"{name}-{turn}", scope=scope)
                        await asyncio.sleep(0.01)

                writing = [asyncio.create_task(write(f"r{round_}w{number}")) for number in range(3)]
                await asyncio.sleep(0.3)
                leader.kill()
                # Not only afterwards: also while nobody leads, a listing is whole or refused.
                while not all(task.done() for task in writing):
                    # Of each writer's entries two in three are never deleted.
                    lasting = {it.key for it in await other.list() if int(it.key.rpartition("-")[2]) % 3}
                    assert lasting <= {item.key for item in await view.list()}
                await asyncio.gather(*writing)
                await mirror.agrees(view, other)
                leader.begin()
                await leader.ready()
                await mirror.agrees(view, other)
