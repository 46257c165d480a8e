"""
The identity of a directory, which outlives processes and ends with the directory.

A random token in a hidden file. A directory that was removed and made anew has none, so it
gets another one, and the authority that was earned in the old one is worth nothing in it.
"""

import os
import re
import secrets
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from jsmemory.backends.file import regular
from jsmemory.backends.file.atomic import put_new, settle
from jsmemory.backends.file.directory import ignores_case
from jsmemory.backends.file.locking import locked
from jsmemory.errors import BackendError

REALM: Final = ".realm"
"""The name of the token's file."""

_TOKEN: Final = re.compile(rb"[0-9a-f]{32}")


@dataclass(frozen=True, slots=True)
class Identity:
    """
    Which directory it is that a call found.

    Attributes:
        realm: What revisions belong to.
        ignores_case: Whether its file system cannot tell two keys apart that differ in case only.
        mark: What the system says of the directory and the token's file; it changes when either does.
    """

    realm: str
    ignores_case: bool
    mark: tuple[int, ...]


def recognise(directory: int, known: Identity, *, waiting: Callable[[], None]) -> Identity:
    """
    Tell whether an open directory is the one that was known before.

    Two looks where it is. Otherwise its token is read, and made where there is none. Where it
    can be neither, as in a directory that is for reading only, the identity is one for this
    object alone: authority then does not outlive the process, which is the safe way to fail.
    Not to be called under the lock.
    """
    mark = _mark(directory)
    if mark == known.mark:
        return known
    token = _read(directory)
    if token is None:
        with suppress(OSError, BackendError):
            token = _make(directory, waiting)
    return Identity(f"file:{token or secrets.token_hex(16)}", ignores_case(directory), _mark(directory))


def _mark(directory: int) -> tuple[int, ...]:
    own = os.fstat(directory)
    try:
        token = os.stat(REALM, dir_fd=directory, follow_symlinks=False)
    except FileNotFoundError:
        return own.st_dev, own.st_ino
    # The number of a removed directory is given out again; the time of the token's file is not.
    return own.st_dev, own.st_ino, token.st_ino, token.st_ctime_ns


def _read(directory: int) -> str | None:
    content = regular.read(directory, REALM, at_most=64)
    if content is None or not _TOKEN.fullmatch(content.value):
        return None
    return content.value.decode()


def _make(directory: int, waiting: Callable[[], None]) -> str | None:
    with locked(directory, waiting=waiting):
        put_new(directory, REALM, secrets.token_hex(16).encode())
        settle(directory)
    return _read(directory)
