"""Standard output, line by line, to a reader who may be slow, without a write that nobody could stop."""

import json
import os
import select
import sys
from typing import Any, Final

from jsmemory.cli.readiness import writable
from jsmemory.cli.screen import OutputLost

_PIECE: Final = select.PIPE_BUF
# Bytes that a pipe which says that it can be written to takes without a wait.


async def put_line(document: dict[str, Any]) -> None:
    """Write one JSON document on one line, in ASCII; waits, and raises, as `put_text` does."""
    await put_text(json.dumps(document) + "\n")


async def put_text(text: str) -> None:
    """
    Write text in UTF-8.

    A wait for a reader ends with a cancellation: in a write that blocks, the process would heed
    neither SIGTERM nor Ctrl-C, and what it has under way could not be left.

    Raises:
        OutputLost: it cannot be written.
    """
    rest = memoryview(text.encode(errors="backslashreplace"))
    try:
        file = sys.stdout.fileno()
        while rest:
            await writable(file)
            try:
                rest = rest[os.write(file, rest[:_PIECE]) :]
            except BlockingIOError:
                # Another process writes here as well, and was quicker.
                continue
    except OSError as cause:
        raise OutputLost(cause) from None
