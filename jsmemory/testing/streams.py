"""Streams for journals, as an operator makes them, and as one should not."""

from collections.abc import Sequence

from nats.aio.client import Client

from jsmemory.journal.jetstream.recipe import root_of
from jsmemory.testing.servers.buckets import create_stream


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
    await create_stream(nc_or_url, config, owner="stream")
