"""
What the operating system says, in the words of the journal.

Its own text names the path on the host, so nothing of it is passed on, neither as words nor
as the cause or the context of an exception.
"""

import errno
from collections.abc import Callable
from typing import Final, TypeVar

from jsmemory.errors import AccessDeniedError, BackendUnavailableError, InvalidKeyError, JsMemoryError

T = TypeVar("T")

OPENING: Final = "make and open the directory of the journal"
READING: Final = "read the directory of the journal and its files"
WRITING: Final = "write to the directory of the journal"

_DENIED: Final = frozenset({errno.EACCES, errno.EPERM, errno.EROFS})
_GONE: Final = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ESTALE, errno.ELOOP})
_FULL: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})


def translating(permission: str, work: Callable[[], T]) -> T:
    """
    Do `work`, and say in our words how the operating system refused it.

    Args:
        permission: What is missing where access is denied.
        work: A call that writes nothing where it raises an `OSError`.

    Raises:
        AccessDeniedError: the account of this process may not.
        BackendUnavailableError: the directory is gone, the disk is full or failing.
        InvalidKeyError: the file system has shorter names than a run may have.
    """
    try:
        return work()
    except OSError as refusal:
        reason = refusal.errno
    # Raised out here, where the system's exception is not the context of ours any more.
    raise worded(reason, permission)


def worded(reason: int | None, permission: str) -> JsMemoryError:
    """The error for an `errno`, None where there was none."""
    if reason in _DENIED:
        return AccessDeniedError(permission)
    if reason in _GONE:
        return BackendUnavailableError(
            "The directory of the journal is gone.", "Ask its operator to put it back, or open the journal anew."
        )
    if reason in _FULL:
        return BackendUnavailableError(
            "The disk under the journal is full.", "Ask its operator to make room, then try again."
        )
    if reason == errno.ENAMETOOLONG:
        return InvalidKeyError("The name of the run is longer than a name may be on this file system")
    return BackendUnavailableError(
        "The directory of the journal could not be used.",
        "Try again; if it goes on, ask its operator to check the disk.",
    )
