"""On a cluster nobody is told to make what has one replica."""

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest
from nats.aio.client import Client

from jsmemory import (
    BucketNotFoundError,
    JetStreamJournal,
    JetStreamStore,
    StreamNotFoundError,
    compact_bucket,
    connect,
    examine_bucket,
    examine_journal,
    list_prefixes,
)
from jsmemory.backends.jetstream.facts import StreamFacts
from jsmemory.backends.jetstream.preflight import examine
from jsmemory.journal.jetstream import recipe
from jsmemory.testing.servers import NatsCluster, make_bucket

Asks = Callable[[Any], Awaitable[object]]

ASKED: dict[str, Asks] = {
    "store": lambda nats: JetStreamStore.bind(nats, "nowhere"),
    "journal": lambda nats: JetStreamJournal.bind(nats, "nowhere"),
    "compact": lambda nats: compact_bucket(nats, "nowhere"),
    "prefixes": lambda nats: list_prefixes(nats, "nowhere"),
    "doctor": lambda nats: examine_bucket(nats, "nowhere"),
    "doctor of a journal": lambda nats: examine_journal(nats, "nowhere"),
}
"""Whoever looks for a bucket or a stream that is not there."""


async def cure_of(asked: Awaitable[Any]) -> str:
    """The line that it is told with."""
    try:
        report = await asked
    except (BucketNotFoundError, StreamNotFoundError) as missing:
        return missing.cure
    return str(report.findings[0].cure)


@pytest.fixture(params=["bare", "supervised"])
async def client(request: pytest.FixtureRequest, nats_cluster: NatsCluster, cluster_nc: Client) -> AsyncIterator[Any]:
    """A client of nats-py, and a connection of ours."""
    if request.param == "bare":
        yield cluster_nc
        return
    async with connect(servers=nats_cluster.urls) as nats:
        yield nats


@pytest.mark.parametrize("ask", ASKED.values(), ids=ASKED)
async def test_what_is_missing_is_to_be_made_with_three_replicas(client: Any, ask: Asks) -> None:
    """The line is pasted as it is; the memory that it makes is lost with one server."""
    cure = await cure_of(ask(client))
    assert cure.startswith("nats ")
    assert "--replicas=3 " in cure


@pytest.mark.parametrize("ask", ASKED.values(), ids=ASKED)
async def test_a_server_that_is_alone_is_asked_for_no_more_than_it_can_hold(nc: Client, ask: Asks) -> None:
    """Three replicas are refused there, and whoever tries it first is stuck."""
    assert "--replicas=1 " in await cure_of(ask(nc))


async def test_what_replaces_a_lonely_bucket_or_stream_of_a_cluster_has_three_replicas(
    cluster_nc: Client, bucket: str
) -> None:
    """A fault that takes a new bucket is the occasion to mend the other one."""
    await make_bucket(cluster_nc, f"{bucket}-2", storage="memory", replicas=1)
    facts = StreamFacts.of((await cluster_nc.request(f"$JS.API.STREAM.INFO.KV_{bucket}-2", b"")).data)
    for finding, *_ in (
        examine(facts, max_payload=cluster_nc.max_payload, api_level=2),
        recipe.examine(facts, max_payload=cluster_nc.max_payload),
    ):
        assert "--replicas=3 " in finding.cure
