"""Buckets as an operator makes them, and as one should not."""

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import nats
from nats.aio.client import Client

from jsmemory.errors import InvalidOptionsError

REQUEST_S = 10.0
"""A replicated bucket answers when its own leader is elected."""

TWO_MINUTES_NS = 120 * 1_000_000_000


async def make_bucket(nc_or_url: Client | str, bucket: str, *, replicas: int = 1, **stream: object) -> dict[str, Any]:
    """
    Make a bucket fit for memory, as ``nats kv add`` would.

    Args:
        nc_or_url: A connected client, or where to connect to for this one request.
        bucket: Its name.
        replicas: 1, 3 or 5.
        stream: Fields of the stream's configuration that are to differ, under the names and
            in the units of the server (durations in nanoseconds); None leaves one out.

    Returns:
        The server's description of the stream: ``config``, ``created``, ``state``, ``cluster``.

    Raises:
        InvalidOptionsError: the server refused it. A note on the error holds its reason.
    """
    config = {
        "name": f"KV_{bucket}",
        "subjects": [f"$KV.{bucket}.>"],
        "retention": "limits",
        "storage": "file",
        "discard": "new",
        "num_replicas": replicas,
        "max_msgs_per_subject": 1,
        "max_msgs": -1,
        "max_bytes": -1,
        "max_age": 0,
        "max_msg_size": -1,
        "max_consumers": -1,
        "duplicate_window": TWO_MINUTES_NS,
        "allow_direct": True,
        "allow_rollup_hdrs": True,
        "deny_delete": True,
        **stream,
    }
    asked = {field: value for field, value in config.items() if value is not None}
    async with AsyncExitStack() as stack:
        if isinstance(nc_or_url, str):
            client = await stack.enter_async_context(plain_client(nc_or_url))
        else:
            client = nc_or_url
        reply = await client.request(
            f"$JS.API.STREAM.CREATE.KV_{bucket}", json.dumps(asked).encode(), timeout=REQUEST_S
        )
    answer: dict[str, Any] = json.loads(reply.data)
    if "error" in answer:
        raise _refusal(answer["error"])
    return answer


@asynccontextmanager
async def plain_client(*urls: str) -> AsyncIterator[Client]:
    """A connected client of nats-py that logs nothing, comes back by itself, and is closed after."""

    async def ignore(*_: object) -> None:
        # Without one, nats-py logs a traceback for every attempt to connect.
        return

    client = await nats.connect(
        list(urls),
        error_cb=ignore,
        disconnected_cb=ignore,
        reconnected_cb=ignore,
        closed_cb=ignore,
        discovered_server_cb=ignore,
        connect_timeout=2,
        max_reconnect_attempts=-1,
        reconnect_time_wait=0.1,
    )
    try:
        yield client
    finally:
        await client.close()


def _refusal(error: Mapping[str, Any]) -> InvalidOptionsError:
    refusal = InvalidOptionsError(
        "stream", f"was refused by the server with error {error.get('err_code')}", "Mend the bucket's settings."
    )
    refusal.add_note(str(error.get("description")))
    return refusal
