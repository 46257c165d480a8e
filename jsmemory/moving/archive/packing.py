"""Writing an archive: whole under its name, or not at all."""

import fcntl
import gzip
import hashlib
import io
import os
import secrets
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, Final

import msgspec

from jsmemory.backends.file.directory import refuse_too_long
from jsmemory.errors import (
    AccessDeniedError,
    ArchiveUnfitError,
    BackendUnavailableError,
    InvalidOptionsError,
    JsMemoryError,
)
from jsmemory.moving.archive.format import FORMAT, MANIFEST, VERSION, Listed, Manifest
from jsmemory.moving.archive.unpacking import verify

_STAGED: Final = ".jsmemory-export-"
# How the name of an archive begins that is not whole yet.

_LEVEL: Final = 6
_FLAGS: Final = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
_MODE: Final = 0o600
# Notes are nobody else's business, until their owner says so.


class Packing:
    """
    Puts files into an archive. Give them in the order of their names.

    Args:
        file: Where it is written to.
    """

    def __init__(self, file: BinaryIO) -> None:
        self._packed = gzip.GzipFile(filename="", fileobj=file, mode="wb", compresslevel=_LEVEL, mtime=0)
        self._archive = tarfile.open(fileobj=self._packed, mode="w", format=tarfile.PAX_FORMAT)  # noqa: SIM115
        self._files: dict[str, Listed] = {}

    def add(self, name: str, value: bytes) -> None:
        """Put one file in."""
        self._files[name] = Listed(hashlib.sha256(value).hexdigest(), len(value))
        self._put(name, value)

    def finish(self) -> Manifest:
        """Put the manifest in, and end the archive."""
        manifest = Manifest(FORMAT, VERSION, self._files)
        self._put(MANIFEST, msgspec.json.format(msgspec.json.encode(manifest), indent=1))
        self._archive.close()
        self._packed.close()
        return manifest

    def close(self) -> None:
        """Let go of the file, also of one that will not be finished."""
        with suppress(OSError):
            self._packed.close()

    def _put(self, name: str, value: bytes) -> None:
        member = tarfile.TarInfo(name)
        member.size = len(value)
        member.mode = _MODE
        self._archive.addfile(member, io.BytesIO(value))


@contextmanager
def staged(place: Path, *, overwrite: bool) -> Iterator[BinaryIO]:
    """
    A file beside `place`, which gets its name when the block ends well, and is removed otherwise.

    Where a process is killed meanwhile it stays, and whoever stages there next removes it.

    Args:
        place: Where the archive is to be.
        overwrite: Whether it takes the place of a file that is there.

    Raises:
        InvalidOptionsError: something is there, or the folder is none.
        AccessDeniedError: the folder may not be written to.
        BackendUnavailableError: the disk is full or failing.
    """
    refuse_too_long(place, "archive")
    beside: Path | None = None
    refusal: JsMemoryError | None = None
    try:
        if not place.parent.is_dir() or place.is_dir():
            raise InvalidOptionsError("archive", "names no place for a file", "Name one in a folder that is there.")
        if place.exists() and not overwrite:
            raise _taken()
        _sweep(place.parent)
        beside, descriptor = _begin(place.parent)
        with os.fdopen(descriptor, "w+b") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
            # Still under its lock, so that nobody takes it for left behind.
            _name(beside, place, overwrite=overwrite)
    except FileExistsError:
        refusal = _taken()
    except PermissionError:
        refusal = AccessDeniedError("write to the folder of the archive")
    except OSError:
        refusal = BackendUnavailableError("The archive could not be written.", "Make room, or name another folder.")
    finally:
        if beside is not None:
            with suppress(OSError):
                beside.unlink()
    if refusal is not None:
        raise refusal


def check(file: BinaryIO, written: Manifest) -> None:
    """
    Read back what was written.

    Raises:
        BackendUnavailableError: it is not that.
    """
    file.flush()
    try:
        is_whole = verify(file) == written
    except ArchiveUnfitError:
        is_whole = False
    if not is_whole:
        raise BackendUnavailableError("The archive does not hold what was written.", "Check the disk, then try again.")


def _begin(folder: Path) -> tuple[Path, int]:
    """A new file, locked for as long as it is open: by that others see that somebody is at work."""
    while True:
        beside = folder / f"{_STAGED}{secrets.token_hex(6)}"
        file = os.open(beside, _FLAGS, _MODE)
        # Where nothing can be locked, nobody else can lock it either, and removes it.
        with suppress(OSError):
            fcntl.flock(file, fcntl.LOCK_EX)
        if os.fstat(file).st_nlink:
            return beside, file
        os.close(file)  # somebody was quicker with the lock, and took it for left behind


def _sweep(folder: Path) -> None:
    """Remove what exports that were killed have left: a lock ends with its holder."""
    with suppress(OSError):
        for left in [each for each in folder.iterdir() if each.name.startswith(_STAGED)]:
            with suppress(OSError):
                file = os.open(left, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
                try:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    left.unlink()
                finally:
                    os.close(file)


def _name(beside: Path, place: Path, *, overwrite: bool) -> None:
    if overwrite:
        beside.replace(place)
    else:
        # A link takes no name that something has; a rename would.
        os.link(beside, place)
    folder = os.open(place.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        with suppress(OSError):
            os.fsync(folder)
    finally:
        os.close(folder)


def _taken() -> InvalidOptionsError:
    return InvalidOptionsError("archive", "is there already", "Name another one, or allow it to be overwritten.")
