"""Which files the demo keeps notes on, each with a key."""

import os
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from jsmemory.cli.demo.notes import NotReadable, NotText, note_of

MAX_FILES: Final = 1000
"""A line of the index has at most 62 bytes, so that a thousand of them fit one entry of 64 KiB."""

_OF_PROGRAMS: Final = frozenset({".git", ".hg", ".svn", "__pycache__", "node_modules"})
"""Folders that programs keep for themselves: nobody takes notes on them, nor wants to hear of them."""

_KEY_LENGTH: Final = 44
_ILLEGAL: Final = re.compile(r"[^A-Za-z0-9_=-]+")


@dataclass(frozen=True, slots=True)
class File:
    """
    A file to keep a note on.

    Attributes:
        key: A legal key that no other file has.
        name: Its path within the folder; not every name is text.
        digest: The SHA-256 of what a note covers, as it was when the files were gathered.
    """

    key: str
    name: Path
    digest: str


@dataclass(frozen=True, slots=True)
class Gathered:
    """
    What a folder holds.

    Attributes:
        files: In the order of their names.
        passed_over: How many were, by the reason.
        is_cut: Whether there are more files than the demo takes.
    """

    files: tuple[File, ...]
    passed_over: Mapping[str, int]
    is_cut: bool


def gather(folder: Path, limit: int = MAX_FILES) -> Gathered:
    """
    Choose the text files under a folder.

    Links are not followed, so that no loop is ever entered. What is no regular file, holds
    no text or cannot be read is counted and passed over; folders that programs keep for
    themselves are not entered.
    """
    files: list[File] = []
    passed_over: Counter[str] = Counter()
    for name in _names(folder, passed_over):
        try:
            note = note_of(folder, name)
        except NotText:
            passed_over["binary"] += 1
        except NotReadable:
            passed_over["unreadable"] += 1
        else:
            if len(files) == limit:
                return Gathered(tuple(files), passed_over, is_cut=True)
            files.append(File(_key(len(files) + 1, name), name, note.digest))
    return Gathered(tuple(files), passed_over, is_cut=False)


def _names(root: Path, passed_over: Counter[str]) -> Iterator[Path]:
    def unreadable(_: OSError) -> None:
        passed_over["unreadable"] += 1

    for place, folders, names in os.walk(root, onerror=unreadable):
        # Sorted here, so that every run of the demo gives the files the same keys.
        folders[:] = sorted(name for name in folders if name not in _OF_PROGRAMS)
        passed_over["link"] += sum((Path(place) / name).is_symlink() for name in folders)
        for name in sorted(names):
            path = Path(place) / name
            if path.is_symlink():
                passed_over["link"] += 1
            elif not path.is_file():
                passed_over["special"] += 1
            else:
                yield path.relative_to(root)


def _key(number: int, name: Path) -> str:
    # The number makes it unique, the end of the path says which file it is.
    words = [_ILLEGAL.sub("-", part).strip("-") for part in re.split(r"[/.]", str(name))]
    tail = ".".join(filter(None, words))[-(_KEY_LENGTH - 5) :].lstrip(".-")
    return f"{number:04}-{tail}" if tail else f"{number:04}"
