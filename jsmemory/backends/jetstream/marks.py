"""What this process already knows of the bucket: the ground of the session guarantees."""

import time
from typing import Final

import msgspec

from jsmemory.backends.jetstream.messages import Message


class Mark(msgspec.Struct, frozen=True):
    """
    The newest message of a key that this process has seen.

    Attributes:
        sequence: Its stream sequence.
        operation: What tells it from any other message that could have the same sequence.
        is_value: False for a marker that there is none, and for what is provisional.
        is_provisional: Whether it is a first value for which no place has been found yet.
        at: When it was last seen, in monotonic time.
    """

    sequence: int
    operation: str
    is_value: bool
    is_provisional: bool
    at: float


class Witness(msgspec.Struct, frozen=True):
    """
    A message that this process has seen: a bucket that holds it still is the one that it was seen in.

    Attributes:
        name: Of the key.
        sequence: Its stream sequence.
        operation: What tells it from any other message that could have the same sequence.
    """

    name: str
    sequence: int
    operation: str


UNSEEN: Final = Mark(0, "", is_value=False, is_provisional=False, at=0.0)


class Marks:
    """
    The newest message seen of each key, and the highest sequence of the whole stream.

    Grows with the keys that this process has touched, not with the bucket.
    """

    def __init__(self) -> None:
        self._by_key: dict[str, Mark] = {}
        self.latest = 0
        """The highest stream sequence that any answer has shown."""
        self.witness: Witness | None = None
        """The newest message that was seen, of whichever key."""

    def of(self, key: str) -> Mark:
        """The mark of a key."""
        return self._by_key.get(key, UNSEEN)

    def saw(self, key: str, message: Message) -> None:
        """Keep what a read or a write has shown if it is no older than what is known; answers may come out of order."""
        sequence, operation = message.sequence, message.operation
        if sequence >= self.of(key).sequence:
            is_value = message.value is not None
            self._by_key[key] = Mark(sequence, operation, is_value, message.is_provisional, time.monotonic())
            if self.witness is None or sequence >= self.witness.sequence:
                self.witness = Witness(key, sequence, operation)
        if sequence > self.latest:
            self.latest = sequence

    def drop(self, key: str) -> None:
        """The leader says that what was seen is gone without a trace."""
        self._by_key.pop(key, None)
