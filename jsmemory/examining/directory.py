"""
The examination of a directory that holds memories.

Nothing of a path is ever shown: whoever examines a directory knows where it is. Nothing is
made, opened for writing, followed or waited for.
"""

import asyncio
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from stat import S_ISREG
from typing import Final

from jsmemory.backends.file import regular
from jsmemory.backends.file.atomic import STAGED
from jsmemory.backends.file.directory import Directory, ignores_case, key_of
from jsmemory.backends.file.locking import LOCK
from jsmemory.backends.file.realm import REALM
from jsmemory.backends.file.store import FileStore
from jsmemory.backends.file.translate import DENIED
from jsmemory.errors import AccessDeniedError
from jsmemory.examining.census import Kind, entries
from jsmemory.examining.disk import disk, file_system, permissions
from jsmemory.examining.probing import probe
from jsmemory.examining.report import Check, Report, Verdict, found, ok, unknown
from jsmemory.frontmatter import read_description
from jsmemory.keys import is_legal_key
from jsmemory.limits import MAX_ENTRY_BYTES, MAX_READ_BYTES

LOOKED_AT: Final = 2_048
"""Files that are opened, unless it is to be thorough: twice as many as a store has."""

LEFT_OVER_AFTER: Final = 60.0
"""Seconds after which a staged file belongs to nobody: a writer holds one for milliseconds."""


async def examine_directory(
    directory: str | os.PathLike[str],
    prefix: str = "",
    *,
    thorough: bool = False,
    read_only: bool = False,
    write_probe: bool = False,
) -> Report:
    """
    Look at everything that decides whether memory is safe in a directory.

    Writes nothing, unless told, and makes no directory.

    Args:
        directory: Where the entries lie, one file each.
        prefix: The sub-directory of one agent; ``""`` for the directory itself.
        thorough: Open every file, however many there are.
        read_only: This account is only for reading: that it cannot write is no finding.
        write_probe: Write one entry, and delete it.

    Returns:
        A report, also where there is no such directory.

    Raises:
        InvalidOptionsError: no directory can be called so, or no prefix.
    """
    place = Directory.of(directory, prefix)
    checks = await asyncio.to_thread(_examine, place, thorough=thorough, read_only=read_only)
    if write_probe and checks[0].verdict is Verdict.OK:
        checks.append(await probe(FileStore.open(place.path, prefix=prefix)))
    return Report("file", "", tuple(checks))


def _examine(place: Directory, *, thorough: bool, read_only: bool) -> list[Check]:
    place.refuse_too_long()
    try:
        with place.opened() as directory:
            return list(_checks(place, directory, thorough=thorough, read_only=read_only))
    except FileNotFoundError:
        return [
            found(
                "directory",
                Verdict.ADVICE,
                "directory_missing",
                "There is no such directory: nothing has been remembered there.",
                "name another one, or write an entry: the first one makes it",
            )
        ]
    except OSError as refusal:
        if refusal.errno in DENIED:
            problem, cure = "This account may not open the directory.", "give it to this account: chown, or chmod u+rwx"
            return [found("directory", Verdict.DENIED, "directory_denied", problem, cure)]
        return [
            found(
                "directory",
                Verdict.FAULT,
                "directory_unusable",
                "It is no directory, or its disk does not answer.",
                "name a directory on a disk that works",
            )
        ]


@dataclass(slots=True)
class _Contents:
    """What lies in a directory, counted by kind."""

    keys: int = 0
    foreign: Kind = field(default_factory=Kind)
    obstacles: Kind = field(default_factory=Kind)
    left_over: Kind = field(default_factory=Kind)
    oversize: Kind = field(default_factory=Kind)
    unbounded: Kind = field(default_factory=Kind)
    unreadable: Kind = field(default_factory=Kind)
    undescribed: Kind = field(default_factory=Kind)
    looked_at: int = 0


def _checks(place: Directory, directory: int, *, thorough: bool, read_only: bool) -> Iterator[Check]:
    yield ok("directory", "there, and open to this account")
    yield from permissions(directory, read_only=read_only)
    yield file_system(directory)
    yield from disk(directory)
    yield _case(directory)
    contents = _go_through(directory, is_flat=not place.prefix, at_most=None if thorough else LOOKED_AT)
    option = f"--prefix {place.prefix or repr('')}"
    yield entries(place.prefix, contents.keys, option)
    yield from _kinds(contents)
    if contents.looked_at < contents.keys:
        yield unknown("contents", f"{contents.looked_at:,} of {contents.keys:,} files were opened; all with --thorough")


def _go_through(directory: int, *, is_flat: bool, at_most: int | None) -> _Contents:
    contents, now = _Contents(), time.time()
    with os.scandir(directory) as all_of_them:
        for each in all_of_them:
            name = each.name
            if name in (LOCK, REALM):
                continue
            try:
                status = each.stat(follow_symlinks=False)
            except FileNotFoundError:
                continue
            if name.startswith(STAGED):
                if now - status.st_mtime > LEFT_OVER_AFTER:
                    contents.left_over.add(name)
            elif key_of(name) is None:
                # In the flat keyspace, a directory may be the prefix of another store.
                if not (is_flat and each.is_dir(follow_symlinks=False) and is_legal_key(name) and "." not in name):
                    contents.foreign.add(name)
            elif not S_ISREG(status.st_mode):
                contents.obstacles.add(name)
            else:
                contents.keys += 1
                if status.st_size > MAX_READ_BYTES:
                    contents.unbounded.add(name)
                elif status.st_size > MAX_ENTRY_BYTES:
                    contents.oversize.add(name)
                if at_most is None or contents.looked_at < at_most:
                    contents.looked_at += 1
                    _look_into(directory, name, contents)
    return contents


def _look_into(directory: int, name: str, contents: _Contents) -> None:
    try:
        content = regular.read(directory, name, at_most=MAX_ENTRY_BYTES)
    except (AccessDeniedError, OSError):
        contents.unreadable.add(name)
        return
    if content is not None and not read_description(content.value):
        contents.undescribed.add(name)


def _kinds(contents: _Contents) -> Iterator[Check]:
    for name, kind, verdict, problem, cure in (
        (
            "foreign_files",
            contents.foreign,
            Verdict.ADVICE,
            "Names that are no entries of ours: {}. No store lists, counts or reads them.",
            "move them elsewhere, or give them a legal key and .md for a name",
        ),
        (
            "obstacles",
            contents.obstacles,
            Verdict.WARNING,
            "Names of entries that something else has than a file: {}. Nothing can be written there.",
            "remove what lies there",
        ),
        (
            "unreadable_files",
            contents.unreadable,
            Verdict.WARNING,
            "Entries that this account may not read, or the disk does not give back: {}.",
            "give them to this account: chown, or chmod u+rw",
        ),
        (
            "oversize",
            contents.oversize,
            Verdict.WARNING,
            "Files larger than an entry can be: {}. They can be read, and not be written back.",
            "split them over several keys",
        ),
        (
            "unbounded",
            contents.unbounded,
            Verdict.WARNING,
            "Files larger than anything that is read: {}. They are listed, and no store gives them back.",
            "split them over several keys, or move them away",
        ),
        (
            "descriptions",
            contents.undescribed,
            Verdict.ADVICE,
            "Entries without a description that can be read: {}. In an index nobody can tell what they are about.",
            'begin each with the lines "---", "description: ..." and "---"',
        ),
        (
            "left_over",
            contents.left_over,
            Verdict.ADVICE,
            "Files that a writer has left who died: {}. They are no entries.",
            "write an entry, which removes them: jsmemory doctor --write-probe",
        ),
    ):
        if kind.count:
            said = f"{kind.count:,} ({kind})"
            yield found(name, verdict, name, problem.format(said), cure, said=said)
        else:
            yield ok(name, "none")


def _case(directory: int) -> Check:
    if not os.listdir(directory):
        return unknown("case", "nothing is there to tell with")
    if not ignores_case(directory):
        return ok("case", "told apart")
    return found(
        "case",
        Verdict.ADVICE,
        "case_ignored",
        "This file system takes Build.md and build.md for one file: of two such keys the second one is refused.",
        "use a file system that tells them apart where agents choose keys freely",
    )
