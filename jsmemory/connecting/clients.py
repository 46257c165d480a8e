"""
Clients of nats-py that are safe to write notes with.

Measured with nats-py 2.16: what its defaults and its errors do to a store is told at the
place that takes care of it.
"""

import asyncio
import contextlib
import random
import ssl
from collections.abc import Awaitable, Callable
from typing import Any, Final, Literal

import anyio
import nats.errors
from nats.aio.client import Client, RawCredentials, Srv

from jsmemory.connecting.headers import parse_headers, write_headers
from jsmemory.connecting.reasons import is_refusal, reason_of
from jsmemory.connecting.requests import Requests
from jsmemory.connecting.settings import INBOX, Settings
from jsmemory.errors import AccessDeniedError, JsMemoryError

CONNECT_S: Final = 2
"""For one attempt at one server."""

RECONNECT_WAIT_S: Final = 0.5
PING_S: Final = 15
PINGS: Final = 2
"""A server that is gone without a word is noticed after 45 s at most; the default is 6 minutes."""

FLUSH_S: Final = 1
"""For what is on its way when a client is closed."""

CLOSE_S: Final = 3.0

TURNS: Final = 3
"""Of the event loop, in which the tasks that a close has cancelled come to their end."""

Occasion = Literal["error", "disconnected", "reconnected", "closed"]
Notice = Callable[["SafeClient", Occasion, Exception | None], None]


class SafeClient(Client):
    """
    A client that never writes later than it was told to, and never tells a plain server a secret.

    Args:
        tls_required: Refuse to go on with a server that does not offer TLS.
    """

    def __init__(self, *, tls_required: bool) -> None:
        super().__init__()
        self._tls_required = tls_required
        self.requests = Requests(self)

    def drop_unsent(self) -> None:
        """
        Forget what was not yet on its way when the connection broke.

        ``pending_size=-1`` refuses new messages while there is no connection, but what was
        accepted before, behind a server that had stopped reading, would be written after the
        reconnect: long after its caller was told that there was no answer. Subscriptions do
        not suffer; a reconnect makes them anew from another list.
        """
        self._pending = []
        self._pending_data_size = 0

    def abandon(self) -> None:
        """Let go of the server at once, without a word."""
        self.drop_unsent()
        writer = getattr(self._transport, "_io_writer", None)
        if writer is not None:
            writer.transport.abort()
        # nats-py would wait until it is closed, which it never hears of after a TLS handshake that failed.
        self._transport = None

    @staticmethod
    def _parse_header_lines(raw: bytes) -> dict[str, str]:
        return parse_headers(raw)

    async def _send_publish(
        self, subject: str, reply: str, payload: bytes, payload_size: int, headers: dict[str, Any] | None
    ) -> None:
        if not subject or headers is None:
            await super()._send_publish(subject, reply, payload, payload_size, headers)
            return
        block = write_headers(headers)
        command = f"HPUB {subject} {reply} {len(block)} {len(block) + payload_size}\r\n".encode()
        self.stats["out_msgs"] += 1
        self.stats["out_bytes"] += payload_size
        await self._send_command(b"%b%b%b\r\n" % (command, block, payload))
        if self._flush_queue is not None and self._flush_queue.empty():
            await self._flush_pending()

    def _connect_command(self) -> bytes:
        # nats-py goes on in the clear with a tls:// address when the server, or whoever
        # answers in its place, does not ask for TLS; the password would be in this command.
        if self._tls_required and not self._server_info.get("tls_required"):
            raise nats.errors.SecureConnWantedError
        return super()._connect_command()

    async def _connect_to_server(self, s: Srv) -> None:
        # Attempts that failed after the connection was made leave it open, one a try.
        if self._transport:
            self._transport.close()  # type: ignore[no-untyped-call]
        await super()._connect_to_server(s)


async def open_client(settings: Settings, *, name: str, limit: float, notice: Notice) -> SafeClient:
    """
    A client that is connected, may hear answers, and comes back by itself as long as nats-py can.

    Args:
        settings: Where, and who.
        name: What the server shows of this client to its operator.
        limit: Seconds that all of it may take.
        notice: Told what happens to the client from then on; it must not raise.

    Raises:
        AccessDeniedError: the server refused the credentials (said at once), or does not let
            them listen for answers.
        BackendUnavailableError: no server answered in time, or TLS failed.
    """
    client = SafeClient(tls_required=settings.tls_required)
    opening = _Opening(asyncio.get_running_loop().time() + limit, settings.named_by)

    def tell(occasion: Occasion) -> Callable[..., Awaitable[None]]:
        async def callback(error: Exception | None = None) -> None:
            if occasion == "disconnected":
                client.drop_unsent()
            if opening.stage == "open":
                notice(client, occasion, error)
            else:
                opening.witness(occasion, error)

        return callback

    async def ignore() -> None:
        # A server more in the cluster is no news to anybody.
        return

    try:
        async with asyncio.timeout_at(opening.deadline):
            await client.connect(
                **_options(settings, name),
                error_cb=tell("error"),
                disconnected_cb=tell("disconnected"),
                reconnected_cb=tell("reconnected"),
                closed_cb=tell("closed"),
                discovered_server_cb=ignore,
            )
            opening.stage = "listening"
            await opening.listen(client, settings.inbox_prefix)
    except BaseException as failure:
        opening.stage = "failed"
        await discard(client)
        if isinstance(failure, Exception):
            raise opening.reason(failure) from None
        raise
    opening.stage = "open"
    return client


async def discard(client: SafeClient) -> None:
    """
    Close a client, whatever state it is in, and leave no task of its behind.

    Takes 3 s at most, and is always done to the end: a cancellation in the middle would
    leave tasks of the client, and nats-py swallows some. It is raised afterwards.
    """
    closing = asyncio.create_task(_close(client))
    cancelled: asyncio.CancelledError | None = None
    with anyio.CancelScope(shield=True):
        while not closing.done():
            try:
                await asyncio.wait({closing})
            except asyncio.CancelledError as cancellation:
                cancelled = cancellation
    if cancelled is not None:
        raise cancelled


async def _close(client: SafeClient) -> None:
    with contextlib.suppress(Exception):
        async with asyncio.timeout(CLOSE_S):
            try:
                if not client.is_connected:
                    raise nats.errors.ConnectionClosedError
                await client.flush(FLUSH_S)
            except Exception:
                # Nobody reads at the other end: closing in good order would wait for that.
                client.abandon()
            await client.close()
    for _ in range(TURNS):
        await asyncio.sleep(0)


class _Opening:
    """What happens until a client is open."""

    def __init__(self, deadline: float, named_by: str) -> None:
        self.deadline = deadline
        self._named_by = named_by
        self.stage: Literal["connecting", "listening", "open", "failed"] = "connecting"
        self._last: Exception | None = None
        self._listening_denied = False

    def witness(self, occasion: Occasion, error: Exception | None) -> None:
        if error is None:
            return
        self._last = error
        if self.stage == "connecting":
            # nats-py would try again for ever. What is raised here ends that.
            if is_refusal(error) or isinstance(error, ssl.SSLError | nats.errors.SecureConnWantedError):
                raise self.reason(error)
            if asyncio.get_running_loop().time() > self.deadline:
                raise self.reason(TimeoutError())
        elif self.stage == "listening" and "permissions violation for subscription" in str(error).lower():
            self._listening_denied = True

    async def listen(self, client: SafeClient, inbox_prefix: str) -> None:
        """Find out now, and not by a timeout of every request, whether answers can be heard."""
        is_listening = False
        while True:
            try:
                await self._connected(client)
                if not is_listening:
                    await client.requests.listen()
                    is_listening = True
                # nats-py writes the ping of a flush at once and the subscription a little later, so
                # that only the second flush is sure to come back after the server's word about it.
                await client.flush(CONNECT_S)
                await client.flush(CONNECT_S)
                break
            except (nats.errors.Error, OSError):
                # The connection broke just now; nats-py makes another one, with the subscription.
                if client.is_closed:
                    raise
        if self._listening_denied:
            # A prefix of ours is drawn anew each time: no permission could name it.
            drawn = inbox_prefix.startswith(f"{INBOX}.")
            raise AccessDeniedError(f"subscribe to {INBOX if drawn else inbox_prefix}.>")

    async def _connected(self, client: SafeClient) -> None:
        while not client.is_connected:
            # A server that hangs up instead of answering counts as connected to nats-py.
            if client.is_closed:
                raise nats.errors.ConnectionClosedError
            await asyncio.sleep(0.02)

    def reason(self, failure: Exception) -> JsMemoryError:
        return reason_of(failure, self._last, self._named_by)


def _options(settings: Settings, name: str) -> dict[str, Any]:
    who = settings.authentication
    return {
        "servers": list(settings.servers),
        "name": name,
        "user": who.user,
        "password": who.password,
        "token": who.token,
        "user_credentials": RawCredentials(who.creds) if who.creds else None,
        "nkeys_seed_str": who.nkey_seed,
        "tls": settings.tls,
        "tls_handshake_first": settings.tls_first,
        "inbox_prefix": settings.inbox_prefix,
        "pending_size": -1,
        "allow_reconnect": True,
        "max_reconnect_attempts": -1,
        "connect_timeout": CONNECT_S,
        # nats-py waits exactly that long: a fleet must not come back in one beat.
        "reconnect_time_wait": RECONNECT_WAIT_S * random.uniform(0.8, 1.6),  # noqa: S311
        "ping_interval": PING_S,
        "max_outstanding_pings": PINGS,
    }
