"""The file that a server's output goes to."""

import os
from pathlib import Path
from typing import BinaryIO, Final

from jsmemory.errors import InvalidOptionsError

NAME: Final = "server.log"

_FLAGS: Final = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NONBLOCK | os.O_CLOEXEC
# A pipe in its place is not waited for.


def opened_log(folder: Path) -> BinaryIO:
    """
    Open it for what comes next; what is in it stays.

    Raises:
        InvalidOptionsError: it cannot be written.
    """
    try:
        return os.fdopen(os.open(folder / NAME, _FLAGS, 0o666), "ab")
    except OSError:
        raise InvalidOptionsError(
            "folder", f"takes no {NAME} of {folder.name}", "Make room, or remove what is in its place."
        ) from None
