"""Questions to the leader of the stream."""

import msgspec

from jsmemory.backends.jetstream import translate
from jsmemory.backends.jetstream.asking import ask
from jsmemory.backends.jetstream.deadline import Deadline
from jsmemory.backends.jetstream.messages import Message
from jsmemory.backends.jetstream.wire import Denied, Wire
from jsmemory.errors import AccessDeniedError, BackendUnavailableError


class Asking:
    """
    What the API says of one stream.

    Args:
        wire: The connection.
        stream: The stream's name.
    """

    def __init__(self, wire: Wire, stream: str) -> None:
        self._wire = wire
        self._stream = stream

    async def describe(self, deadline: Deadline, *, subjects: str = "", offset: int = 0) -> bytes:
        """
        The answer to ``STREAM.INFO``, which may be that there is no such stream.

        Args:
            deadline: When to give up.
            subjects: A filter of subjects to be counted; ``""`` for none.
            offset: How many of them to pass over.
        """
        asked = {"subjects_filter": subjects, "offset": offset} if subjects else {}
        return await self._ask(f"STREAM.INFO.{self._stream}", asked, deadline)

    async def last(self, subject: str, deadline: Deadline) -> Message | None:
        """The last message of a subject; None where there is none."""
        return await self._message({"last_by_subj": subject}, deadline)

    async def first_after(self, subject: str, sequence: int, deadline: Deadline) -> Message | None:
        """The first message of a subject behind a sequence; None where there is none."""
        return await self._message({"seq": sequence + 1, "next_by_subj": subject}, deadline)

    async def _message(self, asked: dict[str, object], deadline: Deadline) -> Message | None:
        answer = translate.decode(await self._ask(f"STREAM.MSG.GET.{self._stream}", asked, deadline))
        if answer.message is not None:
            return Message.from_leader_get(answer.message)
        if answer.error is not None and answer.error.err_code == translate.MESSAGE_NOT_FOUND:
            return None
        if answer.error is not None and answer.error.err_code == translate.STREAM_NOT_FOUND:
            raise gone()
        raise BackendUnavailableError("The server could not read the stream of the journal.")

    async def _ask(self, operation: str, asked: dict[str, object], deadline: Deadline) -> bytes:
        subject = self._wire.api_subject(operation)
        payload = msgspec.json.encode(asked) if asked else b""
        try:
            return await ask(self._wire, subject, payload, deadline)
        except Denied:
            raise AccessDeniedError(f"publish to {subject}, if {self._stream} is what the stream is called") from None


def gone() -> BackendUnavailableError:
    """The stream was there when the journal was bound, and is not any more."""
    return BackendUnavailableError("The stream of the journal is gone.", "Ask its operator to make it again.")
