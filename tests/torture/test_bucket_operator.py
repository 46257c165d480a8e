"""The operator of a campaign's bucket: what it does is stopped with the campaign, at whatever moment."""

from typing import Any

from jsmemory.testing.servers import NatsServer, plain_client
from jsmemory.testing.torture.bucket_operator import BUCKET, Operator


async def test_who_reads_the_history_again_and_again_can_be_stopped(
    fresh_server: NatsServer, stops_at_any_moment: Any
) -> None:
    """nats-py drops a cancellation that comes with a message: a campaign that was interrupted never ended."""
    async with plain_client(fresh_server.url) as client:
        operator = Operator(client, replicas=1, history=1)
        await operator.make()
        await client.jetstream().publish(f"$KV.{BUCKET}.few.k", b"---\ndescription: d\n---\n\nc")

        async def watch() -> None:
            assert len(await operator.history_after(0, 0)) == 1

        await stops_at_any_moment(watch)
