"""JetStream: notes in a NATS key-value bucket, shared by a fleet across processes and hosts."""

from jsmemory.backends.jetstream.backend import JetStreamBackend
from jsmemory.backends.jetstream.store import JetStreamStore

__all__ = ["JetStreamBackend", "JetStreamStore"]
