"""
Reading a run back: one request, many answers, in the order of the stream.

Any replica may answer, also one that lags, so a reading knows the sequence that it must come
to and asks again until it is there. Every record names the one before it, in headers that
are stored with it: a record that is missing, or that another program put there, is noticed.
"""

import asyncio
from collections.abc import AsyncIterator
from typing import Any, Final

import msgspec

from jsmemory.backends.jetstream.deadline import Deadline
from jsmemory.backends.jetstream.messages import Message
from jsmemory.backends.jetstream.wire import Denied, NotDelivered, Wire
from jsmemory.errors import AccessDeniedError, BackendUnavailableError, JournalCorruptError
from jsmemory.journal.journal import Tail
from jsmemory.journal.replay import Line

BATCH: Final = 16_384
BATCH_BYTES: Final = 8 * 1024 * 1024
"""Records and bytes of one answer: what a run needs one round trip for, and what it takes of memory."""

_QUIET: Final = 2.0
# Seconds without a message after which the server that answered counts as lost.


class Reading:
    """
    Readings of one stream.

    Args:
        wire: The connection.
        stream: The stream's name.
    """

    def __init__(self, wire: Wire, stream: str) -> None:
        self._wire = wire
        self._question = wire.api_subject(f"DIRECT.GET.{stream}")

    async def pages(self, subject: str, run_id: str, until: Tail, budget: float) -> AsyncIterator[list[Line]]:
        """
        The records of a run, up to one that is known to be there.

        Args:
            subject: The run's.
            run_id: For errors.
            until: The last one to read.
            budget: Seconds that one page may take.

        Raises:
            JournalCorruptError: a record is missing, or no run has written it.
            BackendUnavailableError: not to be had in time.
            AccessDeniedError: the credentials may not read the stream.
        """
        seen, last = 0, Tail(0, "")
        while last.place < until.place:
            page = []
            for message in await self._page(subject, last.place, Deadline(budget)):
                if message.sequence > until.place:
                    break
                seen += 1
                if message.expected != last.place or message.previous != last.id or message.value is None:
                    raise JournalCorruptError(
                        run_id, seen, message.sequence, "does not follow the one before it, or no run has written it"
                    )
                last = Tail(message.sequence, message.operation)
                page.append(Line(message.sequence, message.value))
            if not page:
                raise JournalCorruptError(run_id, seen + 1, last.place + 1, "was there, and is missing now")
            yield page

    async def _page(self, subject: str, after: int, deadline: Deadline) -> list[Message]:
        """The next messages behind a sequence at which there are some, a bounded number of them."""
        asked = msgspec.json.encode(
            {"seq": after + 1, "next_by_subj": subject, "batch": BATCH, "max_bytes": BATCH_BYTES}
        )
        while True:
            inbox = _Inbox(self._wire.connection.new_inbox())
            patience = self._wire.patience(self._question)
            try:
                async with self._wire.subscription(inbox.subject, inbox.receive):
                    await self._wire.send(self._question, asked, reply=inbox.subject)
                    await inbox.wait(deadline)
                if inbox.messages:
                    return inbox.messages
                patience.raise_if_denied()
            except Denied:
                raise AccessDeniedError(f"publish to {self._question}") from None
            except NotDelivered:
                pass
            if deadline.has_passed:
                raise BackendUnavailableError("The stream of the journal did not show its records in time.")
            await deadline.pause()


class _Inbox:
    """Takes in what is answered to one request."""

    def __init__(self, subject: str) -> None:
        self.subject = subject
        self.messages: list[Message] = []
        self._ended = asyncio.Event()

    async def receive(self, answer: Any) -> None:
        """Called by nats-py, one message after the other."""
        # The server's own word has no sequence; a header "Status" could be another program's.
        message = Message.from_direct_get(answer)
        if message is None:
            self._ended.set()
        else:
            self.messages.append(message)

    async def wait(self, deadline: Deadline) -> None:
        """Wait for the end of the answer, for as long as messages keep coming; what came counts in any case."""
        received = -1
        while received != len(self.messages):
            received = len(self.messages)
            try:
                # Not `asyncio.wait_for`: in Python 3.11 it drops a cancellation that comes with the answer.
                async with asyncio.timeout(deadline.at_most(_QUIET)):
                    await self._ended.wait()
            except TimeoutError:
                continue
            return
