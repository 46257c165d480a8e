"""
One conditional write, and its honest outcome.

Every write names the sequence that it replaces and carries an operation id of its own. So
it can be sent again without harm, it can never land on top of a newer value, however late
it arrives, and after a lost acknowledgement the key itself tells what became of it.
"""

import time
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Final

from jsmemory.backend import Record
from jsmemory.backends.jetstream import messages, translate
from jsmemory.backends.jetstream.binding import MadeAnew
from jsmemory.backends.jetstream.deadline import Deadline
from jsmemory.backends.jetstream.marks import Marks
from jsmemory.backends.jetstream.messages import Message, Window
from jsmemory.backends.jetstream.publishing import Publishing
from jsmemory.backends.jetstream.reading import Reading
from jsmemory.backends.jetstream.settling import Attempt, Landed, Refused, Settling
from jsmemory.backends.jetstream.wire import Wire
from jsmemory.errors import OutcomeUnknownError

_MARKER_LIFE: Final = "1h"
# How long a delete marker stays where the bucket lets it go: longer than any replica lags and
# any write is on its way. Elsewhere markers stay until an operator compacts the bucket.

_MARKER_STAYS: Final = 300.0
# Seconds for which each marker stays: a compaction is not to remove younger ones.


class Committing:
    """
    Writes to one bucket.

    Args:
        wire: The connection.
        bucket: Its name.
        marks: What this process knows; raised by every write.
        reading: For asking the key after a conflict or a lost answer.
        value_cap: Bytes of headers and value that the bucket takes in one message.
        markers_expire: Whether the bucket lets a delete marker go by itself.
        make_sure: Called before a sequence is sent again: the bucket may have been made anew meanwhile.
    """

    def __init__(
        self,
        wire: Wire,
        bucket: str,
        marks: Marks,
        reading: Reading,
        *,
        value_cap: int,
        markers_expire: bool,
        make_sure: Callable[[str, int, Deadline], Awaitable[None]],
    ) -> None:
        self._wire = wire
        self._bucket = bucket
        self._marks = marks
        self._reading = reading
        self._settling = Settling(wire, bucket, marks, reading)
        self._value_cap = value_cap
        self._markers_expire = markers_expire
        self._make_sure = make_sure

    async def put(
        self,
        name: str,
        record: Record,
        *,
        expected: int,
        deadline: Deadline,
        window: Window | None = None,
    ) -> Landed | Refused:
        """
        Store a value if the key is at the sequence `expected`.

        Args:
            name: The key's name in the bucket.
            record: The value, and the description for the header.
            expected: The sequence that must still be the last; 0 for none.
            deadline: When to give up.
            window: For the first value of a key: where there is a place for it.

        Raises:
            OutcomeUnknownError: sent, and the bucket could not be asked in time.
            BackendUnavailableError: not stored.
            AccessDeniedError: the credentials may not write the key.
        """
        headers = self._headers(name, expected)
        if window is not None:
            headers[messages.NEW] = str(window)
        described = headers | {messages.DESCRIPTION: messages.encode_description(record.description)}
        if messages.fits(described, record.value, self._value_cap):
            headers = described
        return await self._commit(name, record.value, headers, expected, deadline)

    async def mark_deleted(self, name: str, *, expected: int, deadline: Deadline) -> Landed | Refused:
        """Store a delete marker in the place of the sequence `expected`; raises what `put` does."""
        headers = self._headers(name, expected) | {messages.KV_OPERATION: "DEL"}
        if self._markers_expire:
            headers[messages.EXPIRES_AFTER] = _MARKER_LIFE
        return await self._commit(name, b"", headers, expected, deadline)

    def _headers(self, name: str, expected: int) -> dict[str, str]:
        headers = {messages.OPERATION: messages.new_operation(), messages.EXPECTED: str(expected)}
        mark = self._marks.of(name)
        if mark.operation and mark.sequence == expected:
            headers[messages.PREVIOUS] = mark.operation
        return headers

    async def _commit(
        self, name: str, value: bytes, headers: dict[str, str], expected: int, deadline: Deadline
    ) -> Landed | Refused:
        attempt = self._settling.attempt(name, headers[messages.OPERATION], expected)
        # A key that is known to be past the expected sequence never comes back to it: such a write
        # is sent only to hear what is there now, and cannot land, however its answer is lost. Unless
        # the bucket was made anew, which who may not examine it does not hear of. To nothing a key
        # does come back, in time.
        mark = self._marks.of(name)
        is_past = expected < mark.sequence and (expected > 0 or time.monotonic() - mark.at < _MARKER_STAYS)
        can_land = not (is_past and self._reading.asks_leader)
        publishing = Publishing(
            self._wire,
            f"$KV.{self._bucket}.{name}",
            value,
            headers,
            deadline,
            key=name,
            unreachable="The bucket cannot be reached.",
            can_land=can_land,
            before_again=partial(self._make_sure, name, expected),
        )
        try:
            return await self._until_settled(publishing, attempt, deadline, headers)
        except MadeAnew:
            if publishing.is_open:
                raise OutcomeUnknownError(name) from None
            raise

    async def _until_settled(
        self, publishing: Publishing, attempt: Attempt, deadline: Deadline, headers: dict[str, str]
    ) -> Landed | Refused:
        while True:
            answer = await publishing.answer()
            if answer.error is None:
                # What reading it would show; its body tells nothing of that.
                self._marks.saw(attempt.name, Message.of(answer.seq, headers, b"", ""))
                return Landed(answer.seq)
            if answer.error.is_conflict:
                settled = await self._settling.settle(
                    attempt, answer.error, deadline, may_have_landed=publishing.may_have_landed
                )
                if settled is not None:
                    return settled
            elif not answer.error.is_passing and not publishing.may_have_landed:
                raise translate.refusal(answer.error, of_a_write=True)
            await publishing.pause()
