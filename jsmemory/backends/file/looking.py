"""
A look at a directory that reads only what has changed since the look before.

A file is taken to be as it was where its number, size and both times are. Times have a tick,
though: a file that was changed right before a look can be changed again within the same tick,
after it, and look the same. So what was changed a moment ago is read again the next time.
"""

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from jsmemory import frontmatter
from jsmemory.backends.file import listing, regular
from jsmemory.backends.file.directory import name_of
from jsmemory.backends.file.revision import revision_of
from jsmemory.entries import Item
from jsmemory.errors import AccessDeniedError
from jsmemory.limits import MAX_ENTRY_BYTES
from jsmemory.live import Known

LOOKED_EVERY: Final = 0.25
"""Seconds between two looks while somebody waits for changes: a person does not feel it, nor a host."""

_TICK_NS: Final = 2_000_000_000
# The coarsest time stamp of a file system in use, that of FAT. Linux stamps others every few milliseconds.


class Signature(NamedTuple):
    """What the system says of a file without opening it."""

    number: int
    size: int
    mode: int
    written_ns: int
    changed_ns: int


def signature_of(directory: int, name: str) -> Signature | None:
    """The signature of a name in an open directory; None where there is nothing."""
    try:
        status = os.stat(name, dir_fd=directory, follow_symlinks=False)
    except FileNotFoundError:
        return None
    return Signature(status.st_ino, status.st_size, status.st_mode, status.st_mtime_ns, status.st_ctime_ns)


@dataclass(frozen=True, slots=True)
class Sight:
    """
    What a look saw of one file.

    Attributes:
        signature: What the system said of it before it was read.
        is_settled: Whether the signature proves that it is still as it was.
        known: What is known of its entry.
    """

    signature: Signature
    is_settled: bool
    known: Known


@dataclass(frozen=True, slots=True)
class Sights:
    """
    What a look saw.

    Attributes:
        realm: The identity of the directory.
        by_key: The files, by the keys of their entries.
    """

    realm: str = ""
    by_key: Mapping[str, Sight] = field(default_factory=dict)

    def known(self) -> list[Known]:
        """What is known of all entries."""
        return [sight.known for sight in self.by_key.values()]


def look(directory: int, before: Sights, realm: str, *, waiting: Callable[[], None]) -> Sights:
    """
    See everything in an open directory.

    Args:
        directory: The directory.
        before: What the look before saw.
        realm: The identity of the directory.
        waiting: Called while a writer is waited for; may raise.

    Raises:
        IncompleteListingError: writers held the lock all the time.
    """
    seen_before = before.by_key if before.realm == realm else {}
    began = time.time_ns()
    seen: dict[str, Sight] = {}
    for key in listing.keys(directory, waiting=waiting):
        signature = signature_of(directory, name_of(key))
        if signature is None:
            continue
        sight = seen_before.get(key)
        if sight is None or not sight.is_settled or sight.signature != signature:
            known = _known(directory, key, signature, realm)
            if known is None:
                continue
            sight = Sight(signature, max(signature.written_ns, signature.changed_ns) + _TICK_NS < began, known)
        seen[key] = sight
    return Sights(realm, seen)


def _known(directory: int, key: str, signature: Signature, realm: str) -> Known | None:
    try:
        content = regular.read(directory, name_of(key), at_most=MAX_ENTRY_BYTES + 1)
        if content is None:
            return None
        if len(content.value) <= MAX_ENTRY_BYTES:
            item = Item(key, frontmatter.read_description(content.value))
            return Known(item, revision_of(content.value), realm)
        # Nobody's entry, and not read to its end, however far that is.
        description = listing.description(directory, name_of(key))
    except AccessDeniedError:
        # It is there, counts, and can be deleted: whoever lists must see it.
        description = ""
    return None if description is None else Known(Item(key, description), None, f"{realm} {tuple(signature)}")
