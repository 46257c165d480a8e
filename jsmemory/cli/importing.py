"""``jsmemory import``: entries out of an archive, or out of a folder of notes."""

import os
from pathlib import Path
from typing import Annotated, Final

import typer

from jsmemory import MovingReport, ReadOnlyStoreError, import_archive, import_folder
from jsmemory.cli.choosing import choose, opened_store
from jsmemory.cli.exits import UsageRefused
from jsmemory.cli.moves import ENTRIES_LEFT, move, tell
from jsmemory.cli.options import Choice
from jsmemory.cli.places import guarded
from jsmemory.cli.progressing import Progressed

EXAMPLES: Final = ("jsmemory import ~/notes --dry-run", "jsmemory --bucket team --identity alice import backup.tar.gz")

_NOTES: Final = (".md", ".markdown", ".txt")


def import_notes(
    choice: Choice,
    source: Annotated[Path, typer.Argument(metavar="DIR|FILE.tar.gz", help="A folder of notes, or an archive.")],
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace other values under the same keys, if nobody changes them.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Compare only, and tell what would be done.")] = False,
) -> None:
    """
    Store the notes of a folder, or the entries of an archive, and read each back.

    A note is a text file whose name ends in .md, .markdown or .txt; sub-folders count, hidden
    files and links do not. The description is that of the front matter, else the first line;
    front matter that says more stays in the text. What is too long, or no text, is told and
    left out.

    build.md has the key build. A name that is no key becomes one, and is told: "my notes/to
    do.md" is my-notes.to-do. One that loses more than that, as an accent or a word in another
    script, has a mark behind it that is made from its whole path, as note-a9748821. So a file
    has the same key each time, whatever lies beside it, until it is renamed; of two files that
    come to one key neither is stored.

    An archive is one that export made. It is checked as a whole, against its checksums, before
    the first entry is stored; one that is damaged, or made to do harm, changes nothing.
    """
    if not source.exists() or not os.access(source, os.R_OK):
        raise UsageRefused(f"There is nothing at {source} that can be read. Name a folder, or an archive.")
    if not source.is_dir() and source.suffix.lower() in _NOTES:
        raise UsageRefused(
            f"The file {source} is one note. Store it with: jsmemory write KEY -d DESCRIPTION --content FILE"
        )
    chosen = guarded(choose(choice))
    if chosen.configuration.read_only:
        raise ReadOnlyStoreError

    async def work(on_progress: Progressed) -> MovingReport:
        async with opened_store(chosen, choice) as store:
            if source.is_dir():
                return await import_folder(source, store, overwrite=overwrite, dry_run=dry_run, on_progress=on_progress)
            return await import_archive(source, store, overwrite=overwrite, dry_run=dry_run, on_progress=on_progress)

    tell(choice, move("Importing", ENTRIES_LEFT, work))
