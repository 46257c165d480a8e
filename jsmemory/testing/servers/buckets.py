"""Buckets as an operator makes them, and as one should not."""

import asyncio
import json
import re
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.errors import NoRespondersError
from nats.js import JetStreamContext

from jsmemory.backends.jetstream.asking import ask
from jsmemory.backends.jetstream.deadline import Deadline
from jsmemory.backends.jetstream.heeding import heeded
from jsmemory.backends.jetstream.wire import Wire
from jsmemory.errors import BackendUnavailableError, InvalidOptionsError

REQUEST_S = 30.0
"""A replicated bucket answers when its own leader is elected: 4 to 9 s after the first one failed to be."""

STILL_CLEARING = 10049
"""The server cannot make the stream's folder; so it said once, right after one of that name was deleted."""

CONNECT_S = 30.0

QUESTION_S = 2.0
"""After which a question is asked again. A cluster loses, rarely, the first one of an account at a member."""

_QUESTION = re.compile(r"\.(INFO|(STREAM|CONSUMER)\.(INFO|NAMES|LIST)|STREAM\.MSG\.GET)(\.|$)")

TWO_MINUTES_NS = 120 * 1_000_000_000


async def make_bucket(
    nc_or_url: Client | str | Sequence[str], bucket: str, *, replicas: int = 1, **stream: object
) -> dict[str, Any]:
    """
    Make a bucket fit for memory, as ``nats kv add`` would.

    In a cluster, a client of another member may be told for some milliseconds more that
    nobody takes the bucket's writes.

    Args:
        nc_or_url: A connected client, or where to connect to for this one request: a URL, or a cluster's.
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
    return await create_stream(nc_or_url, config, owner="bucket")


async def create_stream(
    nc_or_url: Client | str | Sequence[str], config: Mapping[str, object], *, owner: str
) -> dict[str, Any]:
    """
    Have a server make a stream.

    Args:
        nc_or_url: A connected client, or where to connect to for this one request.
        config: The server's fields, with its ``name``; those that are None are left out.
        owner: What the stream is for, in the words of the refusal.

    Returns:
        The server's description of the stream.

    Raises:
        InvalidOptionsError: the server refused it. A note on the error holds its reason.
        BackendUnavailableError: no answer in 30 seconds.
    """
    asked = json.dumps({field: value for field, value in config.items() if value is not None}).encode()
    async with AsyncExitStack() as stack:
        if isinstance(nc_or_url, Client):
            client = nc_or_url
        else:
            urls = [nc_or_url] if isinstance(nc_or_url, str) else nc_or_url
            client = await stack.enter_async_context(plain_client(*urls))
        wire = Wire(client)
        deadline = Deadline(REQUEST_S)
        while True:
            answer: dict[str, Any] = json.loads(
                await ask(wire, wire.api_subject(f"STREAM.CREATE.{config['name']}"), asked, deadline)
            )
            if "error" not in answer:
                return answer
            if answer["error"].get("err_code") != STILL_CLEARING or deadline.has_passed:
                raise _refusal(answer["error"], owner)
            await deadline.pause()


async def plant(nc: Client, bucket: str, values: Mapping[str, bytes], headers: Mapping[str, str] | None = None) -> None:
    """
    Store values past every store, as another program would.

    A server answers a ping, and what is asked about a stream, without waiting for what is on its
    way into it; so the last of them is sent as a request, whose answer is after all the others. And
    so is the first: the members of a cluster learn of a new bucket one after the other.

    Args:
        nc: A connected client.
        bucket: Where.
        values: Under their names in the bucket, prefix and all; at least one.
        headers: What each of them carries.

    Raises:
        InvalidOptionsError: the server refused the first or the last one. A note on the error holds its reason.
    """
    first, *others = values
    carried = dict(headers) if headers else None
    await _store(nc, f"$KV.{bucket}.{first}", values[first], carried)
    for name in others[:-1]:
        await nc.publish(f"$KV.{bucket}.{name}", values[name], headers=carried)
    for name in others[-1:]:
        await _store(nc, f"$KV.{bucket}.{name}", values[name], carried)


@asynccontextmanager
async def plain_client(*urls: str, deadline: float = CONNECT_S, **options: Any) -> AsyncIterator[Client]:
    """
    A connected client of nats-py that logs nothing, comes back by itself, and is closed after.

    Where nothing else is said it waits 30 seconds for an answer, and not half a second, or five,
    as nats-py does: a machine that is busy fails no test.

    Args:
        urls: A server's, or those of a cluster's members.
        deadline: Seconds that the first connect may take.
        options: Further ones of nats-py's ``connect``, such as ``user`` and ``inbox_prefix``.

    Raises:
        BackendUnavailableError: nobody let it in in time.
    """
    client = _PatientClient()
    try:
        try:
            async with asyncio.timeout(deadline):
                await client.connect(list(urls), **(_QUIET | options))
        except TimeoutError:
            raise BackendUnavailableError(
                "No server let the client in.", "Start one, or mend the credentials."
            ) from None
        yield client
    finally:
        await client.close()


async def _store(nc: Client, subject: str, payload: bytes, headers: dict[str, str] | None) -> None:
    deadline = Deadline(REQUEST_S)
    while True:
        try:
            reply = await nc.request(subject, payload, timeout=deadline.at_most(REQUEST_S), headers=headers)
            break
        except NoRespondersError:
            # What nobody heard was not stored.
            if deadline.has_passed:
                raise
        await deadline.pause()
    answer: dict[str, Any] = json.loads(reply.data)
    if "error" in answer:
        raise _refusal(answer["error"], owner="bucket")


class _PatientClient(Client):
    """
    Asks JetStream's API again what was not answered, and stops when it is told to.

    In Python 3.11 nats-py drops a cancellation that comes with an answer.
    """

    async def request(
        self,
        subject: str,
        payload: bytes = b"",
        timeout: float = REQUEST_S,
        old_style: bool = False,
        headers: dict[str, Any] | None = None,
    ) -> Msg:
        end = time.monotonic() + timeout
        while True:
            left = end - time.monotonic()
            may_ask_again = left > QUESTION_S and _QUESTION.search(subject)
            patience = QUESTION_S if may_ask_again else max(left, 0.0)
            try:
                return await heeded(super().request(subject, payload, patience, old_style, headers))
            except TimeoutError:
                if not may_ask_again:
                    raise

    def jetstream(self, **options: Any) -> JetStreamContext:
        return super().jetstream(**({"timeout": REQUEST_S} | options))


async def _ignore(*_: object) -> None:
    # Without these callbacks, nats-py logs a traceback for every attempt to connect.
    return


_QUIET: dict[str, Any] = {
    "error_cb": _ignore,
    "disconnected_cb": _ignore,
    "reconnected_cb": _ignore,
    "closed_cb": _ignore,
    "discovered_server_cb": _ignore,
    "connect_timeout": 2,
    "max_reconnect_attempts": -1,
    "reconnect_time_wait": 0.1,
}


def _refusal(error: Mapping[str, Any], owner: str) -> InvalidOptionsError:
    refusal = InvalidOptionsError(
        "stream", f"was refused by the server with error {error.get('err_code')}", f"Mend the {owner}'s settings."
    )
    refusal.add_note(str(error.get("description")))
    return refusal
