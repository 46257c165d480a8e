"""Streams for journals, as an operator makes them, and as one should not."""

import json
from collections.abc import Sequence
from contextlib import AsyncExitStack
from typing import Any

from nats.aio.client import Client

from jsmemory.errors import InvalidOptionsError
from jsmemory.journal.jetstream.recipe import root_of
from jsmemory.testing.servers import plain_client

REQUEST_S = 10.0


async def make_stream(
    nc_or_url: Client | str | Sequence[str], stream: str, *, replicas: int = 1, **differs: object
) -> None:
    """
    Make a stream fit for a journal, as the printed line would.

    Args:
        nc_or_url: A connected client, or where to connect to for this one request: a URL, or a cluster's.
        stream: Its name.
        replicas: 1, 3 or 5.
        differs: Fields of the stream's configuration that are to differ, under the names and
            in the units of the server (durations in nanoseconds); None leaves one out.

    Raises:
        InvalidOptionsError: the server refused it. A note on the error holds its reason.
    """
    config = {
        "name": stream,
        "subjects": [f"{root_of(stream)}>"],
        "retention": "limits",
        "storage": "file",
        "discard": "new",
        "num_replicas": replicas,
        "allow_direct": True,
        "deny_delete": True,
        "deny_purge": True,
        **differs,
    }
    asked = json.dumps({field: value for field, value in config.items() if value is not None}).encode()
    async with AsyncExitStack() as stack:
        if isinstance(nc_or_url, Client):
            client = nc_or_url
        else:
            urls = [nc_or_url] if isinstance(nc_or_url, str) else nc_or_url
            client = await stack.enter_async_context(plain_client(*urls))
        reply = await client.request(f"$JS.API.STREAM.CREATE.{stream}", asked, timeout=REQUEST_S)
    error: dict[str, Any] | None = json.loads(reply.data).get("error")
    if error is not None:
        refusal = InvalidOptionsError(
            "stream", f"was refused by the server with error {error.get('err_code')}", "Mend the stream's settings."
        )
        refusal.add_note(str(error.get("description")))
        raise refusal
