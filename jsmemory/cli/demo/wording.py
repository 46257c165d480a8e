"""What the parent and its workers say to each other, a JSON line each."""

from typing import Any, Final

import msgspec

HAND_OVER: Final = b"hand over\n"
"""Said to a worker: finish the file in hand, give out what you hold, and end."""

LINE_LIMIT: Final = 4 * 1024 * 1024
"""Bytes of a line: a thousand names, or a whole index, and room."""


class Inheritance(msgspec.Struct, frozen=True):
    """
    What a worker leaves to its successor.

    Attributes:
        scope: The snapshot of its scope.
        index: The index as it last knew it.
        last: The key of the file that it finished last; None where it finished none.
    """

    scope: dict[str, Any]
    index: str
    last: str | None


class Task(msgspec.Struct, frozen=True):
    """A file to keep a note on: the key, and its name in the folder (bytes travel as base64)."""

    key: str
    name: bytes


class Job(msgspec.Struct, frozen=True):
    """
    What a worker is started with.

    Attributes:
        server: Where to connect.
        bucket: Where to keep notes.
        identity: Under which name; all workers share one.
        folder: Where the files are.
        tasks: Its share of them.
        inheritance: From a predecessor that was asked to stop.
    """

    server: str
    bucket: str
    identity: str
    folder: bytes
    tasks: tuple[Task, ...]
    inheritance: Inheritance | None = None


class Began(msgspec.Struct, frozen=True, tag="began"):
    """A worker begins with a file."""

    key: str


class Kept(msgspec.Struct, frozen=True, tag="kept"):
    """A file's note and its line in the index are stored; what that took."""

    key: str
    writes: int
    conflicts: int


class Unreadable(msgspec.Struct, frozen=True, tag="unreadable"):
    """A file cannot be read any more."""

    key: str


class Resumed(msgspec.Struct, frozen=True, tag="resumed"):
    """
    A successor has used the authority that it inherited, before it read anything.

    Attributes:
        held: Whether it could replace the note that its predecessor wrote last.
        writes: What that and the index took.
        conflicts: Refused updates; the index may have been changed by others since.
    """

    held: bool
    writes: int
    conflicts: int


class HandedOver(msgspec.Struct, frozen=True, tag="handed_over"):
    """A worker has stopped as it was asked."""

    inheritance: Inheritance


class Finished(msgspec.Struct, frozen=True, tag="finished"):
    """A worker has kept all its files, and waits to be let go."""


class Failed(msgspec.Struct, frozen=True, tag="failed"):
    """A worker cannot go on."""

    code: str
    message: str


Event = Began | Kept | Unreadable | Resumed | HandedOver | Finished | Failed

decode_job: Final = msgspec.json.Decoder(Job).decode
decode_event: Final = msgspec.json.Decoder(Event).decode


def line_of(said: Job | Event) -> bytes:
    """One line."""
    return msgspec.json.encode(said) + b"\n"
