"""
Opening the file of a run: a regular one, and locked by whoever writes.

The lock is the kernel's, on the file itself, held for one append. It ends with its holder,
however the holder ends. Whoever can write to the directory can put a pipe, a device or a
link under the name of a run: none of them is opened, waited on or followed.
"""

import errno
import fcntl
import os
import random
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from jsmemory.errors import BackendUnavailableError

SUFFIX: Final = ".jsonl"

PATIENCE: Final = 10.0
"""Seconds to wait for the lock. A holder needs milliseconds; ten seconds mean that one hangs."""

_SAFE: Final = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_BUSY: Final = frozenset({errno.EWOULDBLOCK, errno.EAGAIN, errno.EACCES, errno.EINTR})
_NOT_REGULAR: Final = frozenset({errno.ELOOP, errno.ENXIO, errno.ENODEV, errno.EISDIR, errno.EOPNOTSUPP})
_PAUSE: Final = (0.001, 0.005)


def name_of(run_id: str) -> str:
    """The name of a run's file."""
    return run_id + SUFFIX


def open_to_read(directory: int, name: str) -> int | None:
    """
    A descriptor of a regular file; None where nothing has the name.

    Raises:
        BackendUnavailableError: something else than a regular file has it.
    """
    return _open(directory, name, os.O_RDONLY)


@contextmanager
def locked(directory: int, name: str, *, make: bool, waiting: Callable[[], None]) -> Iterator[int | None]:
    """
    Hold the file of a run against every other writer.

    Args:
        directory: The open directory.
        name: The file's name in it.
        make: Make the file where there is none; without, None is given then.
        waiting: Called between tries; it may raise to give up.

    Raises:
        BackendUnavailableError: somebody held it for ten seconds, or it is no regular file.
    """
    file = _acquire(directory, name, os.O_RDWR | (os.O_CREAT if make else 0), waiting)
    try:
        yield file
    finally:
        if file is not None:
            _release(file)


def _acquire(directory: int, name: str, flags: int, waiting: Callable[[], None]) -> int | None:
    deadline = time.monotonic() + PATIENCE
    while (file := _open(directory, name, flags)) is not None:
        try:
            while not _try(file):
                if time.monotonic() > deadline:
                    raise BackendUnavailableError("Another writer holds the journal of this run and does not let go.")
                time.sleep(random.uniform(*_PAUSE))  # noqa: S311 - a pause is no secret
                waiting()
            if os.fstat(file).st_nlink:
                return file
        except BaseException:
            _release(file)
            raise
        # Somebody removed the file while we waited: others lock its successor.
        _release(file)
    return None


def _try(file: int) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as refusal:
        if refusal.errno in _BUSY:
            return False
        raise
    return True


def _release(file: int) -> None:
    try:
        # Before the close: a child of a fork may hold a copy, and closing ends only the last one.
        fcntl.flock(file, fcntl.LOCK_UN)
    finally:
        os.close(file)


def _open(directory: int, name: str, flags: int) -> int | None:
    try:
        # A look first: opening a pipe or a device is an act of its own.
        regular = stat.S_ISREG(os.stat(name, dir_fd=directory, follow_symlinks=False).st_mode)
    except FileNotFoundError:
        if not flags & os.O_CREAT:
            return None
        regular = True
    file = None
    if regular:
        try:
            # For its owner only, until an operator says otherwise: a journal holds conversations.
            file = os.open(name, flags | _SAFE, 0o600, dir_fd=directory)
        except FileNotFoundError:
            return None
        except OSError as refusal:
            if refusal.errno not in _NOT_REGULAR:
                raise
    if file is not None:
        if stat.S_ISREG(os.fstat(file).st_mode):
            return file
        os.close(file)
    raise BackendUnavailableError(
        "The name of this run is taken in the directory of the journal by something that is no journal.",
        "Ask its operator to move it away, or choose another name.",
    )
