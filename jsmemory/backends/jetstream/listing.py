"""
A complete listing that moves no bodies.

A pull consumer of the last message of each subject, headers only, is read until the server
says that nothing is pending. It may live on a replica that lags, so the listing also asks
the leader how far it must come, and goes on until it has come that far.

A key that is rewritten meanwhile moves past the consumer's snapshot and is delivered later,
under its new sequence: the rows are kept by name, and each ends up in the listing once.
"""

import asyncio
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec
from nats.aio.msg import Msg

from jsmemory.backends.jetstream import messages, translate
from jsmemory.backends.jetstream.deadline import Deadline
from jsmemory.backends.jetstream.finishing import finish
from jsmemory.backends.jetstream.leader import last_sequence, last_sequence_for_reader
from jsmemory.backends.jetstream.wire import Denied, NotAnswered, NotDelivered, Patience, Wire
from jsmemory.errors import AccessDeniedError, BackendError, IncompleteListingError

_ONE_TRY: Final = 2.0
_QUIET: Final = 2.0
# Seconds without a message after which the server that held the consumer counts as lost.
_BATCH: Final = 4096
_NOTHING_PENDING: Final = "404"
_FORGOTTEN_AFTER: Final = 10_000_000_000
# Nanoseconds after which the server removes a consumer that nobody could delete.


class Row(msgspec.Struct, frozen=True):
    """
    The newest message of one name, without its body.

    Attributes:
        sequence: Its stream sequence.
        is_value: False for a delete or expiry marker.
        is_new: Whether it is marked as the first value of its key.
        description: From our header; None where another program wrote the value.
    """

    sequence: int
    is_value: bool
    is_new: bool
    description: str | None


@dataclass(slots=True)
class Listing:
    """
    The rows of a filter.

    Attributes:
        rows: The newest message of each name; markers too.
        last: The last sequence that the filter's subjects had when the listing ended.
    """

    rows: dict[str, Row] = field(default_factory=dict)
    last: int = 0


class _Interrupted(Exception):
    """The consumer, or the server that held it, is gone: begin again."""


class Listings:
    """
    Listings of one prefix of a bucket.

    Args:
        wire: The connection.
        bucket: Its name.
        token: The prefix; ``""`` for the whole bucket.
    """

    def __init__(self, wire: Wire, bucket: str, token: str) -> None:
        self._wire = wire
        self._stream = f"KV_{bucket}"
        self._root = f"$KV.{bucket}."
        inside = f"{self._root}{token}." if token else self._root
        self.filter = f"{inside}>"
        # No legal key, so nobody's; the publish that asks the leader never lands anyway.
        self._question = f"{inside}/"
        self._may_publish = True

    async def take(self, deadline: Deadline, *, after: int = 0) -> Listing:
        """
        List what the filter holds.

        Args:
            deadline: When to give up.
            after: Only what changed after this sequence.

        Raises:
            IncompleteListingError: not to be had in time.
            AccessDeniedError: the credentials may not list the prefix.
        """
        while True:
            try:
                return await self._take_once(deadline, after)
            except Denied:
                raise AccessDeniedError(
                    f"list {self.filter}: publish to CONSUMER.CREATE, MSG.NEXT and DELETE"
                ) from None
            except (_Interrupted, NotAnswered, NotDelivered, BackendError):
                if self._wire.is_closed:
                    raise
                if deadline.has_passed:
                    raise IncompleteListingError from None
            await deadline.pause()

    async def _take_once(self, deadline: Deadline, after: int) -> Listing:
        listing = Listing()
        inbox = _Inbox(self._wire, listing, len(self._root))
        async with self._consumer(deadline, after) as consumer, self._wire.subscription(inbox.subject, inbox.receive):
            goal = await self._goal(deadline)
            while True:
                await inbox.pull(self._wire.api_subject(f"CONSUMER.MSG.NEXT.{self._stream}.{consumer}"), deadline)
                if listing.last >= goal:
                    return listing
                if deadline.has_passed:
                    raise _Interrupted
                # The replica that holds the consumer lags; or the message that was last has
                # been purged, and the leader now names an older one.
                await deadline.pause()
                goal = await self._goal(deadline)
                if after and goal <= after:
                    listing.last = goal
                    return listing

    async def _goal(self, deadline: Deadline) -> int:
        if self._may_publish:
            try:
                return await last_sequence(self._wire, self._question, self.filter, deadline)
            except Denied:
                # Credentials that only read. The denial takes a bare client two seconds to
                # notice, so it is not asked for again.
                self._may_publish = False
        return await last_sequence_for_reader(self._wire, self._stream, self.filter, deadline)

    @asynccontextmanager
    async def _consumer(self, deadline: Deadline, after: int) -> AsyncIterator[str]:
        """A consumer with a name that nobody can guess, which is gone afterwards, cancelled or not."""
        name = secrets.token_hex(12)
        start: dict[str, Any] = {"deliver_policy": "last_per_subject"}
        if after:
            start = {"deliver_policy": "by_start_sequence", "opt_start_seq": after + 1}
        request = msgspec.json.encode(
            {
                "stream_name": self._stream,
                "config": start
                | {
                    "name": name,
                    "ack_policy": "none",
                    "filter_subject": self.filter,
                    "headers_only": True,
                    "inactive_threshold": _FORGOTTEN_AFTER,
                    "mem_storage": True,
                    "num_replicas": 1,
                },
            }
        )
        create = self._wire.api_subject(f"CONSUMER.CREATE.{self._stream}.{name}.{self.filter}")
        delete = self._wire.api_subject(f"CONSUMER.DELETE.{self._stream}.{name}")
        try:
            # Finished, so that the delete cannot overtake a create that is still on its way.
            reply = await finish(self._wire.request(create, request, timeout=deadline.at_most(_ONE_TRY)))
            error = translate.decode(reply.data).error
            if error is not None:
                if error.is_passing:
                    raise _Interrupted
                raise translate.refusal(error)
            yield name
        finally:
            # Where it fails, the server forgets the consumer by itself.
            with suppress(NotAnswered, NotDelivered, Denied, BackendError):
                await finish(self._wire.request(delete, b"", timeout=1))


class _Inbox:
    """Takes in what the consumer delivers."""

    def __init__(self, wire: Wire, listing: Listing, root_length: int) -> None:
        self.subject = wire.connection.new_inbox()
        self._wire = wire
        self._listing = listing
        self._root_length = root_length
        self._received = 0
        self._status: str | None = None
        self._batch_ended = asyncio.Event()

    async def receive(self, message: Msg) -> None:
        """Called by nats-py, one message after the other."""
        headers = message.headers or {}
        if message.subject == self.subject:
            # The server's own word; a header of that name in a message is another program's.
            self._status = headers.get("Status")
            self._batch_ended.set()
            return
        # $JS.ACK[.domain.account].<stream>.<consumer>.<delivered>.<stream seq>.<consumer seq>.<time>.<pending>[.token]
        tokens = message.reply.split(".")
        sequence = int(tokens[5] if len(tokens) == 9 else tokens[7])
        listing = self._listing
        description = headers.get(messages.DESCRIPTION)
        listing.rows[message.subject[self._root_length :]] = Row(
            sequence,
            not messages.is_marker(headers),
            messages.NEW in headers,
            None if description is None else messages.decode_description(description),
        )
        if sequence > listing.last:
            listing.last = sequence
        self._received += 1
        if self._received == _BATCH:
            self._batch_ended.set()

    async def pull(self, subject: str, deadline: Deadline) -> None:
        """Ask for batches until the server says that nothing is pending."""
        while True:
            self._received, self._status = 0, None
            self._batch_ended.clear()
            request = msgspec.json.encode({"batch": _BATCH, "no_wait": True})
            patience = self._wire.patience(subject)
            await self._wire.send(subject, request, reply=self.subject)
            await self._wait(patience, deadline)
            if self._status == _NOTHING_PENDING:
                return
            if self._status is not None:
                raise _Interrupted

    async def _wait(self, patience: Patience, deadline: Deadline) -> None:
        """Wait for the end of the batch, for as long as messages keep coming."""
        received = -1
        while received != self._received:
            received = self._received
            try:
                # Not `asyncio.wait_for`: in Python 3.11 it drops a cancellation that comes with the answer.
                async with asyncio.timeout(deadline.at_most(_QUIET)):
                    await self._batch_ended.wait()
            except TimeoutError:
                patience.raise_if_denied()
                if deadline.has_passed:
                    break
            else:
                return
        raise _Interrupted
