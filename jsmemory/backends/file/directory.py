"""
The directory that holds the entries: making it, opening it, and what its names mean.

An entry lies under its key and ``.md``. Everything else is no entry: a name that is no legal
key, and a legal one under which no regular file lies.
"""

import errno
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import takewhile
from pathlib import Path
from typing import Final

from jsmemory.backends.file.atomic import STAGED, settle
from jsmemory.backends.file.regular import is_there
from jsmemory.errors import InvalidKeyError, InvalidOptionsError
from jsmemory.keys import Prefix, is_legal_key

SUFFIX: Final = ".md"

_FLAGS: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class Directory:
    """
    Where the entries of a store lie. Nothing of it is held open between two calls.

    Args:
        path: The operator's directory, absolute. It may be a link; what lies in it may not.
        prefix: The name of the sub-directory in it, ``""`` for the directory itself.
    """

    path: Path = field(repr=False)
    prefix: str

    @classmethod
    def of(cls, path: str | os.PathLike[str], prefix: str) -> "Directory":
        """
        Check what an operator wrote.

        Raises:
            InvalidOptionsError: no path can be written like that, or the prefix is no token.
        """
        try:
            written = os.fsencode(path)
        except (TypeError, ValueError):
            written = b""
        if not written or b"\0" in written:
            raise InvalidOptionsError("directory", "is no path", "Name the directory that is to hold the entries.")
        if not _is_prefix(prefix):
            raise InvalidOptionsError(
                "prefix", "is no single token", "Use a legal key without a dot, or an empty text."
            )
        return cls(Path(os.fsdecode(written)).absolute(), prefix)

    def make(self) -> None:
        """
        Make what is missing of it, so that it is still there after a power cut.

        Raises:
            InvalidOptionsError: something else than a directory lies there, or a name in it is too long.
        """
        self.refuse_too_long()
        # For its owner only: notes are nobody else's business, until the operator says so by
        # making the directory with other permissions.
        if not _made(self.path, mode=0o700):
            raise InvalidOptionsError("directory", "names something that is no directory", "Name another one.")
        if self.prefix:
            inner = self.path / self.prefix
            if _is_too_long(inner):
                raise InvalidOptionsError(
                    "prefix", "is longer than a name may be on this file system", "Choose a shorter one."
                )
            if inner.is_symlink() or not _made(inner, mode=0o777):
                raise InvalidOptionsError("prefix", "names something that is no directory", "Choose another one.")

    def refuse_too_long(self) -> None:
        """
        Refuse a path that its file system cannot have. Makes nothing.

        Raises:
            InvalidOptionsError: the path is too long, or a name in it is.
        """
        refuse_too_long(self.path, "directory")

    def twin_of_prefix(self) -> bool:
        """Whether beside the sub-directory lies a name that differs from its own only in case."""
        return bool(self.prefix) and has_twin(self.prefix, (each.name for each in self.path.iterdir()))

    @contextmanager
    def opened(self) -> Iterator[int]:
        """
        A descriptor for the length of a call.

        Raises:
            OSError: it is gone, is no directory, or may not be opened.
        """
        directory = os.open(self.path, _FLAGS)
        try:
            if self.prefix:
                outer = directory
                directory = os.open(self.prefix, _FLAGS | os.O_NOFOLLOW, dir_fd=outer)
                os.close(outer)
            yield directory
        finally:
            os.close(directory)


@dataclass(frozen=True, slots=True)
class Census:
    """
    What lay in a directory.

    Attributes:
        keys: The keys of all entries.
        obstacles: Legal keys under whose names lies something that is no regular file.
        staged: Staged files.
    """

    keys: tuple[str, ...]
    obstacles: tuple[str, ...]
    staged: tuple[str, ...]


def census(directory: int) -> Census:
    """Sort all names of an open directory. Complete only while nobody renames in it."""
    keys: list[str] = []
    obstacles: list[str] = []
    staged: list[str] = []
    with os.scandir(directory) as found:
        for entry in found:
            key = key_of(entry.name)
            if key is not None:
                # Told by the directory itself where it can; a link is what it is, not what it names.
                (keys if entry.is_file(follow_symlinks=False) else obstacles).append(key)
            elif entry.name.startswith(STAGED):
                staged.append(entry.name)
    return Census(tuple(keys), tuple(obstacles), tuple(staged))


def name_of(key: str) -> str:
    """The name under which the entry `key` lies."""
    return key + SUFFIX


@lru_cache(maxsize=8192)
def key_of(name: str) -> str | None:
    """The key behind a name; None for a name that is no entry's."""
    key = name.removesuffix(SUFFIX)
    return key if key != name and is_legal_key(key) else None


def ignores_case(directory: int) -> bool:
    """
    Whether the file system takes ``build.md`` and ``Build.md`` for one name.

    Asked by looking for a name that is there under its other case. Where nothing is there to
    ask with, the answer is yes, the careful one.
    """
    for name in os.listdir(directory):
        other = name.swapcase()
        if other == name:
            continue
        try:
            return os.path.samestat(
                os.stat(name, dir_fd=directory, follow_symlinks=False),
                os.stat(other, dir_fd=directory, follow_symlinks=False),
            )
        except FileNotFoundError:
            if is_there(directory, name):
                return False
    return True


def has_twin(name: str, others: Iterable[str]) -> bool:
    """Whether one of `others` differs from `name`, and only in case."""
    folded = name.lower()
    return any(other.lower() == folded and other != name for other in others)


def _is_prefix(prefix: str) -> bool:
    try:
        Prefix(prefix)
    except InvalidKeyError:
        return False
    return True


def refuse_too_long(path: Path, option: str) -> None:
    """
    Refuse a path that is longer than its file system can have one, or a name in it. Makes nothing.

    Args:
        path: The path.
        option: What it was given as.

    Raises:
        InvalidOptionsError: it is.
    """
    if _is_too_long(path):
        raise InvalidOptionsError(option, "is longer than a path may be, or a name in it", "Name another one.")


def _is_too_long(path: Path) -> bool:
    # Of what is missing each name is asked for where the first one would be made: the system
    # gives up at what is not there, before it looks at the names behind it.
    missing = list(takewhile(lambda each: not os.path.lexists(each), (path, *path.parents)))
    asked = (path, *(missing[-1].with_name(each.name) for each in missing))
    return any(_refusal_of(each) == errno.ENAMETOOLONG for each in asked)


def _refusal_of(path: Path) -> int | None:
    try:
        path.lstat()
    except OSError as refusal:
        return refusal.errno
    return None


def _made(path: Path, *, mode: int) -> bool:
    missing = list(takewhile(lambda each: not each.is_dir(), (path, *path.parents)))
    for each in reversed(missing):
        with suppress(FileExistsError, NotADirectoryError):
            each.mkdir(mode if each == path else 0o777)
        if not each.is_dir():
            return False
        parent = os.open(each.parent, _FLAGS)
        try:
            settle(parent)
        finally:
            os.close(parent)
    return True
