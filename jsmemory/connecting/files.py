"""Small files that an operator named: read at once, or refused; never waited for."""

import os
import stat
from typing import Final

from jsmemory.errors import InvalidOptionsError

MAX_FILE_BYTES: Final = 1024 * 1024
"""Far above any context, key or bundle of certificates, far below what would hurt to hold."""


def read_small_file(path: str, option: str) -> bytes:
    """
    The bytes of a regular file.

    Opened without blocking and looked at before it is read: a pipe that nobody writes to
    would stop the event loop for ever.

    Args:
        path: Where it is; ``~`` is the user's home.
        option: What named it, for the refusal; the path itself is never in a message.

    Raises:
        InvalidOptionsError: it is missing, unreadable, no regular file, or above 1 MiB.
    """
    try:
        handle = os.open(os.path.expanduser(path), os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)  # noqa: PTH111
        # Path.expanduser raises where there is no home; here the text stays and is not found.
    except FileNotFoundError:
        raise InvalidOptionsError(option, "names a file that does not exist", "Name an existing one.") from None
    except PermissionError:
        raise InvalidOptionsError(
            option, "names a file that may not be read", "Let this process's user read it."
        ) from None
    except (OSError, ValueError):
        raise InvalidOptionsError(option, "names nothing that can be opened", "Name a regular file.") from None
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise InvalidOptionsError(option, "names something that is no regular file", "Name a regular file.")
        data = _all_of(handle)
    except OSError:
        raise InvalidOptionsError(option, "names a file that cannot be read", "Name a readable one.") from None
    finally:
        os.close(handle)
    if len(data) > MAX_FILE_BYTES:
        raise InvalidOptionsError(option, "names a file above 1 MiB", "Name the right one; these files are small.")
    return data


def _all_of(handle: int) -> bytes:
    data = b""
    while len(data) <= MAX_FILE_BYTES and (more := os.read(handle, MAX_FILE_BYTES)):
        data += more
    return data
