"""
Going through what a bucket holds, without the bodies and without keeping anything.

As a listing does, with a consumer of the last message of each subject; but each message is
given away at once, so that a million of them take no more memory than one batch, and the
walk can end before the bucket does. Whoever does something about what was met does it between
two batches, while nothing comes in.
"""

import asyncio
import secrets
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

import msgspec

from jsmemory.backends.jetstream import messages, translate
from jsmemory.backends.jetstream.deadline import Deadline
from jsmemory.backends.jetstream.facts import STREAM_PREFIX
from jsmemory.backends.jetstream.finishing import finish
from jsmemory.backends.jetstream.inbox import sequence_at, sequence_of
from jsmemory.backends.jetstream.leader import last_sequence_for_reader
from jsmemory.backends.jetstream.wire import Denied, NotAnswered, NotDelivered, Wire
from jsmemory.errors import BackendError, BackendUnavailableError
from jsmemory.examining.questions import Silence

_BATCH: Final = 2048
_FORGOTTEN_AFTER: Final = 120_000_000_000
# Nanoseconds between two batches after which the server removes the consumer.
_NOTHING_PENDING: Final = "404"
_NOBODY_LISTENS: Final = "503"
_SIZE: Final = "Nats-Msg-Size"
# What the server puts on a message whose body it leaves out.


@dataclass(frozen=True, slots=True)
class Seen:
    """
    The last message of one name.

    Attributes:
        name: In the bucket, with the prefix.
        size: Bytes of its value.
        is_value: Whether it is an entry's; else it is a marker that the key is gone, or the value of a
            create that was given up before there was a place for it.
        is_described: Whether its header holds the description, as our own writes have it.
        reply: The subject that its delivery could be acknowledged on, which says more of it.
    """

    name: str
    size: int
    is_value: bool
    is_described: bool
    reply: str = field(default="", repr=False)

    @property
    def sequence(self) -> int:
        """Of the stream; what has the name since then has a higher one."""
        return self._said(0)

    @property
    def stored_at(self) -> int:
        """When it was stored, in nanoseconds since 1970, by the clock of the server that led the stream."""
        return self._said(2)

    @property
    def left(self) -> int:
        """How many messages the walk had still to go through."""
        return self._said(3)

    def _said(self, behind: int) -> int:
        tokens = self.reply.split(".")
        return int(tokens[sequence_at(tokens) + behind])


async def go_on() -> bool:
    """Between two batches, where there is nothing to do."""
    return True


async def walk(
    wire: Wire,
    bucket: str,
    token: str,
    receive: Callable[[Seen], None],
    *,
    patience: float,
    at_most: int | None = None,
    between: Callable[[], Awaitable[bool]] = go_on,
) -> bool | Silence:
    """
    Give the last message of each name to `receive`, one after the other.

    Args:
        wire: The connection.
        bucket: Its name.
        token: The prefix; ``""`` for the whole bucket.
        receive: Takes them; must not block.
        patience: Seconds to wait for the next message.
        at_most: After how many messages to stop, give or take a batch; None for no bound.
        between: Awaited after each batch, for some seconds at most; whether to go on.

    Returns:
        Whether that were all of them; or why there is no answer.
    """
    quiet = Deadline(patience)
    while True:
        try:
            return await _walk(wire, bucket, token, receive, patience, at_most, between)
        except _KnowsNothing:
            if quiet.has_passed:
                return Silence.LATE
        # The next consumer may be held by another replica.
        await quiet.pause()


class _KnowsNothing(Exception):
    """Not what there is none of: what a replica has not heard of."""


async def _walk(
    wire: Wire,
    bucket: str,
    token: str,
    receive: Callable[[Seen], None],
    patience: float,
    at_most: int | None,
    between: Callable[[], Awaitable[bool]],
) -> bool | Silence:
    stream, root = f"{STREAM_PREFIX}{bucket}", f"$KV.{bucket}."
    subjects = f"{root}{token}.>" if token else f"{root}>"
    name = secrets.token_hex(12)
    config = {
        "name": name,
        "deliver_policy": "last_per_subject",
        "ack_policy": "none",
        "filter_subject": subjects,
        "headers_only": True,
        "inactive_threshold": _FORGOTTEN_AFTER,
        "mem_storage": True,
        "num_replicas": 1,
    }
    create = wire.api_subject(f"CONSUMER.CREATE.{stream}.{name}.{subjects}")
    asked = msgspec.json.encode({"stream_name": stream, "config": config})
    try:
        reply = await finish(wire.request(create, asked, timeout=patience))
        if translate.decode(reply.data).error is not None:
            return Silence.UNREADABLE
        inbox = _Inbox(wire, len(root), receive, partial(_reached_by_leader, wire, stream, subjects, patience))
        async with wire.subscription(inbox.subject, inbox.take):
            return await inbox.pull_all(
                wire.api_subject(f"CONSUMER.MSG.NEXT.{stream}.{name}"), at_most, patience, between
            )
    except Denied:
        return Silence.DENIED
    except NotDelivered:
        return Silence.NOBODY
    except NotAnswered:
        return Silence.LATE
    finally:
        # Where it fails, the server forgets the consumer by itself.
        with suppress(NotAnswered, NotDelivered, Denied):
            await finish(wire.request(wire.api_subject(f"CONSUMER.DELETE.{stream}.{name}"), b"", timeout=1))


async def _reached_by_leader(wire: Wire, stream: str, subjects: str, patience: float) -> int:
    """
    The last sequence of what is walked through; 0 for who may not ask, and has to do with what a replica shows.

    Raises:
        NotAnswered: no leader said it in time.
    """
    try:
        return await last_sequence_for_reader(wire, stream, subjects, Deadline(patience))
    except BackendUnavailableError:
        raise NotAnswered from None
    except (Denied, BackendError):
        return 0


class _Inbox:
    """Takes in what the consumer delivers."""

    def __init__(
        self, wire: Wire, root_length: int, receive: Callable[[Seen], None], goal: Callable[[], Awaitable[int]]
    ) -> None:
        self.subject = wire.connection.new_inbox()
        self._wire = wire
        self._root_length = root_length
        self._receive = receive
        self._goal = goal
        self._received = 0
        self._newest: Any = None
        self._status = ""
        self._batch_ended = asyncio.Event()

    async def take(self, message: Any) -> None:
        """Called by nats-py, one message after the other."""
        headers = message.headers or {}
        if message.subject == self.subject:
            # The server's own word; a header of that name in a message is another program's.
            self._status = headers.get("Status", "")
            self._batch_ended.set()
            return
        self._received += 1
        self._newest = message
        size = headers.get(_SIZE, "0")
        self._receive(
            Seen(
                message.subject[self._root_length :],
                int(size) if size.isdecimal() else 0,
                not (messages.is_marker(headers) or messages.is_provisional(headers, sequence_of(message))),
                messages.DESCRIPTION in headers,
                message.reply,
            )
        )
        if self._received % _BATCH == 0:
            self._batch_ended.set()

    async def pull_all(
        self, subject: str, at_most: int | None, patience: float, between: Callable[[], Awaitable[bool]]
    ) -> bool:
        """
        Ask for batches until there is nothing that the leader had besides when it began, or it is enough.

        Raises:
            NotAnswered: it stopped before the end.
            _KnowsNothing: who holds the consumer has not got anything yet of what the leader has.
        """
        request = msgspec.json.encode({"batch": _BATCH, "no_wait": True})
        goal = await self._goal()
        quiet = Deadline(patience)
        while at_most is None or self._received < at_most:
            before, self._status = self._received, ""
            self._batch_ended.clear()
            waiting = self._wire.patience(subject)
            await self._wire.send(subject, request, reply=self.subject)
            await self._until_batch_ended(patience)
            if self._received > before:
                quiet = Deadline(patience)
            if self._received > before or self._status == _NOTHING_PENDING:
                if not await between():
                    return False
                if self._status != _NOTHING_PENDING:
                    continue
                if self._reached >= goal or self._reached >= (goal := min(goal, await self._goal())):
                    return True
                # The replica that holds the consumer lags, as followers do for seconds after a restore.
                if self._newest is None:
                    raise _KnowsNothing
            else:
                waiting.raise_if_denied()
                if self._status != _NOBODY_LISTENS:
                    raise NotAnswered
                # A consumer that was made just now is not known to every server of a cluster yet.
            if quiet.has_passed:
                raise NotAnswered
            await quiet.pause()
        return False

    @property
    def _reached(self) -> int:
        # Messages come in the order of their sequences.
        return 0 if self._newest is None else sequence_of(self._newest)

    async def _until_batch_ended(self, patience: float) -> None:
        received = -1
        while received != self._received:
            received = self._received
            with suppress(TimeoutError):
                async with asyncio.timeout(patience):
                    await self._batch_ended.wait()
                return
