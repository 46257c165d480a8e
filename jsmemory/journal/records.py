"""
What a journal is made of: one record, one line of JSON.

A run begins with ``meta``. A ``terminal`` record ends it, or suspends it; a ``claim`` takes
it up again. ``memory_revisions`` holds what the run may overwrite. ``host`` records are the
host's own: a conversation, a plan, whatever it needs to go on. A record of another kind
that calls itself optional may be passed over by who does not know it.
"""

import math
import secrets
import time
from typing import Any, Final, Literal

import msgspec

from jsmemory.errors import InvalidRecordError

META: Final = "meta"
HOST: Final = "host"
CLAIM: Final = "claim"
TERMINAL: Final = "terminal"
MEMORY_REVISIONS: Final = "memory_revisions"

JOURNAL_VERSION: Final = 1

MAX_RECORD_BYTES: Final = 1_000_000
"""Bytes of a record: with its headers it fits the megabyte that a server takes by default."""

MAX_NAME_LENGTH: Final = 200

UNREADABLE: Final = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""What decoding raises where others wrote what it should not find; data can be nested without end."""

Outcome = Literal["suspended", "cancelled", "failed", "completed"]
"""How a process left a run; all but the last can be gone on with."""

Status = Literal["running", "suspended", "cancelled", "failed", "completed"]
"""What a run is doing: it runs, as far as its journal knows, or it was left."""


class Record(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """
    One record.

    Attributes:
        kind: What it says; see the constants of this module.
        name: The host's word for a record of its own; ``""`` in all others.
        optional: Whether who does not know the kind may pass it over.
        at: When it was written, in seconds since 1970.
        data: What it holds, as JSON.
        id: Tells this write from every other: how a lost acknowledgement is settled.
    """

    kind: str
    name: str = ""
    optional: bool = False
    at: float
    data: msgspec.Raw
    id: str
    # The id comes last, so that a file can be asked for it without being decoded.


class Revisions(msgspec.Struct, frozen=True):
    """
    The data of a ``memory_revisions`` record.

    Attributes:
        scope: A snapshot of the scope.
        status: What the run was doing after it was written; None where the writer did not say.
    """

    scope: Any = None
    status: Status | None = None


class Left(msgspec.Struct, frozen=True):
    """
    The data of a ``terminal`` record.

    Attributes:
        outcome: How the process left the run.
        reason: The code of the error that ended it, ``""`` where there was none or it had no code.
    """

    outcome: Outcome
    reason: str = ""


class Meta(msgspec.Struct, frozen=True, kw_only=True):
    """
    The data of a ``meta`` record.

    Attributes:
        run_id: The name of the run.
        version: Of the journal's format.
        about: What the host wanted kept of the start: plain data.
    """

    run_id: str
    version: int
    about: msgspec.Raw = msgspec.Raw(b"null")


_ENCODER: Final = msgspec.json.Encoder()
_DECODER: Final = msgspec.json.Decoder(Record)


def meta(run_id: str, about: object = None) -> Record:
    """The first record of a run; `about` is plain data of the host's."""
    return _record(META, Meta(run_id=run_id, version=JOURNAL_VERSION, about=_kept(about)))


def claim() -> Record:
    """A run is taken up again."""
    return _record(CLAIM, {})


def terminal(outcome: Outcome, reason: str = "") -> Record:
    """A process leaves a run."""
    return _record(TERMINAL, Left(outcome, reason))


def memory_revisions(snapshot: object, status: Status) -> Record:
    """What the run may overwrite. Optional: who does not know it goes on without authority."""
    return _record(MEMORY_REVISIONS, Revisions(snapshot, status), optional=True)


def host(name: str, data: object) -> Record:
    """
    A record of the host's own.

    Args:
        name: The host's word for it, 1 to 200 characters.
        data: Plain data that JSON carries.

    Raises:
        InvalidRecordError: it would not come back as it is, or is over 1,000,000 bytes.
    """
    if not 0 < len(name) <= MAX_NAME_LENGTH:
        raise InvalidRecordError("has no name that fits", f"Give it one of 1 to {MAX_NAME_LENGTH} characters.")
    return _record(HOST, _kept(data), name=name)


def encode(record: Record) -> bytes:
    """
    One line of JSON, without its end.

    Raises:
        InvalidRecordError: it is over 1,000,000 bytes, or holds half of a surrogate pair.
    """
    try:
        line = _ENCODER.encode(record)
    except UnicodeEncodeError:
        raise _not_json() from None
    if len(line) > MAX_RECORD_BYTES:
        raise InvalidRecordError(
            f"has {len(line)} bytes and may have {MAX_RECORD_BYTES}", "Split it, or keep the large part elsewhere."
        )
    return line


def decode(line: bytes) -> Record:
    """
    Read a line.

    Raises:
        UNREADABLE: it is no record.
    """
    return _DECODER.decode(line)


def _record(kind: str, data: object, *, name: str = "", optional: bool = False) -> Record:
    return Record(
        kind=kind,
        name=name,
        optional=optional,
        at=round(time.time(), 3),
        data=_raw(data),
        # Drawn from what nobody can guess: a foreign record must not pass for one of ours.
        id=secrets.token_urlsafe(16),
    )


def _kept(data: object) -> msgspec.Raw:
    """A host's own data as JSON that every reader gets back, and that is one line."""
    raw = _raw(data)
    text = bytes(raw)
    try:
        msgspec.json.decode(_ROOM_BEFORE + text + _ROOM_BEHIND)
        is_kept = b"\n" not in text and not (b"null" in text and _has_no_number(data))
    except UNREADABLE:
        is_kept = False
    if not is_kept:
        raise _not_json()
    return raw


_ROOM: Final = 400
_ROOM_BEFORE: Final = b"[" * _ROOM + b"0,"
_ROOM_BEHIND: Final = b"]" * _ROOM
# How deep data may be nested depends on how deep in its stack a process is. A reader may be
# deeper in it than the writer was, and must not find a run that nobody can read any more.


def _has_no_number(data: object) -> bool:
    """Whether a number in `data` is none: JSON has no word for it, and it would come back as null."""
    match data:
        case float():
            return not math.isfinite(data)
        case dict():
            return any(map(_has_no_number, data.values()))
        case list() | tuple():
            return any(map(_has_no_number, data))
    return False


def _raw(data: object) -> msgspec.Raw:
    try:
        return msgspec.Raw(_ENCODER.encode(data))
    except (TypeError, ValueError, RecursionError, OverflowError):
        raise _not_json() from None


def _not_json() -> InvalidRecordError:
    return InvalidRecordError(
        "cannot be written as JSON that everybody reads back",
        "Give plain data: texts, finite numbers, lists and mappings, some hundred levels deep at most.",
    )
