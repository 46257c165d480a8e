"""
One conditional append, and its honest outcome.

Every record names the sequence that it follows and carries its id. So it can be sent again
without harm, it can never land behind a record that its writer has not seen, and after a
lost acknowledgement the first record behind that sequence tells what became of it: records
are never removed, so the answer is always to be had.
"""

from typing import Final

from jsmemory.backends.jetstream import translate
from jsmemory.backends.jetstream.deadline import Deadline
from jsmemory.backends.jetstream.messages import EXPECTED, OPERATION, PREVIOUS, Message
from jsmemory.backends.jetstream.publishing import Publishing
from jsmemory.backends.jetstream.wire import Wire
from jsmemory.errors import BackendError, BackendUnavailableError, OutcomeUnknownError
from jsmemory.journal.jetstream.asking import Asking, gone
from jsmemory.journal.journal import Tail

START: Final = Tail(0, "")
"""The tail of a run that has no record yet."""


_REFUSALS: Final = translate.NO_ROOM | {
    10054: ("The stream of the journal refuses a record of this size.", "Ask its operator to lift max_msg_size."),
    10077: ("The stream of the journal is full.", "Ask its operator to raise its limits with 'nats stream edit'."),
    10109: ("The stream of the journal is sealed.", "Ask its operator for a new one."),
}


class Refused(Exception):
    """Another record came first."""


class Appending:
    """
    Appends to one stream.

    Args:
        wire: The connection.
        asking: For what lies behind a sequence.
    """

    def __init__(self, wire: Wire, asking: Asking) -> None:
        self._wire = wire
        self._asking = asking

    async def append(self, subject: str, run_id: str, line: bytes, record_id: str, after: Tail, budget: float) -> int:
        """
        Store a record behind `after`, or nothing.

        Args:
            subject: The run's.
            run_id: For errors.
            line: The record.
            record_id: Its id.
            after: The end that must still be the last.
            budget: Seconds for all of it.

        Returns:
            Its sequence.

        Raises:
            Refused: another record came first.
            OutcomeUnknownError: sent, and the stream could not be asked in time.
            BackendUnavailableError: not stored.
            AccessDeniedError: the credentials may not write the run.
        """
        deadline = Deadline(budget)
        headers = {OPERATION: record_id, EXPECTED: str(after.place)}
        if after.id:
            headers[PREVIOUS] = after.id
        publishing = Publishing(
            self._wire,
            subject,
            line,
            headers,
            deadline,
            key=run_id,
            unreachable="The stream of the journal cannot be reached.",
        )
        while True:
            answer = await publishing.answer()
            if answer.error is None:
                return answer.seq
            if answer.error.is_conflict:
                landed = await self._settle(subject, run_id, record_id, after, deadline, publishing.may_have_landed)
                if landed is not None:
                    return landed
            elif _is_final(answer.error) and not publishing.may_have_landed:
                raise _refusal(answer.error)
            await publishing.pause()

    async def _settle(
        self, subject: str, run_id: str, record_id: str, after: Tail, deadline: Deadline, may_have_landed: bool
    ) -> int | None:
        """The sequence of our record; None says that nothing lies behind `after`, so that it can be sent again."""
        try:
            found = await self._asking.first_after(subject, after.place, deadline)
            if found is None and await self._is_lost(subject, after, deadline):
                raise Refused
        except BackendError:
            if may_have_landed:
                raise OutcomeUnknownError(run_id) from None
            raise
        if found is None:
            # A record in flight was in the way, and came to nothing.
            return None
        if found.operation != record_id:
            raise Refused
        return found.sequence

    async def _is_lost(self, subject: str, after: Tail, deadline: Deadline) -> bool:
        """Whether the record to follow is itself not there: the stream was made anew, or purged."""
        last: Message | None = await self._asking.last(subject, deadline)
        return (last.sequence if last is not None else 0) < after.place


def _is_final(error: translate.ApiError) -> bool:
    # A full stream is told with the code of a server that cannot serve just now.
    return error.err_code in _REFUSALS or not error.is_passing


def _refusal(error: translate.ApiError) -> BackendError:
    if error.err_code == translate.STREAM_NOT_FOUND:
        return gone()
    problem, remedy = _REFUSALS.get(
        error.err_code,
        (f"The server refused the record with code {error.err_code or error.code}.", "Ask its operator to look."),
    )
    return BackendUnavailableError(f"{problem} Nothing was written.", remedy)
