"""
Reading a name only if a regular file lies under it.

Whoever can write to the directory can put a pipe, a device, a socket or a link there. None
of them is ever opened, waited on or followed: they are as if absent.
"""

import errno
import os
import stat
from dataclasses import dataclass, field
from typing import Final

from jsmemory.errors import AccessDeniedError, EntryTooLargeError
from jsmemory.limits import MAX_READ_BYTES

_FLAGS: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
# O_NOFOLLOW and O_NONBLOCK are for what takes the file's place between the look and the open.

_NOT_REGULAR: Final = frozenset({errno.ENOENT, errno.ELOOP, errno.ENXIO, errno.ENODEV, errno.EISDIR, errno.EOPNOTSUPP})

_BLOCK: Final = 256 * 1024
# More than an entry of ours can have: one call reads it, one more finds the end.


@dataclass(frozen=True, slots=True)
class Content:
    """The bytes of a regular file, and its permission bits."""

    value: bytes = field(repr=False)
    mode: int


def is_regular(directory: int, name: str) -> bool:
    """Whether `name` is a regular file in the open `directory`; opens nothing."""
    try:
        return stat.S_ISREG(os.stat(name, dir_fd=directory, follow_symlinks=False).st_mode)
    except FileNotFoundError:
        return False


def is_there(directory: int, name: str) -> bool:
    """Whether `name` stands for anything at all in the open `directory`; follows no link."""
    try:
        os.stat(name, dir_fd=directory, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return True


def read(directory: int, name: str, *, at_most: int | None = None) -> Content | None:
    """
    Read a regular file.

    Args:
        directory: An open directory.
        name: A name in it.
        at_most: Bytes after which to stop; None for the whole file, of which there is a largest.

    Returns:
        The content; None where there is nothing, or something that is no regular file.

    Raises:
        AccessDeniedError: there is a file, and this process may not read it.
        EntryTooLargeError: the whole file was asked for, and is longer than anything that is read.
    """
    if not is_regular(directory, name):
        return None
    try:
        file = os.open(name, _FLAGS, dir_fd=directory)
    except PermissionError:
        file = None
    except OSError as refusal:
        if refusal.errno in _NOT_REGULAR:
            return None
        raise
    if file is None:
        raise AccessDeniedError("read the file of this entry in the memory directory")
    try:
        status = os.fstat(file)
        if not stat.S_ISREG(status.st_mode):
            return None
        value = _whole(file, status.st_size) if at_most is None else _drain(file, at_most)
        return Content(value, stat.S_IMODE(status.st_mode))
    finally:
        os.close(file)


def _whole(file: int, size: int) -> bytes:
    # The size was looked at before; the file may grow while it is read.
    value = b"" if size > MAX_READ_BYTES else _drain(file, MAX_READ_BYTES + 1)
    if (known := max(size, len(value))) > MAX_READ_BYTES:
        raise EntryTooLargeError(known, MAX_READ_BYTES)
    return value


def _drain(file: int, at_most: int) -> bytes:
    blocks = []
    left = at_most
    while left > 0 and (block := os.read(file, min(left, _BLOCK))):
        blocks.append(block)
        left -= len(block)
    return b"".join(blocks)
