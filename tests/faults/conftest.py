"""What the tests of lost answers share."""

import pytest
from nats.aio.client import Client

from jsmemory.backends.jetstream import JetStreamStore
from jsmemory.testing.lossy import LossyConnection


@pytest.fixture
async def lossy(nc: Client) -> LossyConnection:
    """A connection that loses what a test tells it to."""
    return LossyConnection(nc)


@pytest.fixture
async def store(lossy: LossyConnection, bucket: str) -> JetStreamStore:
    """A store on that connection, with little time."""
    return await JetStreamStore.bind(lossy, bucket, "p", write_budget=3)


@pytest.fixture
async def other(nc: Client, bucket: str) -> JetStreamStore:
    """The same memory, as another host sees it that loses nothing."""
    return await JetStreamStore.bind(nc, bucket, "p")
