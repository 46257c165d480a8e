"""Writing an archive: whole under its name, or not at all."""

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

from jsmemory.backends.file.directory import is_too_long
from jsmemory.errors import (
    AccessDeniedError,
    ArchiveUnfitError,
    BackendUnavailableError,
    InvalidOptionsError,
    JsMemoryError,
)
from jsmemory.moving.archive.format import FORMAT, MANIFEST, VERSION, Listed, Manifest
from jsmemory.moving.archive.unpacking import verify

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

    Args:
        place: Where the archive is to be.
        overwrite: Whether it takes the place of a file that is there.

    Raises:
        InvalidOptionsError: something is there, or the folder is none.
        AccessDeniedError: the folder may not be written to.
        BackendUnavailableError: the disk is full or failing.
    """
    if is_too_long(place):
        raise InvalidOptionsError("archive", "is longer than a path may be, or a name in it", "Name another one.")
    beside = place.with_name(f".archive.{secrets.token_hex(6)}")
    refusal: JsMemoryError | None = None
    try:
        if not place.parent.is_dir() or place.is_dir():
            raise InvalidOptionsError("archive", "names no place for a file", "Name one in a folder that is there.")
        if place.exists() and not overwrite:
            raise _taken()
        with os.fdopen(os.open(beside, _FLAGS, _MODE), "w+b") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        _name(beside, place, overwrite=overwrite)
    except FileExistsError:
        refusal = _taken()
    except PermissionError:
        refusal = AccessDeniedError("write to the folder of the archive")
    except OSError:
        refusal = BackendUnavailableError("The archive could not be written.", "Make room, or name another folder.")
    finally:
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
