"""
What an archive holds.

    build.md           one file for each entry, named and written as in a file store
    ...                sorted by key
    manifest.json      the format, its version, and the size and SHA-256 of each file

Unpacked into an empty directory it is the directory of a file store. The same entries come to
the same bytes: there are no times, no owners and no names of hosts in it.
"""

from collections.abc import Mapping
from typing import Final

import msgspec

from jsmemory.errors import ArchiveUnfitError
from jsmemory.findings import Finding
from jsmemory.keys import is_legal_key
from jsmemory.limits import MAX_ENTRIES, MAX_ENTRY_BYTES

FORMAT: Final = "jsmemory-export"
VERSION: Final = 1

MANIFEST: Final = "manifest.json"
"""No entry's name: it ends in something else."""

SUFFIX: Final = ".md"

MAX_MANIFEST_BYTES: Final = 1024 * 1024
"""Three times what 1,024 of the longest names take."""

MAX_UNPACKED_BYTES: Final = (MAX_ENTRIES + 8) * (MAX_ENTRY_BYTES + 4 * 512) + MAX_MANIFEST_BYTES
"""
A full store, with the headers that go with each file: 74 MB. However much a file promises to be,
this is where reading it ends. Legal entries may be packed a thousand to one, so that a ratio
would tell nothing.
"""


class Listed(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the manifest says of one file."""

    sha256: str
    size: int


class Manifest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The list of the files in an archive, by their names."""

    format: str
    version: int
    files: Mapping[str, Listed]


def name_of(key: str) -> str:
    """The name of the file of an entry."""
    return key + SUFFIX


def key_of(name: str) -> str:
    """The key behind such a name."""
    return name.removesuffix(SUFFIX)


def is_name(name: str) -> bool:
    """Whether it is the name of an entry's file."""
    return name.endswith(SUFFIX) and is_legal_key(key_of(name))


def unfit(code: str, problem: str, cure: str) -> ArchiveUnfitError:
    """The refusal of an archive; it names nothing that an archive could have made up."""
    return ArchiveUnfitError([Finding(f"archive_{code}", problem, cure)])
