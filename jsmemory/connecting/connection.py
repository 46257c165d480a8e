"""What a backend borrows: one object that stays, over clients that come and go."""

import itertools
import re
import time
from collections import OrderedDict, deque
from typing import Any, Final, NamedTuple

import nats.errors
from nats.aio.msg import Msg
from nats.aio.subscription import Subscription

from jsmemory.connecting.clients import SafeClient
from jsmemory.connecting.settings import Settings
from jsmemory.errors import AccessDeniedError

KEPT_DENIALS: Final = 256
KEPT_SUBJECTS: Final = 1024
REFUSAL_GRACE_S: Final = 5.0
"""After a restart a server may refuse everybody for a moment, until who decides is up as well."""

_DENIAL: Final = re.compile(r'permissions violation for (publish|subscription)[^"]*"([^"]*)"', re.IGNORECASE)
_VERBS: Final = {"publish": "publish to", "subscription": "subscribe to"}


class _Denial(NamedTuple):
    at: float
    verb: str
    subject: str


class Connection:
    """
    A supervised connection to NATS, made by `connect` and borrowed by backends.

    It stays the same object while its client is replaced: nats-py closes a client for good
    after most errors of the protocol and when a JWT expires. Subscriptions belong to the
    client that they were made on, and end with it.

    While there is no connection, `request`, `publish` and `subscribe` raise at once and
    nothing is kept for later: `nats.errors.OutboundBufferLimitError` while the client
    reconnects, `nats.errors.ConnectionClosedError` while it is replaced and after the end,
    and `AccessDeniedError` where servers have refused the credentials for 5 seconds.
    """

    def __init__(self, client: SafeClient, settings: Settings) -> None:
        self.use(client, settings)
        self._ended = False
        self._denials: deque[_Denial] = deque(maxlen=KEPT_DENIALS)
        self._subjects: OrderedDict[str, None] = OrderedDict()

    # -- As a client of nats-py -------------------------------------------------------------

    @property
    def client(self) -> SafeClient:
        """The client of nats-py that is in use now; do not keep it, and do not close it."""
        return self._client

    @property
    def is_connected(self) -> bool:
        """Whether a server is there to be asked, as far as is known."""
        return self._client.is_connected

    @property
    def is_closed(self) -> bool:
        """Whether the context of `connect` was left; True for good."""
        return self._ended

    @property
    def max_payload(self) -> int:
        """Bytes of headers and value that the server takes in one message."""
        return self._client.max_payload

    @property
    def last_error(self) -> Exception | None:
        """The last error that the client now in use has met."""
        return self._client.last_error

    @property
    def jetstream_api_prefix(self) -> str:
        """Where the JetStream API is: ``$JS.API``, or that of a domain."""
        return self._settings.jetstream_api_prefix

    def new_inbox(self) -> str:
        """A subject that nobody else listens to, under the connection's inbox prefix."""
        return self._client.new_inbox()

    async def request(
        self, subject: str, payload: bytes = b"", timeout: float = 0.5, *, headers: dict[str, Any] | None = None
    ) -> Msg:
        """
        Send a message and wait for its answer.

        Args:
            subject: Where to.
            payload: At most `max_payload` bytes together with the headers; more would end the client.
            timeout: Seconds to wait for the answer.
            headers: Sent along.

        Raises:
            nats.errors.TimeoutError: no answer, which leaves open what became of the message.
                Said before the time is over where no answer can come: the server denied the
                request (see `denied`), or the client was closed for good.
            nats.errors.NoRespondersError: nobody listens there.
        """
        return await self._ready().requests.ask(subject, payload, timeout, headers)

    async def publish(
        self, subject: str, payload: bytes = b"", reply: str = "", headers: dict[str, Any] | None = None
    ) -> None:
        """Send a message that nobody answers, or whose answers go to `reply`."""
        client = self._ready()
        self._keep(subject)
        await client.publish(subject, payload, reply=reply, headers=headers)

    async def subscribe(self, subject: str, **options: Any) -> Subscription:
        """Listen on the client that is in use now; the options are those of nats-py."""
        client = self._ready()
        self._keep(subject)
        return await client.subscribe(subject, **options)

    # -- Permissions ------------------------------------------------------------------------

    def denied(self, since: float, subject: str | None = None) -> list[str]:
        """
        What the server has denied, the oldest first, each once: ``publish to $KV.team.a``.

        A server does not answer a message that it denies, it only says so on the side; nats-py
        drops that in lower case into a callback. So who got no answer asks here why.

        Args:
            since: A time of `time.monotonic`; only what was denied then or later is told.
            subject: Only what could concern a request on it: denials to publish there, and
                to listen for answers.
        """
        return list(
            dict.fromkeys(
                f"{_VERBS[denial.verb]} {denial.subject}"
                for denial in self._denials
                if denial.at >= since and (subject is None or self._concerns(denial, subject))
            )
        )

    def _concerns(self, denial: _Denial, subject: str) -> bool:
        if denial.verb == "publish":
            return denial.subject.lower() == subject.lower()
        return denial.subject.lower().startswith(f"{self._settings.inbox_prefix}.".lower())

    # -- For the supervisor -----------------------------------------------------------------

    def use(self, client: SafeClient, settings: Settings) -> None:
        """Go on with this client, which was opened with these settings."""
        self._client = client
        self._settings = settings
        self._refused_since: float | None = None
        self._refused = ""

    def end(self) -> None:
        """There will be no other client."""
        self._ended = True
        self.interrupt()

    def refused(self, permission: str) -> bool:
        """Servers do not let the client in any more; True when this is news."""
        news = self._refused_since is None
        if self._refused_since is None:
            self._refused_since = time.monotonic()
        self._refused = permission
        return news

    def interrupt(self) -> None:
        """No request that waits will get an answer any more."""
        self._client.requests.give_up()

    def note_denial(self, error: Exception | None) -> str | None:
        """
        Keep what an error says about a permission, and end the requests that it leaves unanswered.

        Returns:
            The permission; None where the error is about something else.
        """
        match = _DENIAL.search(str(error))
        if match is None:
            return None
        denial = _Denial(time.monotonic(), match[1].lower(), self._as_it_was(match[2]))
        self._denials.append(denial)
        self._client.requests.give_up(lambda asked: self._concerns(denial, asked))
        return f"{_VERBS[denial.verb]} {denial.subject}"

    def hears_nothing(self, permission: str) -> bool:
        """Whether, without this permission, no answer can reach the connection."""
        return permission.lower().startswith(f"subscribe to {self._settings.inbox_prefix}.".lower())

    def _ready(self) -> SafeClient:
        if self._refused_since is not None and time.monotonic() - self._refused_since > REFUSAL_GRACE_S:
            raise AccessDeniedError(self._refused)
        if self._ended or self._client.is_closed:
            raise nats.errors.ConnectionClosedError
        if not self._client.is_connected:
            raise nats.errors.OutboundBufferLimitError
        return self._client

    def _keep(self, subject: str) -> None:
        self._subjects[subject] = None
        self._subjects.move_to_end(subject)
        if len(self._subjects) > KEPT_SUBJECTS:
            self._subjects.popitem(last=False)

    def _as_it_was(self, subject: str) -> str:
        # The server's word about a subject comes back in lower case.
        used = itertools.chain(self._client.requests.subjects, reversed(self._subjects))
        return next((each for each in used if each.lower() == subject.lower()), subject)
