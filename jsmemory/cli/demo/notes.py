"""A note on a file: its hash, its measures and its first lines."""

import codecs
import hashlib
import os
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Final

READ_LIMIT: Final = 256 * 1024
"""Bytes that are read of a file; a huge one is known by its beginning."""

_LINES: Final = 20
_LINE_LENGTH: Final = 200
_HASH: Final = "sha256 "


class NotReadable(Exception):
    """The file is gone, or may not be read."""


class NotText(Exception):
    """The file holds no UTF-8 text."""


@dataclass(frozen=True, slots=True)
class Note:
    """
    What is stored about a file.

    Attributes:
        digest: The SHA-256 of what was read, in hexadecimal.
        description: One line: the name, and how the file begins.
        content: The digest, the measures, and the first lines.
    """

    digest: str
    description: str
    content: str


def note_of(folder: Path, name: Path) -> Note:
    """
    Read a file, and make the note on it.

    Opened without blocking and looked at first: a pipe that has taken the file's place would
    stop the demo for ever.

    Args:
        folder: Where it is.
        name: Its path in there, and what the note calls it.

    Raises:
        NotReadable: it cannot be read, or is no regular file.
        NotText: it holds a zero byte, or is not UTF-8.
    """
    try:
        handle = os.open(folder / name, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
        with os.fdopen(handle, "rb") as file:
            if not stat.S_ISREG(os.fstat(handle).st_mode):
                raise NotReadable
            data = file.read(READ_LIMIT)
            is_whole = not file.read(1)
    except OSError:
        raise NotReadable from None
    lines = _text(data, is_whole=is_whole).splitlines()
    digest = hashlib.sha256(data).hexdigest()
    first = next((line.strip() for line in lines if line.strip()), "empty")
    shown = "\n".join(line[:_LINE_LENGTH] for line in lines[:_LINES])
    # A name that is no text is shown with marks where it is not.
    called = os.fsencode(name).decode(errors="replace")
    measures = f"{len(data)} bytes{'' if is_whole else ' read'}, {len(lines)} lines"
    return Note(digest, f"{called}: {first[:_LINE_LENGTH]}", f"{_HASH}{digest}\n{measures}\n\n{shown}\n")


def digest_in(content: str) -> str | None:
    """The digest that a note holds; None where it is no note."""
    first = content.partition("\n")[0]
    return first.removeprefix(_HASH) if first.startswith(_HASH) else None


def _text(data: bytes, *, is_whole: bool) -> str:
    if b"\0" in data:
        raise NotText
    try:
        # A character that the limit has cut in two is no fault of the file.
        return codecs.getincrementaldecoder("utf-8")().decode(data, final=is_whole)
    except UnicodeDecodeError:
        raise NotText from None
