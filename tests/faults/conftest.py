"""What the tests of lost answers share."""

from collections.abc import Callable

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
    """A store on that connection."""
    return await JetStreamStore.bind(lossy, bucket, "p")


@pytest.fixture
async def other(nc: Client, bucket: str) -> JetStreamStore:
    """The same memory, as another host sees it that loses nothing."""
    return await JetStreamStore.bind(nc, bucket, "p")


HasLittleTime = Callable[[JetStreamStore, float], None]


@pytest.fixture
def has_little_time() -> HasLittleTime:
    """From now on a store has so many seconds for a call; what led up to it had as many as a busy machine takes."""

    def limit(store: JetStreamStore, seconds: float) -> None:
        store._backend._budget = seconds  # type: ignore[attr-defined]

    return limit
