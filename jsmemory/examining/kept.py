"""What is examined: the stream behind a bucket, or that of a journal, in the words of its operator."""

from dataclasses import dataclass
from typing import Final

from jsmemory.backends.jetstream.facts import STREAM_PREFIX
from jsmemory.backends.jetstream.recipe import KIB
from jsmemory.journal.jetstream.recipe import MAX_HEADER_BYTES
from jsmemory.journal.records import MAX_RECORD_BYTES
from jsmemory.limits import MAX_ENTRY_BYTES

_ADDED: Final = 8 * KIB
# What headers, and the server itself, add to a value.


@dataclass(frozen=True, slots=True)
class Kept:
    """
    A stream that keeps something of ours.

    Attributes:
        name: What its operator calls it: a bucket, or a stream.
        noun: What it is: ``bucket`` or ``journal``.
        of_what: One of what it is full of: ``an entry`` or ``a record``.
        largest: Bytes that the largest of these takes.
    """

    name: str
    noun: str
    of_what: str
    largest: int

    @classmethod
    def as_bucket(cls, bucket: str) -> "Kept":
        """The stream behind a bucket."""
        return cls(bucket, "bucket", "an entry", MAX_ENTRY_BYTES + _ADDED)

    @classmethod
    def as_journal(cls, stream: str) -> "Kept":
        """The stream of a journal."""
        return cls(stream, "journal", "a record", MAX_RECORD_BYTES + MAX_HEADER_BYTES + _ADDED)

    @property
    def stream(self) -> str:
        """Its name for the server."""
        return f"{STREAM_PREFIX}{self.name}" if self.noun == "bucket" else self.name

    def edit(self, *flags: str) -> str:
        """
        The command that changes settings and no others; of a bucket it asks, on a terminal.

        ``nats kv edit`` would ask nothing, and turn roll-ups on: whoever carries out one cure
        after the other must not find the last one undone.
        """
        return f"nats stream edit {self.stream} {' '.join(flags)} --force"
