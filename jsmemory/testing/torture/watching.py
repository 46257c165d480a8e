"""A connection that counts the writes whose acknowledgement was lost, for the call that made them."""

from contextvars import ContextVar
from typing import Any, Final

import nats.errors
from nats.aio.msg import Msg

from jsmemory.backends.jetstream import messages
from jsmemory.backends.jetstream.wire import Connection

_NEVER: Final = 2**53
# A condition that is above it cannot hold: such a publish asks, and writes nothing.


class Losses:
    """How many writes of one call were not acknowledged in time."""

    def __init__(self) -> None:
        self.count = 0


losses: Final[ContextVar[Losses | None]] = ContextVar("losses", default=None)
"""Those of the call that is under way in this task."""


class WatchingConnection:
    """
    Forwards to a connection.

    Args:
        connection: A supervised one.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)

    async def request(
        self, subject: str, payload: bytes = b"", timeout: float = 0.5, *, headers: dict[str, Any] | None = None
    ) -> Msg:
        try:
            return await self._connection.request(subject, payload, timeout, headers=headers)
        except nats.errors.TimeoutError:
            lost = losses.get()
            expected = (headers or {}).get(messages.EXPECTED, "")
            if lost is not None and expected and int(expected) < _NEVER:
                lost.count += 1
            raise
