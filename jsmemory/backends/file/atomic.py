"""
Putting bytes under a name all at once, so that they are still there after a power cut.

A value is written to a staged file beside its name, forced to the disk, and only then given
the name; after that the directory is forced to the disk too. A reader, and whoever comes
after a crash, finds the old value or the new one. All of this is done under the lock.
"""

import errno
import os
import secrets
from collections.abc import Iterable
from contextlib import suppress
from typing import Final

from jsmemory.backends.file.regular import is_there
from jsmemory.errors import OutcomeUnknownError

STAGED: Final = ".tmp-"
"""How the name of a staged file begins. No key does: a key has no leading dot."""

_NO_LINKS: Final = frozenset(
    {errno.EPERM, errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOTSUP, errno.EMLINK, errno.EXDEV, errno.EINVAL}
)
_NO_DIRECTORY_SYNC: Final = frozenset({errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOTSUP, errno.EBADF})


def put_new(directory: int, name: str, value: bytes) -> bool:
    """Give `value` a name that nothing has; False where something has it, whatever it is."""
    staged = _stage(directory, value, mode=None)
    try:
        named = _name_new(directory, staged, name)
    except BaseException:
        discard(directory, [staged])
        raise
    if not named:
        discard(directory, [staged])
    return named


def put_over(directory: int, name: str, value: bytes, *, mode: int) -> None:
    """Give `value` a name in the place of the file that has it, with the permission bits `mode`."""
    staged = _stage(directory, value, mode=mode)
    try:
        os.replace(staged, name, src_dir_fd=directory, dst_dir_fd=directory)
    except BaseException:
        discard(directory, [staged])
        raise


def settle(directory: int) -> None:
    """Force the names in `directory` to the disk, where its file system can do that at all."""
    try:
        os.fsync(directory)
    except OSError as refusal:
        if refusal.errno not in _NO_DIRECTORY_SYNC:
            raise


def settle_write(directory: int, key: str) -> None:
    """
    Force the name of what was just written to the disk.

    Raises:
        OutcomeUnknownError: the write can be seen, but nobody knows whether it would outlast a power cut.
    """
    try:
        settle(directory)
    except OSError:
        pass
    else:
        return
    raise OutcomeUnknownError(key)


def discard(directory: int, staged: Iterable[str]) -> None:
    """
    Remove staged files.

    Under the lock every staged file that is found belongs to a writer that died. One that cannot
    be removed is left to the next writer: it is no entry, and does no harm.
    """
    for name in staged:
        with suppress(OSError):
            os.unlink(name, dir_fd=directory)


def _stage(directory: int, value: bytes, *, mode: int | None) -> str:
    name = STAGED + secrets.token_hex(8)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    file = os.open(name, flags, 0o666, dir_fd=directory)
    # 0o666 is what the umask, the operator's word on who may read, is applied to.
    try:
        try:
            if mode is not None:
                os.fchmod(file, mode)
            rest = memoryview(value)
            while rest:
                rest = rest[os.write(file, rest) :]
            os.fsync(file)
        finally:
            os.close(file)
    except BaseException:
        discard(directory, [name])
        raise
    return name


def _name_new(directory: int, staged: str, name: str) -> bool:
    try:
        os.link(staged, name, src_dir_fd=directory, dst_dir_fd=directory, follow_symlinks=False)
    except FileExistsError:
        return False
    except OSError as refusal:
        if refusal.errno not in _NO_LINKS:
            raise
    else:
        discard(directory, [staged])
        return True
    # No hard links here. A rename would replace what has the name, but under the lock no other
    # writer can give it to anything between the look and the rename.
    if is_there(directory, name):
        return False
    os.rename(staged, name, src_dir_fd=directory, dst_dir_fd=directory)
    return True
