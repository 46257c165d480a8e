"""
What goes out: data to standard output, talk to standard error.

Stored text comes from models and from strangers. A terminal obeys what is in it, so nothing
reaches one before its control characters have been made visible.
"""

import json
import re
import select
import sys
from typing import Any, Final

from rich.console import Console
from rich.table import Table

_CONTROLS: Final = re.compile(
    # C0 save tab and newline, DEL and C1; marks, embeddings, overrides and isolates of
    # writing direction; the separators that end a line; invisible tags and the like.
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u206f\ufeff\ufff9-\ufffb\U000e0000-\U000e0fff]"
)

_NO_TERMINAL_WIDTH: Final = 120


class OutputLost(Exception):
    """
    The output cannot be written any further.

    Attributes:
        is_closed: Whether that is because its reader has gone, which is no fault of anybody.
    """

    def __init__(self, cause: OSError) -> None:
        super().__init__()
        self.is_closed = isinstance(cause, BrokenPipeError)


def harmless(text: str) -> str:
    """`text` with every character that a terminal would obey, or that would hide something, written out."""
    return _CONTROLS.sub(lambda match: match[0].encode("unicode_escape").decode(), text)


def one_line(text: str) -> str:
    """`text` harmless and on one line."""
    return " ".join(harmless(text).split())


def is_terminal() -> bool:
    """Whether a person sees standard output."""
    return sys.stdout.isatty()


def takes_more() -> bool:
    """Whether standard output takes something at once, or says at once that it cannot."""
    try:
        return bool(select.select([], [sys.stdout], [], 0)[1])
    except (OSError, ValueError):
        return True


def put_bytes(data: bytes) -> None:
    """
    Write data, as it is.

    Raises:
        OutputLost: it cannot be written.
    """
    try:
        sys.stdout.flush()
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
    except OSError as cause:
        raise OutputLost(cause) from None


def put(text: str) -> None:
    """Write text in UTF-8; raises as `put_bytes` does."""
    put_bytes(text.encode(errors="backslashreplace"))


def put_json(document: dict[str, Any]) -> None:
    """Write one JSON document on one line, in ASCII: exact, and harmless on any terminal."""
    put(json.dumps(document) + "\n")


def talk(text: str) -> None:
    """Say one line to whoever runs the command, harmless."""
    # Without a standard error, or a reader of it, there is nobody to tell.
    try:
        sys.stderr.write(harmless(text).replace("\n", "\\n") + "\n")
        sys.stderr.flush()
    except (OSError, ValueError, UnicodeError):
        return


def talking_console() -> Console:
    """Where progress is shown: standard error, and only if a person sees it."""
    return Console(stderr=True, markup=False, highlight=False, emoji=False)


def draw(table: Table) -> None:
    """Draw a table on standard output; raises as `put_bytes` does."""
    console = Console(markup=False, highlight=False, emoji=False)
    if not console.is_terminal:
        # A file has no width: no line is to be broken for the sake of one.
        console.width = _NO_TERMINAL_WIDTH
    try:
        console.print(table)
        sys.stdout.flush()
    except OSError as cause:
        raise OutputLost(cause) from None
