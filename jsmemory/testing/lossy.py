"""A connection that loses requests or answers on demand, over a real one."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

import anyio
import nats.errors
from nats.aio.client import Client
from nats.aio.msg import Msg

What = Literal["request", "answer"]


@dataclass(slots=True)
class _Rule:
    what: What
    matches: Callable[[str], bool]
    times: int
    waits: bool
    then: Callable[[], Any] | None


@dataclass(frozen=True, slots=True)
class Lost:
    """A request that was kept from the server: `LossyConnection.deliver` sends it late."""

    subject: str
    payload: bytes = field(repr=False)
    headers: dict[str, str]


class LossyConnection:
    """
    Forwards to a client of nats-py, but for what it was told to lose.

    To lose a request keeps it from the server; to lose an answer lets the server act first.
    Either way the caller sees what it would see of a network: a timeout.

    Attributes:
        lost: The requests that never arrived, oldest first.
        sent: The subjects of all requests that were asked for.
    """

    def __init__(self, client: Client) -> None:
        self._client = client
        self._rules: list[_Rule] = []
        self.lost: list[Lost] = []
        self.sent: list[str] = []

    def lose(
        self,
        what: What,
        subject: str,
        *,
        times: int = 1,
        waits: bool = False,
        then: Callable[[], Any] | None = None,
    ) -> None:
        """
        Lose the next requests, or their answers, on subjects that begin with `subject`.

        Args:
            what: ``request`` or ``answer``.
            subject: The beginning of the subjects; ``""`` for all.
            times: How many.
            waits: Whether the caller waits out its timeout, or sees it at once.
            then: An async function to run before the caller sees the timeout.
        """
        self._rules.append(_Rule(what, lambda sent: sent.startswith(subject), times, waits, then))

    def heal(self) -> None:
        """Lose nothing any more."""
        self._rules.clear()

    async def deliver(self, late: Lost) -> Msg:
        """Send a lost request after all, as a network would that held it back."""
        return await self._client.request(late.subject, late.payload, timeout=30, headers=late.headers)

    @property
    def is_closed(self) -> bool:
        return self._client.is_closed

    @property
    def max_payload(self) -> int:
        return self._client.max_payload

    @property
    def last_error(self) -> Exception | None:
        return self._client.last_error

    def new_inbox(self) -> str:
        return self._client.new_inbox()

    async def request(
        self, subject: str, payload: bytes = b"", timeout: float = 0.5, *, headers: dict[str, Any] | None = None
    ) -> Msg:
        self.sent.append(subject)
        rule = next((rule for rule in self._rules if rule.times > 0 and rule.matches(subject)), None)
        if rule is None:
            return await self._client.request(subject, payload, timeout, headers=headers)
        rule.times -= 1
        if rule.what == "request":
            self.lost.append(Lost(subject, payload, dict(headers or {})))
        else:
            await self._client.request(subject, payload, timeout, headers=headers)
        if rule.waits:
            await anyio.sleep(timeout)
        if rule.then is not None:
            await rule.then()
        raise nats.errors.TimeoutError

    async def publish(
        self, subject: str, payload: bytes = b"", reply: str = "", headers: dict[str, Any] | None = None
    ) -> None:
        self.sent.append(subject)
        await self._client.publish(subject, payload, reply, headers=headers)

    async def subscribe(self, subject: str, *, cb: Any) -> Any:
        return await self._client.subscribe(subject, cb=cb)
