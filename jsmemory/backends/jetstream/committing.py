"""
One conditional write, and its honest outcome.

Every write names the sequence that it replaces and carries an operation id of its own. So
it can be sent again without harm, it can never land on top of a newer value, however late
it arrives, and after a lost acknowledgement the key itself tells what became of it.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import Final

import msgspec

from jsmemory.backend import Record
from jsmemory.backends.jetstream import messages, translate
from jsmemory.backends.jetstream.binding import MadeAnew
from jsmemory.backends.jetstream.deadline import Deadline
from jsmemory.backends.jetstream.leader import last_sequence
from jsmemory.backends.jetstream.marks import Marks
from jsmemory.backends.jetstream.messages import Message
from jsmemory.backends.jetstream.publishing import Publishing
from jsmemory.backends.jetstream.reading import Reading
from jsmemory.backends.jetstream.wire import Wire
from jsmemory.errors import JsMemoryError, OutcomeUnknownError

_MARKER_LIFE: Final = "1h"
# How long a delete marker stays where the bucket lets it go: longer than any replica lags and
# any write is on its way. Elsewhere markers stay until an operator compacts the bucket.


class Landed(msgspec.Struct, frozen=True):
    """The write is stored, at this sequence."""

    sequence: int


@dataclass(frozen=True, slots=True)
class Refused:
    """
    Another write came first.

    Attributes:
        current: What the key holds now; None where it holds no message.
    """

    current: Message | None


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
        within: str | None = None,
        is_new: bool = False,
    ) -> Landed | Refused:
        """
        Store a value if the key, or everything `within`, is at the sequence `expected`.

        Args:
            name: The key's name in the bucket.
            record: The value, and the description for the header.
            expected: The sequence that must still be the last; 0 for none.
            deadline: When to give up.
            within: A subject filter that the condition is about, instead of the key alone.
            is_new: Whether to mark it as the first value of its key.

        Raises:
            OutcomeUnknownError: sent, and the bucket could not be asked in time.
            BackendUnavailableError: not stored.
            AccessDeniedError: the credentials may not write the key.
        """
        headers = self._headers(name, expected, within)
        if is_new:
            headers[messages.NEW] = "1"
        described = headers | {messages.DESCRIPTION: messages.encode_description(record.description)}
        if messages.fits(described, record.value, self._value_cap):
            headers = described
        return await self._commit(name, record.value, headers, expected, deadline)

    async def mark_deleted(self, name: str, *, expected: int, deadline: Deadline) -> Landed | Refused:
        """Store a delete marker in the place of the sequence `expected`; raises what `put` does."""
        headers = self._headers(name, expected, None) | {messages.KV_OPERATION: "DEL"}
        if self._markers_expire:
            headers[messages.EXPIRES_AFTER] = _MARKER_LIFE
        return await self._commit(name, b"", headers, expected, deadline)

    def _headers(self, name: str, expected: int, within: str | None) -> dict[str, str]:
        headers = {messages.OPERATION: messages.new_operation(), messages.EXPECTED: str(expected)}
        if within is not None:
            headers[messages.EXPECTED_WITHIN] = within
        mark = self._marks.of(name)
        if mark.operation and (within is not None or mark.sequence == expected):
            headers[messages.PREVIOUS] = mark.operation
        return headers

    async def _commit(
        self, name: str, value: bytes, headers: dict[str, str], expected: int, deadline: Deadline
    ) -> Landed | Refused:
        subject = f"$KV.{self._bucket}.{name}"
        # A key that is known to be past the expected sequence never comes back to it: such a write
        # is sent only to hear what is there now, and cannot land, however its answer is lost. Unless
        # the bucket was made anew, which who may not examine it does not hear of.
        is_past = messages.EXPECTED_WITHIN not in headers and self._marks.of(name).sequence > expected
        can_land = not (is_past and self._reading.asks_leader)
        publishing = Publishing(
            self._wire,
            subject,
            value,
            headers,
            deadline,
            key=name,
            unreachable="The bucket cannot be reached.",
            can_land=can_land,
            before_again=partial(self._make_sure, name, 0 if messages.EXPECTED_WITHIN in headers else expected),
        )
        try:
            return await self._until_settled(publishing, name, headers, expected, deadline)
        except MadeAnew:
            if publishing.is_open:
                raise OutcomeUnknownError(name) from None
            raise

    async def _until_settled(
        self, publishing: Publishing, name: str, headers: dict[str, str], expected: int, deadline: Deadline
    ) -> Landed | Refused:
        # Who may not examine the bucket cannot tell one that was made anew, which counts from 1 again.
        latest = self._marks.latest if self._reading.asks_leader else 0
        while True:
            answer = await publishing.answer()
            if answer.error is None:
                is_value = messages.KV_OPERATION not in headers
                self._marks.raise_to(name, answer.seq, headers[messages.OPERATION], is_value=is_value)
                return Landed(answer.seq)
            if answer.error.is_conflict:
                settled = await self._settle(
                    name, headers, expected, latest, answer.error, deadline, may_have_landed=publishing.may_have_landed
                )
                if settled is not None:
                    return settled
            elif not answer.error.is_passing and not publishing.may_have_landed:
                raise translate.refusal(answer.error, of_a_write=True)
            await publishing.pause()

    async def _settle(
        self,
        name: str,
        headers: dict[str, str],
        expected: int,
        latest: int,
        error: translate.ApiError,
        deadline: Deadline,
        *,
        may_have_landed: bool,
    ) -> Landed | Refused | None:
        """
        Tell from the key itself what a conflict means; None says that nothing came first after all.

        An earlier try whose answer was lost may be what this try now collides with. It would be
        later than `latest`, the stream's sequence that was known before the first one.
        """
        is_of_key = messages.EXPECTED_WITHIN not in headers
        try:
            floor = error.last_sequence if is_of_key else None
            if floor is None:
                floor = await last_sequence(self._wire, f"$KV.{self._bucket}.{name}", None, deadline)
            current = await self._reading.newest(name, deadline, at_least=floor)
        except JsMemoryError:
            if may_have_landed:
                raise OutcomeUnknownError(name) from None
            raise
        if current is not None and current.operation == headers[messages.OPERATION]:
            return Landed(current.sequence)
        if is_of_key and expected == (current.sequence if current is not None else 0):
            # A write in flight was in the way, and came to nothing; or ours never arrived.
            return None
        if not may_have_landed or _another_came_first(current, expected, latest, is_of_key=is_of_key):
            return Refused(current)
        if current is not None and current.previous == headers[messages.OPERATION]:
            # Ours landed, and one who had read it has replaced it since.
            return Landed(current.expected or current.sequence - 1)
        return await self._settle_by_history(name, headers, expected, current, deadline, is_of_key=is_of_key)

    async def _settle_by_history(
        self,
        name: str,
        headers: dict[str, str],
        expected: int,
        current: Message | None,
        deadline: Deadline,
        *,
        is_of_key: bool,
    ) -> Landed | Refused:
        """Tell from the message that came right after `expected`, where the bucket keeps it."""
        try:
            next_one = await self._reading.first_after(name, expected, deadline)
            if next_one is not None and next_one.operation == headers[messages.OPERATION]:
                return Landed(next_one.sequence)
            if next_one is not None and (
                _came_after(next_one, expected if is_of_key else 0, expected)
                or await self._keeps_what_was_at(name, expected, deadline)
            ):
                return Refused(current)
        except JsMemoryError:
            pass
        raise OutcomeUnknownError(name)

    async def _keeps_what_was_at(self, name: str, sequence: int, deadline: Deadline) -> bool:
        """Whether the bucket keeps all that the key has held since a sequence: the oldest values go first."""
        if not self._reading.asks_leader:
            # It may be a sequence of the bucket before.
            return False
        oldest = await self._reading.first_after(name, 0, deadline)
        return oldest is not None and oldest.sequence <= sequence


def _another_came_first(current: Message | None, expected: int, latest: int, *, is_of_key: bool) -> bool:
    """Whether what the key holds proves that a lost try did not land, and never will."""
    if current is None:
        # The value that the key held was purged, by hand: perhaps it was ours.
        return not is_of_key
    # A lost try that landed is later than both: there has to be a place for it before what is there.
    since = max(latest, expected)
    return current.sequence <= since + 1 or _came_after(current, expected if is_of_key else 0, since)


def _came_after(message: Message, first: int, last: int) -> bool:
    """
    Whether a message came right after one of the key's between two sequences, as its condition shows.

    A condition on an older one than the key is known to have held says that somebody has purged.
    """
    after = message.expected if message.expected is not None else message.expected_within
    return after is not None and first <= after <= last
