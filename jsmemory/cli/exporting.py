"""``jsmemory export``: all entries as a directory of Markdown files, or as one archive."""

from pathlib import Path
from typing import Annotated, Final

import typer

from jsmemory import FileStore, InProcessStore, InvalidOptionsError, MovingReport, Store, copy_entries, export_archive
from jsmemory.cli.choosing import choose
from jsmemory.cli.exits import SetupRefused, UsageRefused
from jsmemory.cli.moves import ENTRIES_LEFT, NOTHING_LEFT, move, tell
from jsmemory.cli.options import Choice
from jsmemory.cli.progressing import Progressed
from jsmemory.cli.sources import AllowEmpty, source_store

EXAMPLES: Final = ("jsmemory export backup.tar.gz", "jsmemory --bucket team --identity alice export ./notes")

_ARCHIVE: Final = (".tar.gz", ".tgz")
_OTHERS: Final = (".zip", ".tar", ".gz", ".bz2", ".xz", ".zst", ".7z", ".rar")


def export(
    choice: Choice,
    target: Annotated[Path, typer.Argument(metavar="DIR|FILE.tar.gz", help="A directory, or an archive.")],
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace the archive, or other values in the directory.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Compare only, and tell what would be done.")] = False,
    allow_empty: AllowEmpty = False,
) -> None:
    """
    Write every entry to a directory of Markdown files, or to one archive with checksums.

    The directory is that of a file store: it can be opened with --directory DIR --prefix "",
    and run again, export adds what is new. The archive holds the same files and a manifest
    with the SHA-256 of each; the same entries come to the same bytes, and it has its name only
    when it is whole and was read back. It is no snapshot of a store that is written to meanwhile.

    Where nothing is stored, nothing is written and the code is 1: a prefix that was mistyped is
    no backup. With --allow-empty it is. A bucket that is unfit to keep notes, as with a TTL, is
    exported with a warning.
    """
    is_archive = target.name.endswith(_ARCHIVE)
    _refuse(target, is_archive=is_archive, overwrite=overwrite)
    chosen = choose(choice)
    prefix = chosen.configuration.options.get("prefix", choice.who)
    where = f"under the prefix {prefix}" if prefix else "there"

    async def work(on_progress: Progressed) -> MovingReport:
        async with source_store(chosen, choice, where, allow_empty=allow_empty) as store:
            destination: Store = InProcessStore()
            try:
                if is_archive and not dry_run:
                    return await export_archive(store, target, overwrite=overwrite, on_progress=on_progress)
                if not is_archive and (target.exists() or not dry_run):
                    destination = await FileStore.open(target)
            except InvalidOptionsError as error:
                raise SetupRefused(f"The target {target} {error.problem}. {error.remedy}", error.code) from None
            return await copy_entries(store, destination, overwrite=overwrite, dry_run=dry_run, on_progress=on_progress)

    tell(choice, move("Exporting", NOTHING_LEFT if is_archive else ENTRIES_LEFT, work))


def _refuse(target: Path, *, is_archive: bool, overwrite: bool) -> None:
    if not is_archive and target.name.endswith(_OTHERS):
        raise UsageRefused(f"An archive is a .tar.gz, and {target} is none. Name one, or a directory.")
    if not is_archive and target.exists() and not target.is_dir():
        raise UsageRefused(f"The file {target} is no directory. Name another one, or a .tar.gz.")
    if is_archive and not target.parent.is_dir():
        raise UsageRefused(f"There is no folder {target.parent}. Make it, or name another one.")
    if is_archive and target.is_dir():
        raise UsageRefused(f"A folder {target} is there. Name another archive.")
    if is_archive and target.exists() and not overwrite:
        raise UsageRefused(f"The file {target} is there already. Name another one, or replace it with --overwrite.")
