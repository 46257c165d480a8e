"""The notes in a folder of somebody's: which files they are, and what is in them."""

import errno
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from jsmemory.errors import (
    AccessDeniedError,
    BackendError,
    BackendUnavailableError,
    EntryNotFoundError,
    EntryTooLargeError,
    InvalidOptionsError,
)
from jsmemory.limits import MAX_CONTENT_BYTES
from jsmemory.moving.keying import key_for, keys_for
from jsmemory.moving.report import Moved, Outcome

SUFFIXES: Final = (".md", ".markdown", ".txt")
"""What the name of a note ends with."""

MAX_FILES: Final = 10_000
"""Far more than a store holds: whoever names so many did not mean that folder."""

SAME_KEY: Final = "same_key"

_MAX_BYTES: Final = MAX_CONTENT_BYTES + 64 * 1024
# A content and the longest front matter that is read at all.

_FLAGS: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
# What lies there may be a pipe or a link by the time it is opened.

_DENIED: Final = frozenset({errno.EACCES, errno.EPERM})
_GONE: Final = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENXIO})


@dataclass(frozen=True, slots=True)
class Note:
    """
    A file that is to become an entry.

    Attributes:
        origin: Its path within the folder.
        key: The key for it.
        path: Where it is.
    """

    origin: str
    key: str
    path: Path = field(repr=False)

    def read(self) -> bytes:
        """
        What is in it; it is read only if it is a regular file, and no longer than an entry may be.

        Raises:
            EntryNotFoundError: it is gone.
            EntryTooLargeError: it is longer.
            AccessDeniedError: this process may not read it.
            BackendUnavailableError: the disk is failing.
        """
        reason = None
        try:
            file = os.open(self.path, _FLAGS)
            try:
                status = os.fstat(file)
                if not stat.S_ISREG(status.st_mode):
                    raise EntryNotFoundError(self.key)
                if status.st_size > _MAX_BYTES:
                    raise EntryTooLargeError(status.st_size, MAX_CONTENT_BYTES)
                with os.fdopen(file, "rb", closefd=False) as opened:
                    data = opened.read(_MAX_BYTES + 1)
            finally:
                os.close(file)
        except OSError as refusal:
            reason = refusal.errno
        else:
            if len(data) > _MAX_BYTES:
                raise EntryTooLargeError(len(data), MAX_CONTENT_BYTES)
            return data
        if reason in _GONE:
            raise EntryNotFoundError(self.key)
        raise _unreadable("file", reason)


@dataclass(frozen=True, slots=True)
class Folder:
    """
    What lies in a folder and in those under it.

    Attributes:
        notes: In the order of their names.
        beside: What is no note, cannot be looked into, or has no key of its own, each with the reason.
    """

    notes: tuple[Note, ...]
    beside: tuple[Moved, ...]


def look_through(root: Path) -> Folder:
    """
    Find the notes. Hidden files and folders are left out without a word; no link is followed.

    Raises:
        InvalidOptionsError: it is no folder that can be read, or holds more than 10,000 files.
    """
    # Asked in this order: what may not be looked at, or has too long a name, is told and not raised.
    if not os.access(root, os.R_OK | os.X_OK) or not root.is_dir():
        raise InvalidOptionsError("folder", "names no folder that can be read", "Name another one.")
    names: list[str] = []
    beside: list[Moved] = []
    for name, why in _names(root):
        if why is None:
            names.append(name)
        else:
            beside.append(why)
        if len(names) + len(beside) > MAX_FILES:
            raise InvalidOptionsError("folder", f"holds more than {MAX_FILES} files", "Name a smaller one.")
    keys = keys_for(names)
    notes = tuple(Note(name, keys[name], root / name) for name in sorted(keys))
    return Folder(notes, (*beside, *(_refused(name) for name in names if name not in keys)))


def _names(root: Path) -> Iterator[tuple[str, Moved | None]]:
    refusals: list[OSError] = []
    for place, folders, files in os.walk(root, onerror=refusals.append):
        within = Path(place).relative_to(root)
        for name in sorted((*folders, *files)):
            origin = str(within / name)
            path = root / origin
            if name.startswith("."):
                continue
            mode = _mode_of(path)
            if stat.S_ISLNK(mode):
                yield origin, _skipped(origin, "link", "It is a link, and links are not followed. Put a copy there.")
            elif name in folders:
                continue
            elif mode and not stat.S_ISREG(mode):
                yield origin, _skipped(origin, "special", "It is no regular file. Leave it out.")
            elif path.suffix.lower() not in SUFFIXES:
                yield origin, _skipped(origin, "no_note", f"Its name ends in none of {', '.join(SUFFIXES)}. Rename it.")
            else:
                yield origin, None
        folders[:] = sorted(name for name in folders if not name.startswith("."))
    for refusal in refusals:
        origin = str(Path(refusal.filename).relative_to(root))
        error = _unreadable("folder", refusal.errno)
        yield origin, Moved(origin, "", Outcome.FAILED, error.code, str(error))


def _mode_of(path: Path) -> int:
    """What kind of thing lies there; 0 where the system does not tell, and who reads it is told why."""
    try:
        return path.lstat().st_mode
    except OSError:
        return 0


def _unreadable(what: str, reason: int | None) -> BackendError:
    if reason in _DENIED:
        return AccessDeniedError(f"read this {what}")
    if reason == errno.ENAMETOOLONG:
        return BackendUnavailableError(
            f"The path of the {what} is longer than the system takes.", "Import a folder that is nearer to it."
        )
    return BackendUnavailableError(f"The {what} could not be read.", "Check the disk, then try again.")


def _refused(origin: str) -> Moved:
    key = key_for(origin)
    reason = f"Another file comes to the same key, {key}, so that neither is stored. Rename one of them."
    return Moved(origin, key, Outcome.REFUSED, SAME_KEY, reason)


def _skipped(origin: str, code: str, reason: str) -> Moved:
    return Moved(origin, "", Outcome.SKIPPED, code, reason)
