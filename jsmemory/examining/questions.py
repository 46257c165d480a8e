"""Questions to the JetStream API that take every kind of silence for an answer."""

from dataclasses import dataclass
from enum import Enum, auto
from typing import Any, Final, TypeVar

import msgspec

from jsmemory.backends.jetstream import translate
from jsmemory.backends.jetstream.wire import Denied, NotAnswered, NotDelivered, Wire

_T = TypeVar("_T")

_TRIES: Final = 2
# A server that elects a leader just now answers the second one.


class Silence(Enum):
    """Why there is no answer."""

    DENIED = auto()
    NOBODY = auto()
    """Nobody serves the subject."""
    LATE = auto()
    """It was sent, and no answer came in time."""
    UNREADABLE = auto()


@dataclass(frozen=True, slots=True)
class Questions:
    """
    Asks once or twice, and never raises because of what comes back.

    Args:
        wire: The connection.
        patience: Seconds for one answer.
    """

    wire: Wire
    patience: float

    async def raw(self, operation: str, asked: object = None) -> bytes | Silence:
        """
        The answer to an API operation, which may be an error.

        Args:
            operation: What follows the API's prefix.
            asked: What is sent along, as JSON.
        """
        return await self.at(self.wire.api_subject(operation), b"" if asked is None else msgspec.json.encode(asked))

    async def at(self, subject: str, payload: bytes, headers: dict[str, str] | None = None) -> bytes | Silence:
        """The answer to a request on a subject."""
        silence = Silence.LATE
        for _ in range(_TRIES):
            try:
                answer = await self.wire.request(subject, payload, timeout=self.patience, headers=headers)
            except Denied:
                return Silence.DENIED
            except NotDelivered:
                silence = Silence.NOBODY
            except NotAnswered:
                silence = Silence.LATE
            else:
                return answer.data
        return silence

    async def ask(self, operation: str, into: type[_T], asked: object = None) -> _T | translate.ApiError | Silence:
        """The answer to an API operation, read; an error of the API, or why there is none."""
        return read(await self.raw(operation, asked), into)


def read(raw: bytes | Silence, into: type[_T]) -> _T | translate.ApiError | Silence:
    """What an answer says, an error of the API in it, or why there is none."""
    if isinstance(raw, Silence):
        return raw
    error = translate.decode(raw).error
    if error is not None:
        return error if error.err_code else Silence.UNREADABLE
    try:
        answer: Any = msgspec.json.decode(raw, type=into)
    except msgspec.DecodeError:
        return Silence.UNREADABLE
    return answer  # type: ignore[no-any-return]
