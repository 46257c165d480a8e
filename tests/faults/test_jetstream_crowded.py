"""A bucket whose consumers are all taken, as by the live views of a fleet: what it is, and whose it is to mend."""

import asyncio
import time

import pytest
from nats.aio.client import Client

from jsmemory.backends.jetstream import JetStreamStore
from jsmemory.errors import BackendUnavailableError, IncompleteListingError
from jsmemory.live import view
from jsmemory.testing.servers import make_bucket

_ALLOWED = 16
_SAID = r"lets in no more consumers.*Close live views, or ask its operator to raise max_consumers\.$"


async def crowd(nc: Client, bucket: str, guests: int) -> list[str]:
    """Take places that nobody gives back by himself, as views do."""
    await make_bucket(nc, bucket, max_consumers=_ALLOWED)
    names = [f"guest{number}" for number in range(guests)]
    for name in names:
        await nc.jetstream().add_consumer(f"KV_{bucket}", durable_name=name, ack_policy="none")  # type: ignore[arg-type]
    return names


async def test_a_listing_without_a_place_is_refused_soon_and_says_why(nc: Client) -> None:
    """'Not in time' has its reader wait for a server that is well; and all agents of the bucket meet it."""
    guests = await crowd(nc, "crowded-by-views", _ALLOWED)
    store = await JetStreamStore.bind(nc, "crowded-by-views", "p")
    began = time.monotonic()
    with pytest.raises(IncompleteListingError, match=_SAID):
        await store.list()
    assert time.monotonic() - began < 5
    # The first create of a store counts what is there.
    with pytest.raises(BackendUnavailableError, match=r"no more consumers.*Nothing was written\. Close live views"):
        await store.create("k", "d", "c", scope=None)
    async with asyncio.timeout(5), asyncio.TaskGroup() as group:
        waiting = group.create_task(store.list())
        await asyncio.sleep(0.2)
        await nc.jetstream().delete_consumer("KV_crowded-by-views", guests[0])
    assert waiting.result() == ()


async def test_one_view_more_than_there_are_places_says_why(nc: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """A code of the server tells an operator nothing, and a model less."""
    monkeypatch.setattr(view, "BEGIN_S", 0.5)
    await crowd(nc, "crowded-for-a-view", _ALLOWED)
    store = await JetStreamStore.bind(nc, "crowded-for-a-view", "p")
    with pytest.raises(IncompleteListingError, match=_SAID):
        async with store.live():
            pass


async def test_listings_of_many_wait_for_each_other(nc: Client) -> None:
    """A fleet that starts lists together: each gives its place back within milliseconds."""
    await crowd(nc, "crowded-by-listings", _ALLOWED - 2)
    stores = [await JetStreamStore.bind(nc, "crowded-by-listings", "p") for _ in range(20)]
    assert await asyncio.gather(*(store.list() for store in stores)) == [()] * 20
