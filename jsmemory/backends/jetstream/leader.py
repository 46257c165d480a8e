"""
How far the stream's leader is: one round trip that needs no right beyond the own prefix.

JetStream has no read of the last sequence of some subjects that a worker could be allowed
for its own prefix alone. But a publish with a condition that can never hold is refused by
the leader with the sequence that it should have expected, and nothing is stored.
"""

from typing import Final

from jsmemory.backends.jetstream import messages, translate
from jsmemory.backends.jetstream.deadline import Deadline
from jsmemory.backends.jetstream.wire import NotAnswered, NotDelivered, Wire
from jsmemory.errors import BackendUnavailableError

_NEVER: Final = str(2**62)
# No stream gets there, so the condition cannot hold and the publish cannot land.
_ONE_TRY: Final = 2.0


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
