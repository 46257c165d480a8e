"""Buckets that are filled for a measurement hold what a store would have stored."""

from nats.aio.client import Client

from jsmemory.backends.jetstream import JetStreamStore
from jsmemory.testing.measuring.scale.filling import fill_bucket, key_of


async def test_whatever_a_bucket_is_filled_with_is_an_entry(nc: Client, bucket: str) -> None:
    """A measurement of what no store shows would measure nothing, and end with a key that is not there."""
    filled = await fill_bucket(
        nc, f"{bucket}f", 2_100, of_a_prefix=700, size=16, replicas=1, report=lambda stored: None
    )
    for prefix in filled.prefixes:
        store = await JetStreamStore.bind(nc, filled.bucket, prefix)
        assert [item.key for item in await store.list()] == [key_of(number) for number in range(700)]
