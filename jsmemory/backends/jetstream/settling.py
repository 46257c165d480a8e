"""
What became of a write that collided, or whose answer was lost: told from what the bucket keeps.

A write that landed is under its operation id in the key, or is named by the one that replaced
it, or is the first message that the key was given after what was known when it was sent. And
where another message is the first one, it did not land; it never will, since the sequence that
it was to replace is not the key's last any more.
"""

from dataclasses import dataclass

import msgspec

from jsmemory.backends.jetstream import translate
from jsmemory.backends.jetstream.deadline import Deadline
from jsmemory.backends.jetstream.leader import last_sequence
from jsmemory.backends.jetstream.marks import Marks, Witness
from jsmemory.backends.jetstream.messages import Message
from jsmemory.backends.jetstream.reading import Reading
from jsmemory.backends.jetstream.wire import Wire
from jsmemory.errors import JsMemoryError, OutcomeUnknownError


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


@dataclass(frozen=True, slots=True)
class Attempt:
    """
    A conditional write that is under way, and what was known of the bucket before it was first sent.

    Attributes:
        name: The key's name in the bucket.
        operation: The id of the write.
        expected: The sequence that its condition names.
        known: How far the stream was known to have come; 0 where the bucket may have been made anew
            since, and count from 1 again.
        witness: For who may not ask that: the stream had come so far, if this is there still.
    """

    name: str
    operation: str
    expected: int
    known: int
    witness: Witness | None

    def came_first(self, message: Message, since: int) -> bool:
        """
        Whether a message proves that this did not land later than `since`, before the message.

        It does where there is no place between the two, or where its condition says that it came
        right after a message of the key that is no later. One that is older than the key is known
        to have held says that somebody has purged.
        """
        if message.sequence <= since + 1:
            return True
        return message.expected is not None and self.expected <= message.expected <= since


class Settling:
    """
    Tells what became of the writes to one bucket.

    Args:
        wire: The connection.
        bucket: Its name.
        marks: What this process knows.
        reading: For asking the key.
    """

    def __init__(self, wire: Wire, bucket: str, marks: Marks, reading: Reading) -> None:
        self._wire = wire
        self._bucket = bucket
        self._marks = marks
        self._reading = reading

    def attempt(self, name: str, operation: str, expected: int) -> Attempt:
        """A write that is about to be sent for the first time."""
        may_ask = self._reading.asks_leader
        known, witness = (self._marks.latest, None) if may_ask else (0, self._marks.witness)
        return Attempt(name, operation, expected, known, witness)

    async def settle(
        self, attempt: Attempt, error: translate.ApiError, deadline: Deadline, *, may_have_landed: bool
    ) -> Landed | Refused | None:
        """
        Tell from the key what a conflict means.

        Args:
            attempt: The write.
            error: The conflict that its last try met.
            deadline: When to give up.
            may_have_landed: Whether an earlier try, whose answer was lost, may be what this one collided with.

        Returns:
            None where nothing came first after all.

        Raises:
            OutcomeUnknownError: nothing tells whether an earlier try landed.
            JsMemoryError: none did, and the key could not be asked.
        """
        try:
            floor = error.last_sequence
            if floor is None:
                floor = await last_sequence(self._wire, f"$KV.{self._bucket}.{attempt.name}", None, deadline)
            current = await self._reading.newest(attempt.name, deadline, at_least=floor)
        except JsMemoryError:
            if may_have_landed:
                raise OutcomeUnknownError(attempt.name) from None
            raise
        if current is not None and current.operation == attempt.operation:
            return Landed(current.sequence)
        if attempt.expected == (current.sequence if current is not None else 0):
            # A write in flight was in the way, and came to nothing; or ours never arrived.
            return None
        if not may_have_landed or _is_proof(attempt, current):
            return Refused(current)
        if current is not None and current.previous == attempt.operation and current.expected is not None:
            # Ours landed, and one who had read it has replaced it since.
            return Landed(current.expected)
        try:
            settled = await self._ask_history(attempt, current, deadline)
        except JsMemoryError:
            settled = None
        if settled is None:
            raise OutcomeUnknownError(attempt.name)
        return settled

    async def _ask_history(
        self, attempt: Attempt, current: Message | None, deadline: Deadline
    ) -> Landed | Refused | None:
        """Tell from the first message that the key was given after what was known, where the bucket keeps it."""
        certain = max(attempt.expected, attempt.known)
        since = max(certain, attempt.witness.sequence) if attempt.witness is not None else certain
        first = await self._reading.first_after(attempt.name, since, deadline)
        if first is not None and first.operation == attempt.operation:
            return Landed(first.sequence)
        if first is not None and (
            attempt.came_first(first, certain) or await self._keeps_what_was_at(attempt.name, since, deadline)
        ):
            return Refused(current)
        if attempt.witness is not None and any(
            attempt.came_first(each, since) for each in (first, current) if each is not None
        ):
            # Asked last: it vouches for what was asked before.
            held = await self._reading.first_after(attempt.witness.name, attempt.witness.sequence - 1, deadline)
            if held is not None and held.operation == attempt.witness.operation:
                return Refused(current)
        return None

    async def _keeps_what_was_at(self, name: str, sequence: int, deadline: Deadline) -> bool:
        """Whether the bucket keeps all that the key has held since a sequence: the oldest values go first."""
        if not self._reading.asks_leader:
            # It may be a sequence of the bucket before.
            return False
        oldest = await self._reading.first_after(name, 0, deadline)
        return oldest is not None and oldest.sequence <= sequence


def _is_proof(attempt: Attempt, current: Message | None) -> bool:
    """Whether what the key holds proves that a lost try did not land, and never will."""
    if current is None:
        # The value that the key held was purged, by hand: perhaps it was ours.
        return False
    # A lost try that landed is later than both: there has to be a place for it before what is there.
    return attempt.came_first(current, max(attempt.known, attempt.expected))
