"""A bucket filled with entries, byte for byte as a store would have written them."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import msgspec
from nats.aio.client import Client

from jsmemory.errors import BackendUnavailableError
from jsmemory.testing.measuring.plain import value_and_headers
from jsmemory.testing.servers import make_bucket

_UNANSWERED: Final = 500
# Messages that are sent before one is waited for. A server keeps 10,000 that it has not stored
# yet, and drops what is more.
_TIMEOUT: Final = 60.0


@dataclass(frozen=True, slots=True)
class Filled:
    """
    A bucket that was filled.

    Attributes:
        bucket: Its name.
        prefixes: Under which there are entries.
        of_a_prefix: How many under each.
        entries: How many, together.
        per_second: How many a second were stored.
        bytes_of_an_entry: What the server keeps of each on its disk, on average.
    """

    bucket: str
    prefixes: tuple[str, ...]
    of_a_prefix: int
    entries: int
    per_second: float
    bytes_of_an_entry: float


async def fill_bucket(
    client: Client,
    bucket: str,
    entries: int,
    *,
    of_a_prefix: int,
    size: int,
    replicas: int,
    report: Callable[[int], None],
) -> Filled:
    """
    Make a bucket and fill it.

    Args:
        client: Over which.
        bucket: Its name.
        entries: How many.
        of_a_prefix: How many of them each prefix has; the last one has what is left.
        size: Bytes of each content.
        replicas: Of the bucket.
        report: Told how many are stored.

    Raises:
        InvalidOptionsError: the bucket is there already, and made otherwise.
        BackendUnavailableError: the server did not keep what was sent.
    """
    await make_bucket(client, bucket, replicas=replicas)
    prefixes = []
    began = time.perf_counter()
    for first in range(0, entries, of_a_prefix):
        prefix = f"agent-{first // of_a_prefix:04}"
        prefixes.append(prefix)
        for number in range(first, min(first + of_a_prefix, entries)):
            key = key_of(number % of_a_prefix)
            value, headers = value_and_headers(f"What {prefix} keeps as {key}", f"{number}".ljust(size, "x")[:size], 0)
            subject = f"$KV.{bucket}.{prefix}.{key}"
            if (number + 1) % _UNANSWERED and number + 1 < entries:
                await client.publish(subject, value, headers=headers)
            else:
                # Answered when everything before it has been stored as well.
                await client.request(subject, value, timeout=_TIMEOUT, headers=headers)
                report(number + 1)
    took = time.perf_counter() - began
    state = await _state(client, bucket)
    if state["messages"] != entries:
        raise BackendUnavailableError("The server did not keep every entry.", "Measure again on a machine with room.")
    return Filled(
        bucket, tuple(prefixes), of_a_prefix, entries, round(entries / took, 1), round(state["bytes"] / entries, 1)
    )


def key_of(number: int) -> str:
    """The key of an entry of a prefix, by its number there."""
    return f"entry-{number:04}"


async def _state(client: Client, bucket: str) -> dict[str, Any]:
    reply = await client.request(f"$JS.API.STREAM.INFO.KV_{bucket}", b"", timeout=_TIMEOUT)
    state: dict[str, Any] = msgspec.json.decode(reply.data)["state"]
    return state
