"""
How far the stream's leader is: one round trip that needs no right beyond the own prefix.

JetStream has no read of the last sequence of some subjects that a worker could be allowed
for its own prefix alone. But a publish with a condition that can never hold is refused by
the leader with the sequence that it should have expected, and nothing is stored. Whoever
may only read, and so not publish, asks for a consumer that the leader itself must hold.
"""

import secrets
from typing import Final

import msgspec

from jsmemory.backends.jetstream import messages, translate
from jsmemory.backends.jetstream.asking import ask
from jsmemory.backends.jetstream.deadline import Deadline
from jsmemory.backends.jetstream.wire import Denied, NotAnswered, NotDelivered, Wire
from jsmemory.errors import BackendUnavailableError

_NEVER: Final = str(2**62)
# No stream gets there, so the condition cannot hold and the publish cannot land.
_ONE_TRY: Final = 2.0
_FORGOTTEN_AFTER: Final = 200_000_000
# Nanoseconds after which the server removes a consumer that nobody listens to: time enough to
# describe it, and too little for many to gather.


async def last_sequence(wire: Wire, subject: str, within: str | None, deadline: Deadline) -> int:
    """
    The last sequence that the leader holds for a subject or a filter; markers count.

    Args:
        wire: The connection.
        subject: A subject that the credentials may publish to.
        within: A filter to ask about; None asks about `subject` itself.
        deadline: When to give up.

    Raises:
        Denied: the credentials may not publish to `subject`.
        BackendUnavailableError: no leader answered in time.
    """
    headers = {messages.EXPECTED: _NEVER}
    if within is not None:
        headers[messages.EXPECTED_WITHIN] = within
    while True:
        try:
            reply = await wire.request(subject, b"", timeout=deadline.at_most(_ONE_TRY), headers=headers)
        except (NotAnswered, NotDelivered):
            pass
        else:
            error = translate.decode(reply.data).error
            if error is not None and error.last_sequence is not None:
                return error.last_sequence
            if error is not None and not (error.is_conflict or error.is_passing):
                raise translate.refusal(error)
        if deadline.has_passed:
            raise BackendUnavailableError("The bucket's leader did not answer.")
        await deadline.pause()


async def last_sequence_for_reader(wire: Wire, stream: str, within: str, deadline: Deadline) -> int:
    """
    As `last_sequence`, for credentials that may create consumers with a filter and publish no value.

    A consumer that is marked as direct is created by the stream's leader and by nobody else
    (JetStream makes those so that feed mirrors). It is to begin with the last message, and
    its description says where that is. Nobody listens where it would deliver to, so that it
    delivers nothing and the server removes it at once.

    Args:
        wire: The connection.
        stream: The name of the stream.
        within: The filter to ask about.
        deadline: When to give up.

    Raises:
        Denied: the credentials may not create the consumer, or the server has no such consumers.
        BackendUnavailableError: no leader answered in time.
    """
    name = secrets.token_hex(12)
    config = {
        "name": name,
        "direct": True,
        "deliver_policy": "last",
        "deliver_subject": wire.connection.new_inbox(),
        "filter_subject": within,
        "ack_policy": "none",
        "headers_only": True,
        "inactive_threshold": _FORGOTTEN_AFTER,
        "mem_storage": True,
        "num_replicas": 1,
    }
    asked = msgspec.json.encode({"stream_name": stream, "config": config})
    answer = await ask(wire, wire.api_subject(f"CONSUMER.CREATE.{stream}.{name}.{within}"), asked, deadline)
    error = translate.decode(answer).error
    if error is not None:
        raise translate.refusal(error)
    made = msgspec.json.decode(answer, type=_Made)
    if not made.config.direct:
        # Held by whoever had time for it: what that one knows proves nothing.
        raise Denied
    return made.delivered.stream_seq + 1 if made.num_pending else 0


class _Config(msgspec.Struct, frozen=True):
    direct: bool = False


class _Position(msgspec.Struct, frozen=True):
    stream_seq: int = 0


class _Made(msgspec.Struct, frozen=True):
    """What the server says of a consumer that it has made."""

    config: _Config = _Config()
    delivered: _Position = _Position()
    num_pending: int = 0
