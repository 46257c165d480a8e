"""
Servers and buckets as fixtures: ``pytest_plugins = ["jsmemory.testing.pytest_servers"]``.

The shared ones live as long as the session and are for tests that leave them as they were;
a test that kills, pauses or fills a server asks for a fresh one.
"""

import secrets
from collections.abc import AsyncIterator, Iterator

import pytest
from nats.aio.client import Client

from jsmemory.testing.servers import NatsCluster, NatsServer, local_cluster, local_server, make_bucket, plain_client


@pytest.fixture(scope="session")
def nats_server() -> Iterator[NatsServer]:
    """The shared server of one node. Do not stop it."""
    with local_server() as server:
        yield server


@pytest.fixture
def fresh_server() -> Iterator[NatsServer]:
    """A server of one node for this test alone."""
    with local_server() as server:
        yield server


@pytest.fixture(scope="session")
def nats_cluster() -> Iterator[NatsCluster]:
    """The shared cluster of three. Do not stop a member."""
    with local_cluster() as cluster:
        yield cluster


@pytest.fixture
def fresh_cluster() -> Iterator[NatsCluster]:
    """A cluster of three for this test alone."""
    with local_cluster() as cluster:
        yield cluster


@pytest.fixture
async def nc(nats_server: NatsServer) -> AsyncIterator[Client]:
    """A plain client on the shared server, closed after."""
    async with plain_client(nats_server.url) as client:
        yield client


@pytest.fixture
async def bucket(nc: Client) -> str:
    """The name of a fresh bucket, fit for memory, on the shared server."""
    name = _fresh_name()
    await make_bucket(nc, name)
    return name


@pytest.fixture
async def cluster_nc(nats_cluster: NatsCluster) -> AsyncIterator[Client]:
    """A plain client on the shared cluster, closed after."""
    async with plain_client(*nats_cluster.urls) as client:
        yield client


@pytest.fixture
async def replicated_bucket(cluster_nc: Client) -> str:
    """The name of a fresh bucket with three replicas, fit for memory, on the shared cluster."""
    name = _fresh_name()
    await make_bucket(cluster_nc, name, replicas=3)
    return name


def _fresh_name() -> str:
    return f"b{secrets.token_hex(8)}"
