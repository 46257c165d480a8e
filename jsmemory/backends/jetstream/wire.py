"""Requests over a borrowed connection, and what can be known when one is not answered."""

import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Any, Final, Protocol

import nats.errors
from nats.aio.msg import Msg

from jsmemory.backends.jetstream.finishing import finish
from jsmemory.backends.jetstream.heeding import heeded
from jsmemory.errors import BackendUnavailableError, InvalidOptionsError

_PERMISSION_WORDS: Final = "permissions violation"
_UNDELIVERED: Final = (
    nats.errors.NoRespondersError,
    nats.errors.OutboundBufferLimitError,
    nats.errors.ConnectionDrainingError,
    nats.errors.ConnectionReconnectingError,
    nats.errors.MaxPayloadError,
)


class Connection(Protocol):
    """What the backend uses of a NATS client; `nats.aio.client.Client` has it all."""

    @property
    def is_closed(self) -> bool: ...
    @property
    def max_payload(self) -> int: ...
    @property
    def last_error(self) -> Exception | None: ...
    def new_inbox(self) -> str: ...
    async def request(
        self, subject: str, payload: bytes = ..., timeout: float = ..., *, headers: dict[str, Any] | None = ...
    ) -> Msg: ...
    async def publish(
        self, subject: str, payload: bytes = ..., reply: str = ..., headers: dict[str, Any] | None = ...
    ) -> None: ...
    async def subscribe(self, subject: str, *, cb: Any) -> Any: ...


_USED: Final = tuple(name for name in vars(Connection) if not name.startswith("_"))
# Asked for one by one: whatever forwards to a client has them by asking it.


class NotDelivered(Exception):
    """The request reached nobody: whatever it asked for has not happened."""


class NotAnswered(Exception):
    """The request was sent and no answer came: it may have been carried out."""


class Denied(Exception):
    """The server refused the subject to these credentials."""


class Wire:
    """
    One borrowed connection; requests with three clear ways to fail.

    Args:
        connection: A client of nats-py, or whatever forwards to one. Never closed here.
        api_prefix: The subject that the JetStream API is found under, ``$JS.API`` unless a
            domain or an import of another account renames it.

    Raises:
        InvalidOptionsError: it is no connection.
    """

    def __init__(self, connection: Connection, api_prefix: str = "$JS.API") -> None:
        if not all(hasattr(connection, name) for name in _USED):
            raise InvalidOptionsError(
                "nats", "is no connection to NATS", "Pass one that is open, as jsmemory.connect() gives it."
            )
        self.connection = connection
        self._api_prefix = api_prefix
        self._is_supervised = hasattr(connection, "denied")

    def api_subject(self, operation: str) -> str:
        """The subject of a JetStream API operation."""
        return f"{self._api_prefix}.{operation}"

    async def request(
        self, subject: str, payload: bytes, *, timeout: float, headers: dict[str, str] | None = None
    ) -> Msg:
        """
        Ask once.

        Args:
            subject: Where to.
            payload: The body.
            timeout: Seconds to wait for the answer.
            headers: NATS headers.

        Raises:
            NotDelivered: nobody heard it.
            NotAnswered: the outcome is open.
            BackendUnavailableError: the connection was closed for good; waiting mends nothing.
            Denied: the credentials lack the permission.
        """
        patience = self.patience(subject)
        asked = self.connection.request(subject, payload, timeout, headers=headers)
        try:
            # A supervised connection waits in a way that drops no cancellation.
            return await (asked if self._is_supervised else heeded(asked))
        except nats.errors.ConnectionClosedError:
            raise self.closed() from None
        except _UNDELIVERED:
            raise NotDelivered from None
        except (nats.errors.Error, OSError):
            patience.raise_if_denied()
            raise NotAnswered from None

    async def send(self, subject: str, payload: bytes, *, reply: str) -> None:
        """
        Publish a request whose answers come to an inbox.

        Raises:
            NotDelivered: the connection could not take it.
        """
        try:
            await self.connection.publish(subject, payload, reply)
        except (nats.errors.Error, OSError):
            raise NotDelivered from None

    @asynccontextmanager
    async def subscription(self, subject: str, receive: Callable[[Msg], Awaitable[None]]) -> AsyncIterator[None]:
        """
        Have what arrives on `subject` given to `receive`, for as long as the block lasts.

        Raises:
            NotDelivered: the connection could not take it.
        """
        try:
            subscription = await self.connection.subscribe(subject, cb=receive)
        except (nats.errors.Error, OSError):
            raise NotDelivered from None
        try:
            yield
        finally:
            # Where it fails the connection is gone, and the subscription with it.
            with suppress(nats.errors.Error, OSError):
                await finish(subscription.unsubscribe())

    @property
    def is_clustered(self) -> bool:
        """Whether the server has said that it is one of a cluster; False where that cannot be seen."""
        return bool(self._told.get("cluster"))

    @property
    def server_name(self) -> str:
        """What the server calls itself; ``""`` where that cannot be seen."""
        return str(self._told.get("server_name") or "")

    @property
    def _told(self) -> Mapping[str, Any]:
        # nats-py keeps what it was told to itself, and ours hands out the client that it has just now.
        client = getattr(self.connection, "client", self.connection)
        return getattr(client, "_server_info", None) or {}

    @property
    def link(self) -> tuple[object, object]:
        """What differs as soon as the connection is another one than before; where that cannot be seen, never."""
        client = getattr(self.connection, "client", self.connection)
        return client, getattr(client, "stats", {}).get("reconnects")

    @property
    def is_closed(self) -> bool:
        """Whether the connection was closed for good: by its owner, or a bare client by itself."""
        return self.connection.is_closed

    def closed(self) -> Exception:
        """What to raise of a connection that takes nothing: it was closed for good, or is building a new client."""
        if not self.is_closed:
            return NotDelivered()
        return BackendUnavailableError(
            "The connection of this store was closed.", "Open the store on a connection that is open."
        )

    def patience(self, subject: str) -> "Patience":
        """Begin to wait for answers that a denial of `subject` would keep from coming."""
        return Patience(self.connection, subject)


class Patience:
    """
    A wait for an answer, and whether the server refused the subject meanwhile.

    The server says so on the connection, not in an answer. A supervised connection keeps what
    it said; of a bare client there is only the last error, in lower case.
    """

    __slots__ = ("_connection", "_denied", "_error_before", "_since", "_subject")

    def __init__(self, connection: Connection, subject: str) -> None:
        self._connection = connection
        self._denied = getattr(connection, "denied", None)
        self._subject = subject
        self._since = time.monotonic()
        self._error_before = connection.last_error if self._denied is None else None

    def raise_if_denied(self) -> None:
        """
        Tell a denial from silence.

        Raises:
            Denied: the server refused the subject, or the inbox, since the wait began.
        """
        if self._denied is not None:
            if self._denied(self._since, self._subject):
                raise Denied
            return
        error = self._connection.last_error
        if error is self._error_before:
            return
        words = str(error).lower()
        if _PERMISSION_WORDS in words and ("subscription" in words or f'"{self._subject.lower()}"' in words):
            raise Denied
