"""
Reading an archive that anybody may have made.

Nothing is unpacked to the disk. The file is read from its beginning to its end, member by
member, each no longer than an entry and all together no longer than a full store, and
whatever is no plain file with the name of an entry ends it.
"""

import hashlib
import os
import tarfile
import zlib
from collections.abc import Generator, Iterator, Mapping
from typing import BinaryIO, Final

import msgspec

from jsmemory.errors import ArchiveUnfitError
from jsmemory.limits import MAX_ENTRIES, MAX_ENTRY_BYTES
from jsmemory.moving.archive.format import (
    FORMAT,
    MANIFEST,
    MAX_MANIFEST_BYTES,
    MAX_UNPACKED_BYTES,
    VERSION,
    Listed,
    Manifest,
    is_name,
    unfit,
)

_NOT_OURS: Final = "Do not use it; ask whoever gave it to you for one that jsmemory export made."
_ANEW: Final = "Get it again from where it was copied, or export anew."
_BY_HAND: Final = "Unpack it where it does no harm, look through it, and import the folder."

_BLOCK: Final = 64 * 1024
_MAX_FILE_BYTES: Final = MAX_MANIFEST_BYTES + 2 * _BLOCK
# The longest file, and what stands around it. A header may promise to be of any length, and is
# read into memory before anybody can look at it.

_GZIP: Final = zlib.MAX_WBITS | 16
# One member with its header and its checksum: zlib stops behind it, where the module gzip would go on.

_PLAIN: Final = frozenset({tarfile.REGTYPE, tarfile.AREGTYPE})


def verify(file: BinaryIO) -> Manifest:
    """
    Read a whole archive, and hold every file in it against the manifest.

    Args:
        file: A file that can be read from its beginning again.

    Raises:
        ArchiveUnfitError: it is anything else than what an export writes.
    """
    found: dict[str, Listed] = {}
    manifest: bytes | None = None
    for number, (name, value) in enumerate(_members(file), 1):
        if name in found or (name == MANIFEST and manifest is not None):
            raise unfit("duplicate", f"File {number} in it has the name of an earlier one.", _NOT_OURS)
        if name == MANIFEST:
            manifest = value
        elif len(found) == MAX_ENTRIES:
            raise unfit("too_many", f"It holds more than the {MAX_ENTRIES} entries of a store.", _NOT_OURS)
        else:
            found[name] = Listed(hashlib.sha256(value).hexdigest(), len(value))
    if manifest is None:
        raise unfit("no_manifest", "It holds no manifest, so nothing tells whether it is whole.", _BY_HAND)
    listed = _read(manifest)
    if missing := len(listed.files.keys() - found.keys()):
        raise unfit("missing", f"{missing} files are in its manifest and not in it.", _ANEW)
    if unlisted := len(found.keys() - listed.files.keys()):
        raise unfit("unlisted", f"{unlisted} files are in it and not in its manifest.", _NOT_OURS)
    if changed := sum(found[name] != listed.files[name] for name in found):
        raise unfit("checksum", f"{changed} files in it are not as its manifest has them.", _ANEW)
    return listed


def values(file: BinaryIO, digests: Mapping[str, str]) -> Generator[tuple[str, bytes], None, None]:
    """
    The files of an archive that was verified, in their order, one at a time.

    Args:
        file: The same file.
        digests: The SHA-256 that each was verified to have.

    Raises:
        ArchiveUnfitError: it is not the same any more.
    """
    for name, value in _members(file):
        if name != MANIFEST:
            if digests.get(name) != hashlib.sha256(value).hexdigest():
                raise unfit("changed", "It was changed while it was read.", "Leave it alone, and import it again.")
            yield name, value


def _read(manifest: bytes) -> Manifest:
    try:
        read = msgspec.json.decode(manifest)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        read = None
    if not isinstance(read, dict) or read.get("format") != FORMAT:
        raise unfit("manifest", "Its manifest is none of jsmemory.", _BY_HAND)
    if read.get("version") != VERSION:
        raise unfit("version", f"It has another version than {VERSION}.", "Import it with the jsmemory that made it.")
    try:
        return msgspec.convert(read, Manifest)
    except msgspec.ValidationError:
        pass
    raise unfit("manifest", "Its manifest is damaged.", _ANEW)


def _members(file: BinaryIO) -> Iterator[tuple[str, bytes]]:
    file.seek(0)
    bounded = _Bounded(_Unpacked(file))
    number = end = 0
    try:
        # A stream, so that nothing in it can send the reader back or ahead.
        archive = tarfile.open(fileobj=bounded, mode="r|")  # type: ignore[call-overload]  # noqa: SIM115
        while (member := archive.next()) is not None:
            number += 1
            bounded.begin()
            end = member.offset_data + member.size
            yield member.name, _value(archive, member, number)
            archive.members.clear()  # it would keep the header of each
        # The last bytes hold the checksum of all others.
        while bounded.read(_BLOCK):
            pass
        if bounded.said > end or file.read(1):
            raise unfit("trailing", "Something is behind its end, which no export writes.", _NOT_OURS)
    except ArchiveUnfitError:
        raise
    except Exception:  # noqa: S110 - a parser trips over damage in many ways, and all of them mean one thing
        pass
    else:
        return
    # Raised out here, so that what the parser said is not in it.
    raise unfit("damaged", "It is no .tar.gz that can be read to its end: it is damaged, or was cut short.", _ANEW)


def _value(archive: tarfile.TarFile, member: tarfile.TarInfo, number: int) -> bytes:
    _refuse_what_is_no_entry(member, number)
    limit = MAX_MANIFEST_BYTES if member.name == MANIFEST else MAX_ENTRY_BYTES
    if member.size > limit:
        raise unfit("too_large", f"File {number} in it is longer than the {limit} bytes that it may have.", _NOT_OURS)
    data = archive.extractfile(member)
    return data.read() if data is not None else b""


def _refuse_what_is_no_entry(member: tarfile.TarInfo, number: int) -> None:
    if member.issym() or member.islnk():
        raise unfit("link", f"File {number} in it is a link, which leads elsewhere.", _NOT_OURS)
    if member.type not in _PLAIN or member.issparse():
        raise unfit("special", f"File {number} in it is no plain file.", _NOT_OURS)
    if "/" in member.name or "\\" in member.name or member.name in ("", ".", ".."):
        raise unfit("path", f"File {number} in it has a path instead of a name, and could lead elsewhere.", _NOT_OURS)
    if member.name != MANIFEST and not is_name(member.name):
        raise unfit("name", f"File {number} in it has a name that no entry has.", _BY_HAND)


class _Unpacked:
    """
    What one gzip member holds, and nothing of what is behind it; the file stands there in the end.

    Reading raises EOFError where the member was cut short, and zlib.error where it is none.
    """

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._inflating = zlib.decompressobj(_GZIP)

    def read(self, size: int) -> bytes:
        while not self._inflating.eof:
            packed = self._inflating.unconsumed_tail or self._file.read(_BLOCK)
            data = self._inflating.decompress(packed, size)
            if self._inflating.eof:
                self._file.seek(-len(self._inflating.unused_data), os.SEEK_CUR)
            if data:
                return data
            if not packed and not self._inflating.eof:
                raise EOFError
        return b""


class _Bounded:
    """
    Reads on, but not for ever: neither in all, nor from one file to the next.

    Attributes:
        said: How far it goes until there is nothing but zeros any more.
    """

    def __init__(self, inner: _Unpacked) -> None:
        self._inner = inner
        self.said = 0
        self._left = MAX_UNPACKED_BYTES
        self._left_of_file = _MAX_FILE_BYTES

    def begin(self) -> None:
        """A file begins."""
        self._left_of_file = _MAX_FILE_BYTES

    def read(self, size: int) -> bytes:
        data = self._inner.read(size)
        if words := data.rstrip(b"\0"):
            self.said = MAX_UNPACKED_BYTES - self._left + len(words)
        self._left -= len(data)
        self._left_of_file -= len(data)
        if min(self._left, self._left_of_file) < 0:
            raise unfit("bomb", "It unpacks to more than a full store can be.", _NOT_OURS)
        return data
