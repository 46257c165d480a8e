"""Where the content of an entry comes from: a file, or standard input."""

import os
import select
import stat
import sys
from pathlib import Path
from typing import Final

from jsmemory import MAX_CONTENT_BYTES, EntryTooLargeError, InvalidEntryError
from jsmemory.cli.exits import ExitCode, Refused, UsageRefused

STANDARD_INPUT: Final = "-"
_READ_LIMIT: Final = 16 * 1024 * 1024
"""Far above what an entry holds: enough to say how much too long a content is."""

_GRACE_S: Final = 0.2


def content_of(source: str) -> str:
    """
    Read a content.

    Args:
        source: A path, or ``-`` for standard input.

    Raises:
        UsageRefused: there is nothing to read from.
        Refused: it is far too long.
        InvalidEntryError: it holds no UTF-8.
    """
    if source == STANDARD_INPUT:
        if sys.stdin is None:
            raise UsageRefused("Standard input is closed. Open it, or name a file: --content FILE.")
        data = sys.stdin.buffer.read(_READ_LIMIT + 1)
    else:
        try:
            with Path(source).open("rb") as file:
                data = file.read(_READ_LIMIT + 1)
        except FileNotFoundError:
            raise UsageRefused(f"There is no file {source}. Name one that exists, or - for standard input.") from None
        except (OSError, ValueError):
            raise UsageRefused(f"The file {source} cannot be read. Name another, or - for standard input.") from None
    if len(data) > _READ_LIMIT:
        # It was not read to its end, so that nobody knows its size.
        raise Refused(
            f"The content has more than {_READ_LIMIT} bytes and an entry holds {MAX_CONTENT_BYTES}. "
            "Shorten it, or split it over several keys.",
            ExitCode.REFUSED,
            EntryTooLargeError.code,
        )
    try:
        return data.decode()
    except UnicodeDecodeError as fault:
        raise InvalidEntryError(
            "content", f"is not UTF-8 at byte {fault.start}", "Convert it first, e.g. with iconv -t UTF-8."
        ) from None


def refuse_unread_input() -> None:
    """
    Refuse to leave aside what was piped in.

    Without ``--content`` an entry is empty, whatever runs the command: standard input is not
    read, since many a program leaves one open that never ends. But a text that stands ready
    there was meant to be stored.

    Raises:
        UsageRefused: something stands ready on standard input.
    """
    try:
        kind = os.fstat(0).st_mode
        if stat.S_ISREG(kind):
            is_waiting = os.fstat(0).st_size > os.lseek(0, 0, os.SEEK_CUR)
        elif stat.S_ISFIFO(kind):
            is_waiting = _has_bytes()
        else:
            return
    except OSError:
        return
    if is_waiting:
        raise UsageRefused("There is text on standard input. Store it with --content -, or give </dev/null.")


def _has_bytes() -> bool:
    # An empty pipe that nobody writes to any more is a hang-up without anything to read.
    poller = select.poll()
    poller.register(0, select.POLLIN)
    return any(event & select.POLLIN for _, event in poller.poll(_GRACE_S * 1000))
