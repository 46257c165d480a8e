"""A question to JetStream's API, asked again until it is answered; to ask twice harms nobody."""

from typing import Final

from jsmemory.backends.jetstream import translate
from jsmemory.backends.jetstream.deadline import Deadline
from jsmemory.backends.jetstream.wire import NotAnswered, NotDelivered, Wire
from jsmemory.errors import BackendUnavailableError

_ONE_TRY: Final = 2.0


async def ask(wire: Wire, subject: str, payload: bytes, deadline: Deadline) -> bytes:
    """
    The answer, which may be an error that does not pass by waiting.

    Args:
        wire: The connection.
        subject: Of the API's operation.
        payload: What it takes; ``b""`` for nothing.
        deadline: When to give up.

    Raises:
        Denied: the credentials may not publish to `subject`.
        BackendUnavailableError: no answer in time, or nobody there to answer.
    """
    while True:
        try:
            reply = await wire.request(subject, payload, timeout=deadline.at_most(_ONE_TRY))
        except NotDelivered:
            is_heard = False
        except NotAnswered:
            is_heard = True
        else:
            is_heard = True
            error = translate.decode(reply.data).error
            if error is None or not error.is_passing:
                return reply.data
        if deadline.has_passed:
            if is_heard:
                raise BackendUnavailableError(
                    "JetStream did not answer.", "Check that the server runs with JetStream and is reachable."
                )
            raise BackendUnavailableError(
                f"Nobody answers to {subject}.",
                "Check that the server is reachable, that the account has JetStream, and the domain or API prefix.",
            )
        await deadline.pause()
