"""
Opening the file of a run: a regular one, and locked by whoever writes.

The lock is on the file itself, held for one append. Whoever can write to the directory can
put a pipe, a device or a link under the name of a run: none of them is opened, waited on or
followed.
"""

import errno
import os
import stat
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial
from typing import Final

from jsmemory.backends.file.locking import held
from jsmemory.errors import BackendError, BackendUnavailableError

SUFFIX: Final = ".jsonl"

_SAFE: Final = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_NOT_REGULAR: Final = frozenset({errno.ELOOP, errno.ENXIO, errno.ENODEV, errno.EISDIR, errno.EOPNOTSUPP})


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


def locked(directory: int, name: str, *, make: bool, waiting: Callable[[], None]) -> AbstractContextManager[int | None]:
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
    flags = os.O_RDWR | (os.O_CREAT if make else 0)
    return held(partial(_open, directory, name, flags), waiting=waiting, too_long=_hangs)


def _hangs() -> BackendError:
    return BackendUnavailableError("Another writer holds the journal of this run and does not let go.")


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
    raise taken()


def taken() -> BackendError:
    """What has the name of a run was written by no run, and is left as it is."""
    return BackendUnavailableError(
        "The name of this run is taken in the directory of the journal by something that is no journal.",
        "Ask its operator to move it away, or choose another name.",
    )
