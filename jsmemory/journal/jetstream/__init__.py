"""The JetStream journal: one subject a run, in a stream that its operator made."""

from jsmemory.journal.jetstream.journal import JetStreamJournal

__all__ = ["JetStreamJournal"]
