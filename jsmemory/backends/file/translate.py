"""
From what the operating system says to the errors of the contract.

The system's own text names the path on the host, so nothing of it is passed on: neither as
words nor as the cause or the context of an exception, both of which end in logs and traces.
"""

import errno
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeVar

from jsmemory.errors import AccessDeniedError, BackendUnavailableError, InvalidKeyError, JsMemoryError

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """
    What a refusal calls the things that it speaks of.

    Attributes:
        directory: The directory.
        owner: What was opened on it, and can be opened anew.
        name: What the names in it are made of.
    """

    directory: str
    owner: str
    name: str


MEMORY: Final = Words(directory="memory directory", owner="store", name="key")

OPENING: Final = "make and open the memory directory"
READING: Final = "read the memory directory and its files"
WRITING: Final = "write to the memory directory"

DENIED: Final = frozenset({errno.EACCES, errno.EPERM, errno.EROFS})
"""What the system answers where this process may not, and where nobody may."""

_GONE: Final = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ESTALE, errno.ELOOP})
_FULL: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_TOO_MANY: Final = frozenset({errno.EMFILE, errno.ENFILE})


def translating(words: Words, permission: str, work: Callable[[], _T]) -> _T:
    """
    Do `work`, and say in the contract's words how the operating system refused it.

    Args:
        words: What the directory is called.
        permission: What is missing where access is denied.
        work: A call that raises contract errors and `OSError`, and writes nothing where it
            raises an `OSError`.

    Raises:
        AccessDeniedError: the account of this process may not.
        BackendUnavailableError: the directory is gone, the disk is full or failing.
        InvalidKeyError: the file system has shorter names than the one that was given.
    """
    try:
        return work()
    except OSError as refusal:
        reason = refusal.errno
    # Raised out here, where the system's exception is not the context of ours any more.
    raise _worded(words, permission, reason)


def _worded(words: Words, permission: str, reason: int | None) -> JsMemoryError:
    """The error for an `errno`, None where there was none."""
    if reason in DENIED:
        return AccessDeniedError(permission)
    if reason in _GONE:
        return BackendUnavailableError(
            f"The {words.directory} is gone.", f"Ask its operator to put it back, or open the {words.owner} anew."
        )
    if reason in _FULL:
        return BackendUnavailableError(
            f"The disk under the {words.directory} is full. Nothing was written.",
            "Ask its operator to make room, then try again.",
        )
    if reason in _TOO_MANY:
        return BackendUnavailableError("Too many files are open on this host.")
    if reason == errno.ENAMETOOLONG:
        return InvalidKeyError(
            f"The {words.name} is longer than a name may be on this file system", "Choose a shorter one."
        )
    return BackendUnavailableError(
        f"The {words.directory} could not be used.", "Try again; if it goes on, ask its operator to check the disk."
    )
