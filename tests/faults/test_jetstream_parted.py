"""A leader that is cut off from the others: it goes on to answer, and they have long elected another one."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TypeVar

from nats.aio.client import Client

from jsmemory.backends.jetstream import JetStreamStore
from jsmemory.errors import BackendError, BackendUnavailableError, IncompleteListingError, JsMemoryError
from jsmemory.testing.mirroring import LONGEST_S
from jsmemory.testing.servers import make_bucket, plain_client
from jsmemory.testing.servers.monitoring import meta_peers
from jsmemory.testing.torture.network import Network

Answer = TypeVar("Answer")


async def test_nobody_takes_the_word_of_a_leader_that_is_one_no_more(tmp_path: Path) -> None:
    """
    A worker beside it would be told that a note is there which others have deleted, or that one
    is not there which they have written; and would write it again, or give up its work.
    """
    network = Network(tmp_path, 3)
    async with network.running():
        made = await make_bucket(network.direct_urls, "team", replicas=3)
        leader = made["cluster"]["leader"]
        here = next(node.url for node in network.nodes if node.name == leader)
        there = [node.url for node in network.nodes if node.name != leader]
        async with plain_client(here) as client, plain_client(*there) as other_client, AsyncExitStack() as stack:
            other = await JetStreamStore.bind(other_client, "team", "p", write_budget=90)
            await other.create("gone", "d", "c", scope=None)
            stores = [
                await JetStreamStore.bind(client, "team", "p", preflight=preflight, write_budget=3)
                for preflight in (True, False)
            ]
            views = [await stack.enter_async_context(store.live()) for store in stores]
            assert [len(await view.list()) for view in views] == [1, 1]
            network.part(leader)
            # They elect another one, which takes some seconds; what was proven before wears off.
            await other.delete("gone", scope=None)
            await other.create("new", "d", "c", scope=None)
            calls = [view.list() for view in views] + [store.list() for store in stores]
            for store in stores:
                calls += [
                    store.delete("new", scope=None),
                    store.read("new", scope=None),
                    store.create("gone", "d", "c", scope=None),
                ]
            assert await answers_of(calls) == [IncompleteListingError] * 4 + [BackendUnavailableError] * 6
            network.heal()
            await network.ready()
            await until_served(client)
            for view in views:
                assert [item.key for item in await once_in_touch(view.list)] == ["new"]
            await stores[0].create("gone", "d", "c", scope=None)
            assert await stores[1].delete("new", scope=None) is True


async def test_a_majority_of_the_servers_is_none_of_the_replicas(tmp_path: Path) -> None:
    """A cluster of five holds a bucket on three; its leader may be on the larger side, and its followers not."""
    network = Network(tmp_path, 5)
    async with network.running(), AsyncExitStack() as stack:
        leader, followers = await bucket_away_from_the_meta_leader(network)
        here = next(node.url for node in network.nodes if node.name not in (leader, *followers))
        there = [node.url for node in network.nodes if node.name in followers]
        client, other_client = [await stack.enter_async_context(plain_client(*urls)) for urls in ((here,), there)]
        other = await JetStreamStore.bind(other_client, "team", "p", write_budget=90)
        await other.create("gone", "d", "c", scope=None)
        store = await JetStreamStore.bind(client, "team", "p", write_budget=3)
        view = await stack.enter_async_context(store.live())
        assert len(await view.list()) == 1
        network.part(*followers)
        await other.delete("gone", scope=None)
        await other.create("new", "d", "c", scope=None)
        calls = [view.list(), store.list(), store.read("new", scope=None), store.delete("new", scope=None)]
        assert await answers_of(calls) == [IncompleteListingError] * 2 + [BackendUnavailableError] * 2


async def bucket_away_from_the_meta_leader(network: Network) -> tuple[str, list[str]]:
    """Make a bucket on three of five, and say who leads it and who follows: none of these leads the cluster."""
    async with plain_client(*network.direct_urls) as client:
        while True:
            made = (await make_bucket(client, "team", replicas=3))["cluster"]
            followers = [each["name"] for each in made["replicas"]]
            leads = [node.name for node in network.nodes if meta_peers(node) is not None]
            if leads and not set(leads) & set(followers):
                return made["leader"], followers
            await client.request("$JS.API.STREAM.DELETE.KV_team", b"")


async def answers_of(calls: Iterable[Awaitable[object]]) -> list[object]:
    """The kinds of errors that calls end with, made side by side; what they give where they do not."""
    answers = await asyncio.gather(*calls, return_exceptions=True)
    return [type(answer) if isinstance(answer, JsMemoryError) else answer for answer in answers]


async def once_in_touch(ask: Callable[[], Awaitable[Answer]]) -> Answer:
    """The first answer after a separation: until then there may be none, but never an old one."""
    async with asyncio.timeout(LONGEST_S):
        while True:
            try:
                return await ask()
            except BackendError:
                await asyncio.sleep(0.05)


async def until_served(client: Client) -> None:
    """Until the server that was cut off takes part again."""
    while True:
        try:
            await client.jetstream(timeout=1).stream_info("KV_team")
        except Exception:
            await asyncio.sleep(0.05)
        else:
            return
