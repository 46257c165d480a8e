"""
One writer at a time, across threads and processes.

An advisory lock of the kernel on a file: it ends with its holder, however the holder ends,
so a dead process blocks nobody. A directory is locked by a file in it, which is reached
through the open directory, never through a path: who holds the lock holds it of the directory
at hand, not of one that was put in its place.
"""

import errno
import fcntl
import os
import random
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from typing import Final

from jsmemory.backends.file.translate import DENIED
from jsmemory.errors import BackendError, BackendUnavailableError, IncompleteListingError

LOCK: Final = ".lock"
"""The name of the lock's file. It holds nothing, and stays."""

PATIENCE: Final = 10.0
"""Seconds to wait for the lock. A holder needs milliseconds; ten seconds mean that one hangs."""

_FLAGS: Final = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_BUSY: Final = frozenset({errno.EWOULDBLOCK, errno.EAGAIN, errno.EACCES, errno.EINTR})
_PAUSE: Final = (0.001, 0.005)
# Seconds between two tries. Drawn anew each time, so that waiters do not march in step.

_open_locks: set[int] = set()


def _forget_in_child() -> None:
    # A forked child shares the locks that its parent held at that moment, and would keep them
    # after the parent's death. Closing the copies leaves the parent's own hold as it is.
    for file in _open_locks:
        os.close(file)
    _open_locks.clear()


os.register_at_fork(after_in_child=_forget_in_child)


def locked(directory: int, *, waiting: Callable[[], None], shared: bool = False) -> AbstractContextManager[int | None]:
    """
    Hold the lock of an open directory.

    Args:
        directory: The open directory.
        waiting: Called between tries; it may raise to give up.
        shared: Hold it together with others who share it, against writers only: for a listing.

    Raises:
        BackendUnavailableError: somebody held it for ten seconds, or it is no file that can be locked.
        IncompleteListingError: somebody held it for ten seconds, and it was to be shared.
        OSError: the lock file is missing and may not be made.
    """
    too_long = IncompleteListingError if shared else _hangs
    return held(partial(_open, directory), waiting=waiting, too_long=too_long, shared=shared)


@contextmanager
def held(
    opening: Callable[[], int | None],
    *,
    waiting: Callable[[], None],
    too_long: Callable[[], BackendError],
    shared: bool = False,
) -> Iterator[int | None]:
    """
    Hold the lock of a file, and give its descriptor.

    Args:
        opening: Opens the file; asked again where the file was removed before it was locked.
            Where it gives None there is nothing to hold.
        waiting: Called between tries; it may raise to give up.
        too_long: What to raise when somebody held it for ten seconds.
        shared: Hold it together with others who share it.
    """
    file = _acquire(opening, fcntl.LOCK_SH if shared else fcntl.LOCK_EX, waiting, too_long)
    try:
        yield file
    finally:
        if file is not None:
            _release(file)


def _acquire(
    opening: Callable[[], int | None], kind: int, waiting: Callable[[], None], too_long: Callable[[], BackendError]
) -> int | None:
    deadline = time.monotonic() + PATIENCE
    while (file := opening()) is not None:
        _open_locks.add(file)
        try:
            while not _try(file, kind):
                if time.monotonic() > deadline:
                    raise too_long()
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


def _try(file: int, kind: int) -> bool:
    try:
        fcntl.flock(file, kind | fcntl.LOCK_NB)
    except OSError as refusal:
        if refusal.errno in _BUSY:
            return False
        raise
    return True


def _release(file: int) -> None:
    _open_locks.discard(file)
    try:
        # Before the close: a child of a fork may hold a copy, and closing ends only the last one.
        fcntl.flock(file, fcntl.LOCK_UN)
    finally:
        os.close(file)


def _hangs() -> BackendError:
    return BackendUnavailableError("Another writer holds the memory directory and does not let go.")


def _open(directory: int) -> int:
    try:
        file = os.open(LOCK, os.O_RDWR | os.O_CREAT | _FLAGS, 0o666, dir_fd=directory)
    except OSError as refusal:
        if refusal.errno in {errno.ELOOP, errno.EISDIR, errno.ENXIO}:
            file = -1
        elif refusal.errno in DENIED:
            file = _open_as_it_is(directory, refusal)
        else:
            raise
    if file >= 0 and stat.S_ISREG(os.fstat(file).st_mode):
        return file
    if file >= 0:
        os.close(file)
    raise BackendUnavailableError(
        "The lock file of the memory directory is no regular file.", "Ask its operator to remove it, then try again."
    )


def _open_as_it_is(directory: int, refusal: OSError) -> int:
    # Another account's lock file, or a directory for reading only: what can be opened can be locked.
    try:
        return os.open(LOCK, os.O_RDONLY | _FLAGS, dir_fd=directory)
    except FileNotFoundError:
        pass
    raise refusal
