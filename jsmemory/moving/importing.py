"""From a folder of notes, or from an archive, into a store."""

import os
from collections.abc import AsyncGenerator, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import BinaryIO

from anyio import to_thread

from jsmemory.errors import InvalidOptionsError
from jsmemory.layers.retry import RetryingStore
from jsmemory.moving.archive.format import key_of
from jsmemory.moving.archive.unpacking import values, verify
from jsmemory.moving.carrying import Carrier
from jsmemory.moving.crew import AT_ONCE, Crew
from jsmemory.moving.folder import Note, look_through
from jsmemory.moving.notes import text_of
from jsmemory.moving.parcels import Parcel, Text
from jsmemory.moving.report import MovingReport, Progressed, unheeded
from jsmemory.store import Store


async def import_folder(
    folder: str | os.PathLike[str],
    destination: Store,
    *,
    overwrite: bool = False,
    dry_run: bool = False,
    at_once: int = AT_ONCE,
    on_progress: Progressed = unheeded,
) -> MovingReport:
    """
    Store the notes that lie in a folder, and in the folders under it, and read each back.

    A note is a regular file in UTF-8 whose name ends in .md, .markdown or .txt. Its name becomes
    a legal key (`MovingReport.renamed` tells which did not stay as it was), and always the same
    one, whatever lies beside it; of two files that come to one key neither is stored. Its
    description is that of its front matter, else its first line. Entries that lie in the directory of a file
    store come back as they were. The rest is as `copy_entries` has it.

    Args:
        folder: Only read. Hidden files are left out, links are not followed.
        destination: Where to.
        overwrite: Whether another value under the same key is replaced.
        dry_run: Read and compare only, and tell what would come of it.
        at_once: Notes that are on their way at once.
        on_progress: Told after each note.

    Raises:
        InvalidOptionsError: it is no folder that can be read, or holds more than 10,000 files.
    """
    found = await to_thread.run_sync(look_through, Path(folder))
    crew = await _crew(destination, overwrite, dry_run, at_once, on_progress)
    expected = [(note.origin, note.key) for note in found.notes]
    return await crew.carry_all(_of_folder(found.notes), expected, beside=found.beside, dry_run=dry_run)


async def import_archive(
    archive: str | os.PathLike[str],
    destination: Store,
    *,
    overwrite: bool = False,
    dry_run: bool = False,
    at_once: int = AT_ONCE,
    on_progress: Progressed = unheeded,
) -> MovingReport:
    """
    Store the entries of an archive that `export_archive` made, and read each back.

    The whole archive is checked against its manifest before the first entry is written. Nothing
    is unpacked to the disk. The rest is as `copy_entries` has it.

    Args:
        archive: A .tar.gz; only read.
        destination: Where to.
        overwrite: Whether another value under the same key is replaced.
        dry_run: Read and compare only, and tell what would come of it.
        at_once: Entries that are on their way at once.
        on_progress: Told after each entry.

    Raises:
        ArchiveUnfitError: it is damaged, cut short, hostile, or no such archive; with a finding.
            Nothing was written.
        InvalidOptionsError: there is no file that can be read.
    """
    with await to_thread.run_sync(_opened, Path(archive)) as file:
        manifest = await to_thread.run_sync(verify, file)
        crew = await _crew(destination, overwrite, dry_run, at_once, on_progress)
        expected = [(name, key_of(name)) for name in manifest.files]
        parcels = _of_archive(file, {name: listed.sha256 for name, listed in manifest.files.items()})
        return await crew.carry_all(parcels, expected, dry_run=dry_run)


async def _crew(destination: Store, overwrite: bool, dry_run: bool, at_once: int, on_progress: Progressed) -> Crew:
    store = RetryingStore(destination)
    taken = [item.key for item in await store.list()]
    return Crew(Carrier(store, taken, overwrite=overwrite, dry_run=dry_run), at_once=at_once, on_progress=on_progress)


async def _of_folder(notes: Sequence[Note]) -> AsyncGenerator[Parcel, None]:
    for note in notes:
        yield Parcel(note.origin, note.key, partial(to_thread.run_sync, _read_note, note))


def _read_note(note: Note) -> Text:
    return text_of(note.read(), note.origin)


async def _of_archive(file: BinaryIO, digests: dict[str, str]) -> AsyncGenerator[Parcel, None]:
    with closing(values(file, digests)) as members:
        while (member := await to_thread.run_sync(next, members, None)) is not None:
            name, value = member
            yield Parcel(name, key_of(name), partial(_text_of, value, name))


async def _text_of(value: bytes, name: str) -> Text:
    return text_of(value, name)


def _opened(path: Path) -> BinaryIO:
    try:
        if path.is_file():
            return path.open("rb")
    except OSError:
        pass
    raise InvalidOptionsError("archive", "names no file that can be read", "Name another one.")
