"""Links that can be treated badly, in front of real servers, and nobody who goes around them."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import nats.errors
import pytest
from nats.aio.client import Client

from jsmemory.testing.servers import NatsServer, make_bucket, plain_client
from jsmemory.testing.torture.links import BOTH, Link, Weather
from jsmemory.testing.torture.network import Network


@pytest.fixture
async def link(nats_server: NatsServer) -> AsyncIterator[Link]:
    """A link to the shared server."""
    link = Link(lambda: nats_server.port)
    async with link.open():
        yield link


@pytest.fixture
async def client(link: Link) -> AsyncIterator[Client]:
    """A client that comes by the link, and says that it is ``ann``."""
    async with plain_client(f"nats://127.0.0.1:{link.port}", name="ann") as client:
        yield client


async def put(client: Client, bucket: str, key: str) -> None:
    await client.jetstream().publish(f"$KV.{bucket}.{key}", b"value")


async def put_in_vain(client: Client, bucket: str, key: str) -> None:
    with pytest.raises(nats.errors.TimeoutError):
        await client.jetstream().publish(f"$KV.{bucket}.{key}", b"value", timeout=1)


async def keys_of(client: Client, bucket: str, **patience: float) -> int:
    return (await client.jetstream(**patience).stream_info(f"KV_{bucket}")).state.messages


async def arrives(client: Client, bucket: str) -> None:
    """
    Until the bucket has what was sent.

    A server answers what is asked about a stream without waiting for what is still on its way
    into it, on the same connection too.
    """
    while not await keys_of(client, bucket):
        await asyncio.sleep(0.01)


async def test_a_fair_link_carries_everything(client: Client, bucket: str) -> None:
    """Otherwise every fault would be the link's own."""
    await put(client, bucket, "k")
    assert await keys_of(client, bucket) == 1


async def test_an_answer_that_is_swallowed_leaves_the_write_done(
    client: Client, link: Link, nc: Client, bucket: str
) -> None:
    """The very case that a lost acknowledgement is."""
    link.turn(Weather(holds={"down"}), ["ann"])
    await put_in_vain(client, bucket, "k")
    await arrives(nc, bucket)


async def test_a_request_that_is_swallowed_and_cut_never_arrives(
    client: Client, link: Link, nc: Client, bucket: str
) -> None:
    """And one that is only held arrives late."""
    link.turn(Weather(holds={"up"}), ["ann"])
    await put_in_vain(client, bucket, "lost")
    link.cut(["ann"])
    link.clear()
    await reaches(client, bucket)
    assert await keys_of(nc, bucket) == 0

    link.turn(Weather(holds={"up"}), ["ann"])
    await put_in_vain(client, bucket, "late")
    link.clear()
    await arrives(nc, bucket)


async def test_a_connection_is_cut_right_after_it_has_carried_a_write(
    client: Client, link: Link, nc: Client, bucket: str
) -> None:
    """The server has it, and nobody is there any more to be told."""
    link.turn(Weather(cuts_writes=True), ["ann"])
    with pytest.raises(nats.errors.Error):
        await client.jetstream().publish(f"$KV.{bucket}.k", b"value", timeout=1)
    await arrives(nc, bucket)


async def test_others_do_not_notice(link: Link, bucket: str) -> None:
    """A fault of one worker is not one of all."""
    link.turn(Weather(holds=set(BOTH)), ["ann"])
    async with plain_client(f"nats://127.0.0.1:{link.port}", name="bob") as bob:
        await put(bob, bucket, "k")


async def test_the_members_of_a_cluster_find_each_other_by_their_links_only(tmp_path: Path) -> None:
    """A partition that somebody can go around is none."""
    network = Network(tmp_path, 3)
    async with network.running(), AsyncExitStack() as stack:
        client = await stack.enter_async_context(plain_client(*network.direct_urls))
        names = {node.name for node in network.nodes}
        assert set(network.routes) == names
        for node in network.nodes:
            config = (node.folder / "server.conf").read_text()
            others = {link.port for name, link in network.routes.items() if name != node.name}
            own = node.membership.port if node.membership else 0
            assert {int(port) for port in routes_in(config)} == {own, *others}
        assert {who for link in network.routes.values() for who in link.who} <= names
        info = await make_bucket(client, "team", replicas=3)
        parted = info["cluster"]["leader"]
        # Whoever is connected to the node that is parted never hears of another leader.
        others = [node.url for node in network.nodes if node.name != parted]
        client = await stack.enter_async_context(plain_client(*others))
        network.part(parted)
        async with asyncio.timeout(60):
            while await leader(client) in (None, parted):
                await asyncio.sleep(0.1)
        network.heal()
        await network.ready()


async def leader(client: Client) -> str | None:
    try:
        info = await client.jetstream(timeout=1).stream_info("KV_team")
    except (nats.errors.Error, OSError):
        return None
    return info.cluster.leader if info.cluster else None


def routes_in(config: str) -> list[str]:
    line = next(line for line in config.splitlines() if line.strip().startswith("routes"))
    return [url.split(":")[-1].strip('"] ') for url in line.split(",")]


async def reaches(client: Client, bucket: str) -> None:
    """Until the client is connected again, and has been answered."""
    while True:
        try:
            await keys_of(client, bucket, timeout=1)
        except (nats.errors.Error, OSError):
            await asyncio.sleep(0.05)
        else:
            return
