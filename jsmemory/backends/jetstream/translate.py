"""What JetStream answers, in the words of the contract."""

import re
from typing import Final

import msgspec

from jsmemory.backends.jetstream.messages import StoredMessage
from jsmemory.errors import BackendError, BackendUnavailableError, IncompleteListingError

WRONG_LAST_SEQUENCE: Final = 10071
WRONG_LAST_SEQUENCE_IN_FLIGHT: Final = 10164
DUPLICATE_IN_FLIGHT: Final = 10158
CONFLICTS: Final = frozenset({WRONG_LAST_SEQUENCE, WRONG_LAST_SEQUENCE_IN_FLIGHT, DUPLICATE_IN_FLIGHT})
"""All say that another write came first; the last two only on replicated buckets."""

MESSAGE_NOT_FOUND: Final = 10037
STREAM_NOT_FOUND: Final = 10059
CONSUMER_NOT_FOUND: Final = 10014
TOO_MANY_CONSUMERS: Final = 10026

_LAST_SEQUENCE: Final = re.compile(r"wrong last sequence: (\d+)")


class ApiError(msgspec.Struct, frozen=True):
    """The error of a JetStream answer."""

    code: int
    err_code: int = 0
    description: str = ""

    @property
    def is_conflict(self) -> bool:
        """Whether the write was refused because another one came first."""
        return self.err_code in CONFLICTS

    @property
    def last_sequence(self) -> int | None:
        """The sequence that a refused write should have expected, where the server names it."""
        match = _LAST_SEQUENCE.search(self.description)
        return int(match[1]) if match else None

    @property
    def is_passing(self) -> bool:
        """
        Whether the same request may succeed in a moment: no leader, or no quorum.

        A full bucket or disk comes with the same code, and does not pass by waiting.
        """
        return self.code == 503 and self.err_code not in _REFUSALS


class Answer(msgspec.Struct, frozen=True):
    """The parts of JetStream answers that the backend reads."""

    error: ApiError | None = None
    seq: int = 0
    message: StoredMessage | None = None


_ANSWER: Final = msgspec.json.Decoder(Answer)
_UNREADABLE: Final = Answer(error=ApiError(code=503, description="unreadable"))

NO_ROOM: Final = {
    10002: ("The account has taken up all of its storage.", "Ask its operator to raise max_file of the account."),
    10047: ("The server's storage for JetStream is full.", "Ask its operator to raise max_file_store."),
}
"""Refusals of an account and of a server, whatever the stream is for: the problem and the remedy, by code."""

_REFUSALS: Final = NO_ROOM | {
    10023: ("The server has no resources left for JetStream.", "Ask its operator to raise the limits."),
    10025: ("The server's JetStream storage is unavailable.", "Ask its operator to look at its disk."),
    TOO_MANY_CONSUMERS: (
        "The bucket lets in no more consumers: each live view keeps one, and to list or count entries takes one.",
        "Close live views, or ask its operator to raise max_consumers.",
    ),
    10054: ("The bucket refuses a value of this size.", "Ask its operator to raise its maximum value size."),
    10077: (
        "The bucket is full.",
        "Ask its operator to run 'jsmemory compact', or to raise its size as 'jsmemory doctor' says.",
    ),
    10109: ("The bucket is sealed.", "Ask its operator for a new one."),
    STREAM_NOT_FOUND: ("The bucket is gone.", "Ask its operator to make it again."),
}


def decode(data: bytes) -> Answer:
    """Read an answer; what is no answer counts as one from a server that cannot serve now."""
    try:
        return _ANSWER.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return _UNREADABLE


def refusal(error: ApiError, *, of_a_write: bool = False) -> BackendError:
    """
    The contract's error for a request that the server refused, and that waiting does not mend.

    Args:
        error: What the server said.
        of_a_write: Whether the message has to say that nothing was written.
    """
    problem, remedy = _REFUSALS.get(
        error.err_code,
        (f"The server refused the request with code {error.err_code or error.code}.", "Ask its operator to look."),
    )
    if error.err_code == TOO_MANY_CONSUMERS:
        return IncompleteListingError(problem, remedy)
    return BackendUnavailableError(f"{problem} Nothing was written." if of_a_write else problem, remedy)
