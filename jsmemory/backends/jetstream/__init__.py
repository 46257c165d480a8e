"""JetStream: notes in a NATS key-value bucket, shared by a fleet across processes and hosts."""

from jsmemory.backends.jetstream.backend import JetStreamBackend
from jsmemory.backends.jetstream.options import JetStreamOptions
from jsmemory.backends.jetstream.store import JetStreamStore
from jsmemory.registration import Registration, Surroundings

__all__ = ["JetStreamBackend", "JetStreamStore", "registration"]


async def _open(options: JetStreamOptions, surroundings: Surroundings) -> JetStreamStore:
    return await JetStreamStore.bind(
        surroundings.nats,
        options.bucket,
        surroundings.prefix,
        options.require_read_before_update,
        options.preflight,
        write_budget=options.write_budget,
        bind_timeout=options.bind_timeout,
        api_prefix=options.api_prefix,
    )


registration = Registration(name="jetstream", options=JetStreamOptions, open=_open, needs_nats=True)
