"""
A complete listing that moves no bodies.

A pull consumer of the last message of each subject, headers only, is read until the server
says that nothing is pending. It may live on a replica that lags, so the listing also asks
the leader how far it must come, and goes on until it has come that far.

A key that is rewritten meanwhile moves past the consumer's snapshot and is delivered later,
under its new sequence: the rows are kept by name, and each ends up in the listing once.
"""

import math
import secrets
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

from jsmemory.backends.jetstream import translate
from jsmemory.backends.jetstream.binding import Binding
from jsmemory.backends.jetstream.deadline import Deadline
from jsmemory.backends.jetstream.finishing import finish
from jsmemory.backends.jetstream.inbox import Inbox, Interrupted, Row
from jsmemory.backends.jetstream.leader import last_sequence, last_sequence_for_reader
from jsmemory.backends.jetstream.wire import Denied, NotAnswered, NotDelivered, Wire
from jsmemory.errors import AccessDeniedError, BackendError, BackendUnavailableError, IncompleteListingError

_ONE_TRY: Final = 2.0
_IN_TOUCH_FOR: Final = 3.0
# Seconds for which a leader that was in touch with a majority is the leader: they elect another
# one when they have not heard of it for 4 s at least.
_MADE_FOR: Final = 2.0
# The same, for one that has made a consumer.
_CROWDED_FOR: Final = 2.0
# Seconds for which a place among the consumers is waited for. Listings leave theirs within
# milliseconds; views, and what was left behind, stay.
_FORGOTTEN_AFTER: Final = 10_000_000_000
# Nanoseconds after which the server removes a consumer that nobody could delete.


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

    def take(self, name: str, row: Row) -> None:
        """Keep a row that was delivered; a name's rows come in their order."""
        self.rows[name] = row
        if row.sequence > self.last:
            self.last = row.sequence


class Listings:
    """
    Listings of one prefix of a bucket.

    Args:
        wire: The connection.
        bucket: Its name.
        token: The prefix; ``""`` for the whole bucket.
        is_replicated: Whether there is a majority to be asked after.
        examined: Examines the bucket, and with it when its leader was in touch with a majority; None
            where the credentials do not allow to ask.
    """

    def __init__(
        self,
        wire: Wire,
        bucket: str,
        token: str,
        *,
        is_replicated: bool,
        examined: Callable[[Deadline], Awaitable[Binding]] | None,
    ) -> None:
        self._wire = wire
        self._stream = f"KV_{bucket}"
        self._root = f"$KV.{bucket}."
        inside = f"{self._root}{token}." if token else self._root
        self.filter = f"{inside}>"
        # No legal key, so nobody's; the publish that asks the leader never lands anyway.
        self._question = f"{inside}/"
        self._may_publish = True
        self._examined = examined
        self._proven_until = -math.inf if is_replicated else math.inf

    async def take(self, deadline: Deadline, *, after: int = 0) -> Listing:
        """
        List what the filter holds.

        Args:
            deadline: When to give up.
            after: Only what changed after this sequence.

        Raises:
            IncompleteListingError: not to be had in time; or there is no place for its consumer.
            AccessDeniedError: the credentials may not list the prefix.
        """
        crowded = Deadline(deadline.at_most(_CROWDED_FOR))
        while True:
            try:
                return await self._take_once(deadline, after)
            except Denied:
                raise AccessDeniedError(
                    f"list {self.filter}: publish to CONSUMER.CREATE, MSG.NEXT and DELETE"
                ) from None
            except IncompleteListingError:
                if crowded.has_passed:
                    raise
            except (Interrupted, NotAnswered, NotDelivered, BackendError):
                if self._wire.is_closed:
                    raise
                if deadline.has_passed:
                    raise IncompleteListingError from None
            await deadline.pause()

    async def _take_once(self, deadline: Deadline, after: int) -> Listing:
        if self._examined is not None:
            await self.prove(deadline)
        listing = Listing()
        inbox = self.inbox(listing)
        async with self.consumer(deadline, after) as asked, self._wire.subscription(inbox.subject, inbox.receive):
            await self.complete(listing, inbox, asked, deadline, after=after)
        return listing

    def inbox(self, listing: Listing) -> Inbox:
        """An inbox that fills a listing."""
        return Inbox(self._wire, listing.take, len(self._root))

    async def complete(self, listing: Listing, inbox: Inbox, asked: str, deadline: Deadline, *, after: int = 0) -> None:
        """
        Have a consumer deliver until the listing has come as far as the leader.

        Args:
            listing: What to complete.
            inbox: It fills the listing.
            asked: Where the consumer is asked.
            deadline: When to give up.
            after: Where the consumer begins; 0 for everything.

        Raises:
            Interrupted: it does not deliver, or not enough.
        """
        goal = await self.goal(deadline)
        while True:
            await inbox.drain(asked, deadline)
            if listing.last >= goal:
                return
            if after and goal <= after:
                listing.last = goal
                return
            if deadline.has_passed:
                raise Interrupted
            # The replica that holds the consumer lags; or the message that was last has
            # been purged, and the leader now names an older one.
            await deadline.pause()
            goal = await self.goal(deadline)

    async def goal(self, deadline: Deadline) -> int:
        """
        How far the leader has come: the last sequence that it holds under the filter.

        Raises:
            Denied: the credentials may not ask.
            BackendUnavailableError: no leader answered in time.
        """
        if self._may_publish:
            try:
                return await last_sequence(self._wire, self._question, self.filter, deadline)
            except Denied:
                # Credentials that only read. The denial takes a bare client two seconds to
                # notice, so it is not asked for again.
                self._may_publish = False
        return await last_sequence_for_reader(self._wire, self._stream, self.filter, deadline)

    def is_proven(self, asked_at: float) -> bool:
        """
        Whether who was asked at a monotonic time, or before, led the bucket.

        A leader that was cut off does not know that the others have elected another one. It goes
        on to answer, and to refuse what it is to store. But it knows when it last heard of them.
        Who may not ask for that takes the word of one who can make a consumer: that takes a
        majority of all servers, and is the same where the bucket is on all of them.
        """
        return asked_at <= self._proven_until

    async def may_be_outdated(self, asked_at: float, deadline: Deadline) -> bool:
        """
        Whether an answer may be that of a leader which is one no more; where it is so, ask again.

        Raises:
            BackendUnavailableError: as `prove` does.
        """
        if self.is_proven(asked_at):
            return False
        await self.prove(deadline)
        # Who may not ask for a proof gets no better answer by asking again.
        return self._proven_until != math.inf

    async def prove(self, deadline: Deadline) -> None:
        """
        Have it proven for what is asked in the next moments, unless it is.

        Raises:
            BackendUnavailableError: who answers is cut off from the majority.
        """
        while not self.is_proven(time.monotonic()):
            if self._examined is not None:
                found = await self._examined(deadline)
                self._proven_until = max(self._proven_until, found.in_touch_at + _IN_TOUCH_FOR)
            else:
                await self._prove_by_consumer(deadline)
            if self.is_proven(time.monotonic()):
                return
            if deadline.has_passed:
                raise BackendUnavailableError("The server that answers is cut off from the others.")
            await deadline.pause()

    async def _prove_by_consumer(self, deadline: Deadline) -> None:
        try:
            async with self.consumer(deadline):
                return
        except Denied:
            # Who may not ask has to take anyone's word.
            self._proven_until = math.inf
        except (Interrupted, NotAnswered, NotDelivered):
            return

    @asynccontextmanager
    async def consumer(self, deadline: Deadline, after: int = 0) -> AsyncIterator[str]:
        """
        A consumer with a name that nobody can guess, which is gone afterwards, cancelled or not.

        Args:
            deadline: When to give up.
            after: Only what changed after this sequence; 0 for the last message of each subject.

        Yields:
            The subject that it is asked on.

        Raises:
            Interrupted: the server cannot make one just now.
            BackendError: it will not.
            Denied: the credentials may not.
        """
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
            asked_at = time.monotonic()
            # Finished, so that the delete cannot overtake a create that is still on its way.
            reply = await finish(self._wire.request(create, request, timeout=deadline.at_most(_ONE_TRY)))
            error = translate.decode(reply.data).error
            if error is not None:
                if error.is_passing:
                    raise Interrupted
                raise translate.refusal(error)
            if self._examined is None:
                self._proven_until = max(self._proven_until, asked_at + _MADE_FOR)
            yield self._wire.api_subject(f"CONSUMER.MSG.NEXT.{self._stream}.{name}")
        finally:
            # Where it fails, the server forgets the consumer by itself.
            with suppress(NotAnswered, NotDelivered, Denied, BackendError):
                await finish(self._wire.request(delete, b"", timeout=1))
