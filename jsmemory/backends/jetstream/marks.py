"""What this process already knows of the bucket: the ground of the session guarantees."""

from dataclasses import dataclass
from typing import Final

from jsmemory.backends.jetstream.messages import Message


@dataclass(frozen=True, slots=True)
class Mark:
    """The newest message of a key that this process has seen: its sequence, its write, and whether it was a value."""

    sequence: int
    operation: str
    is_value: bool


UNSEEN: Final = Mark(0, "", is_value=False)


class Marks:
    """
    The newest sequence seen of each key, and of the whole stream.

    Grows with the keys that this process has touched, not with the bucket.
    """

    def __init__(self) -> None:
        self._by_key: dict[str, Mark] = {}
        self.latest = 0
        """The highest stream sequence that any answer has shown."""

    def of(self, key: str) -> Mark:
        """The mark of a key."""
        return self._by_key.get(key, UNSEEN)

    def saw(self, key: str, message: Message) -> None:
        """A read has shown `message`."""
        self.raise_to(key, Mark(message.sequence, message.operation, message.value is not None))

    def raise_to(self, key: str, mark: Mark) -> None:
        """Keep `mark` if it is newer than what is known; answers may arrive out of order."""
        if mark.sequence >= self.of(key).sequence:
            self._by_key[key] = mark
        self.latest = max(self.latest, mark.sequence)

    def clear(self) -> None:
        """Forget everything: the bucket was made anew, and counts from 1 again."""
        self._by_key.clear()
        self.latest = 0
