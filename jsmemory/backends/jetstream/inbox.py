"""Where the messages of a pull consumer arrive, one row each, and how to tell that no more will."""

import asyncio
from collections.abc import Callable
from typing import Final

import msgspec
from nats.aio.msg import Msg

from jsmemory.backends.jetstream import messages
from jsmemory.backends.jetstream.deadline import Deadline
from jsmemory.backends.jetstream.wire import Patience, Wire

_BATCH: Final = 4096
_QUIET: Final = 2.0
# Seconds without a message after which the server that held the consumer counts as lost.

_ALL_THERE_IS: Final = msgspec.json.encode({"batch": _BATCH, "no_wait": True})

_BEAT_S: Final = 1
_WHAT_COMES: Final = msgspec.json.encode(
    {"batch": _BATCH, "expires": 20_000_000_000, "idle_heartbeat": _BEAT_S * 1_000_000_000}
)
# A request for what is stored from now on ends by itself before a server, or an account that
# imports the service of another one, forgets whom to answer.
_MISSED_BEATS: Final = 2.5 * _BEAT_S

_BEAT: Final = "100"
_NOTHING_PENDING: Final = "404"
_EXPIRED: Final = "408"


class Interrupted(Exception):
    """The consumer, or the server that held it, is gone: begin again."""


class Row(msgspec.Struct, frozen=True):
    """
    The newest message of one name, without its body.

    Attributes:
        sequence: Its stream sequence.
        is_value: False for a delete or expiry marker, and for what is provisional.
        is_provisional: Whether it is a first value for which no place has been found yet.
        description: From our header; None where another program wrote the value.
        stored_at: When it was stored, in nanoseconds: it differs where a bucket that was made anew
            has come to the same sequence.
    """

    sequence: int
    is_value: bool
    is_provisional: bool
    description: str | None
    stored_at: str


def sequence_of(message: Msg) -> int:
    """The stream sequence of a message that a consumer has delivered."""
    tokens = message.reply.split(".")
    return int(tokens[sequence_at(tokens)])


def sequence_at(tokens: list[str]) -> int:
    """Where the stream sequence stands in the subject that a delivery is acknowledged on; the rest follows it."""
    # $JS.ACK[.domain.account].<stream>.<consumer>.<delivered>.<stream seq>.<consumer seq>.<time>.<pending>[.token]
    return 5 if len(tokens) == 9 else 7


class Inbox:
    """
    Takes in what one consumer delivers, in its order and without a gap.

    Args:
        wire: The connection.
        take: Gets each name and its row.
        root_length: Characters of a subject before the name begins.
    """

    def __init__(self, wire: Wire, take: Callable[[str, Row], None], root_length: int) -> None:
        self.subject = wire.connection.new_inbox()
        self._wire = wire
        self._take = take
        self._root_length = root_length
        self._received_at_all = 0
        self._received = 0
        self._status: str | None = None
        self._has_gap = False
        self._batch_ended = asyncio.Event()
        self._stirred = asyncio.Event()

    async def receive(self, message: Msg) -> None:
        """Called by nats-py, one message after the other."""
        headers = message.headers or {}
        if message.subject == self.subject:
            # The server's own word; a header of that name in a message is another program's.
            status = headers.get("Status")
            if status != _BEAT:
                self._status = status
                self._batch_ended.set()
            elif headers.get("Nats-Last-Consumer", "0") != str(self._received_at_all):
                self._has_gap = True
            self._stirred.set()
            return
        tokens = message.reply.split(".")
        begin = sequence_at(tokens)
        sequence = int(tokens[begin])
        is_provisional = messages.is_provisional(headers, sequence)
        description = headers.get(messages.DESCRIPTION)
        self._take(
            message.subject[self._root_length :],
            Row(
                sequence,
                not (is_provisional or messages.is_marker(headers)),
                is_provisional,
                None if description is None else messages.decode_description(description),
                tokens[begin + 2],
            ),
        )
        self._received_at_all += 1
        if tokens[begin + 1] != str(self._received_at_all):
            # Lost on the way, as where a client cannot keep up and drops what waits.
            self._has_gap = True
        self._received += 1
        if self._received == _BATCH:
            self._batch_ended.set()
        self._stirred.set()

    async def drain(self, asked: str, deadline: Deadline) -> None:
        """
        Ask for batches until the server says that nothing is pending.

        Raises:
            Interrupted: it says something else, or nothing.
        """
        while True:
            patience = await self._ask(asked, _ALL_THERE_IS)
            await self._wait_for_batch(patience, deadline)
            if self._has_gap:
                raise Interrupted
            if self._status == _NOTHING_PENDING:
                return
            if self._status is not None:
                raise Interrupted

    async def listen(self, asked: str) -> None:
        """
        Ask for what is stored from now on, unless that has been asked and is not over; wait until something comes.

        Returns when anything has come, if only a sign of life.

        Raises:
            Interrupted: the consumer, or who held it, is lost; or a message was, on the way.
        """
        if self._batch_ended.is_set():
            await self._ask(asked, _WHAT_COMES)
        try:
            async with asyncio.timeout(_MISSED_BEATS):
                await self._stirred.wait()
        except TimeoutError:
            raise Interrupted from None
        self._stirred.clear()
        if self._has_gap or self._status not in (None, _EXPIRED, _NOTHING_PENDING):
            raise Interrupted

    def stir(self) -> None:
        """Let `listen` return."""
        self._stirred.set()

    async def _ask(self, asked: str, request: bytes) -> Patience:
        self._received, self._status = 0, None
        self._batch_ended.clear()
        patience = self._wire.patience(asked)
        await self._wire.send(asked, request, reply=self.subject)
        return patience

    async def _wait_for_batch(self, patience: Patience, deadline: Deadline) -> None:
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
        raise Interrupted
