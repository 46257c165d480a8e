"""
What the parent and its workers say to each other, a JSON line each.

Between two processes of one run nothing is said by way of the parent: what the first leaves to
the second is in the journal.
"""

from typing import Final, Literal

import msgspec

SUSPEND: Final = b"suspend\n"
"""Said to a worker: finish the file in hand, and suspend the run."""

COMPLETE: Final = b"complete\n"
"""Said to a worker that has finished: leave the run, and end."""

LINE_LIMIT: Final = 4 * 1024 * 1024
"""Bytes of a line: a thousand names, and room."""


Beginning = Literal["start", "resume", "take over"]
"""How a worker comes by its run: new; suspended by another process; from one that was killed at work."""


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
        stream: Of the journal.
        identity: Under which name; all workers share one.
        folder: Where the files are.
        tasks: The run's share of them.
        run_id: Its run.
        beginning: How it comes by it.
    """

    server: str
    bucket: str
    stream: str
    identity: str
    folder: bytes
    tasks: tuple[Task, ...] = ()
    run_id: str = ""
    beginning: Beginning = "start"


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
    A worker has used the authority of the run that it resumed, before it read anything.

    Attributes:
        held: Whether the journal says where the run stood, and it could replace the note that
            it had written last.
        writes: What that and the index took.
        conflicts: Refused updates; the index may have been changed by others since.
    """

    held: bool
    writes: int
    conflicts: int


class Finished(msgspec.Struct, frozen=True, tag="finished"):
    """A worker has kept all its files, and waits to be told what becomes of the run."""


class Suspended(msgspec.Struct, frozen=True, tag="suspended"):
    """A worker has suspended its run, and waits to be killed."""


class Completed(msgspec.Struct, frozen=True, tag="completed"):
    """A worker has completed its run."""


class Failed(msgspec.Struct, frozen=True, tag="failed"):
    """A worker cannot go on."""

    code: str
    message: str


Event = Began | Kept | Unreadable | Resumed | Finished | Suspended | Completed | Failed

decode_job: Final = msgspec.json.Decoder(Job).decode
decode_event: Final = msgspec.json.Decoder(Event).decode


def line_of(said: Job | Event) -> bytes:
    """One line."""
    return msgspec.json.encode(said) + b"\n"
