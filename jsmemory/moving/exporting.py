"""From a store into one archive."""

import os
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractContextManager, asynccontextmanager, closing
from pathlib import Path
from typing import TypeVar

import anyio
from anyio import to_thread

from jsmemory import frontmatter
from jsmemory.entries import Item
from jsmemory.errors import (
    AccessDeniedError,
    EntryNotFoundError,
    InvalidOptionsError,
    JsMemoryError,
    RequestError,
)
from jsmemory.layers.retry import RetryingStore
from jsmemory.limits import MAX_ENTRIES
from jsmemory.moving.archive.format import name_of
from jsmemory.moving.archive.packing import Packing, check, staged
from jsmemory.moving.carrying import fit
from jsmemory.moving.crew import AT_ONCE
from jsmemory.moving.report import Moved, MovingReport, Outcome, Progressed, unheeded
from jsmemory.store import Store

_T = TypeVar("_T")


async def export_archive(
    source: Store,
    archive: str | os.PathLike[str],
    *,
    overwrite: bool = False,
    at_once: int = AT_ONCE,
    on_progress: Progressed = unheeded,
) -> MovingReport:
    """
    Put every entry of a store into one file, with a manifest of checksums, and read it back.

    The file has its name only when it is whole. The same entries come to the same bytes. It is
    no snapshot: what is written meanwhile may be in it or not. For a directory of files instead,
    `copy_entries` to a `FileStore`.

    Args:
        source: Where from; only read.
        archive: A .tar.gz, in a folder that is there.
        overwrite: Whether it takes the place of a file of that name.
        at_once: Entries that are read at once; no more than these are held in memory.
        on_progress: Told after each entry.

    Returns:
        What became of each entry: in the archive (``created``), or not, and why.

    Raises:
        InvalidOptionsError: something is there already, the name is none for a file, or there are
            more entries than a store holds.
        AccessDeniedError: the store may not be listed, or the folder not be written to.
        BackendUnavailableError: the store could not be read to its end, or the disk is full;
            there is no archive then.
        IncompleteListingError: the store could not be listed.
    """
    if at_once < 1:
        raise ValueError("It takes one task or more.")
    source = RetryingStore(source)
    async with _in_threads(staged(Path(archive), overwrite=overwrite)) as file:
        items = await source.list()
        if len(items) > MAX_ENTRIES:
            # A whole bucket may hold the stores of many agents.
            problem = f"holds {len(items):,} entries, and an archive those of one store, {MAX_ENTRIES:,}"
            raise InvalidOptionsError("source", problem, "Export it prefix by prefix.")
        moved: list[Moved] = []
        with closing(Packing(file)) as packing:
            for begin in range(0, len(items), at_once):
                read = await _read(source, items[begin : begin + at_once])
                await to_thread.run_sync(_add, packing, read)
                moved += (each for each, _ in read)
                on_progress(len(moved), len(items))
            manifest = await to_thread.run_sync(packing.finish)
        await to_thread.run_sync(check, file, manifest)
    return MovingReport(tuple(moved))


async def _read(source: Store, items: Sequence[Item]) -> list[tuple[Moved, bytes]]:
    """Some entries as they are stored, in their order; empty for those that cannot be had."""
    read: dict[str, tuple[Moved, bytes]] = {}
    raised: list[JsMemoryError] = []

    async def read_one(key: str) -> None:
        try:
            description, content = await source.read(key, scope=None)
            value = frontmatter.serialise(fit((description, content)))
        except EntryNotFoundError:
            read[key] = Moved(key, key, Outcome.GONE), b""
        except RequestError as error:
            read[key] = Moved(key, key, Outcome.REFUSED, error.code, str(error)), b""
        except AccessDeniedError as error:
            read[key] = Moved(key, key, Outcome.FAILED, error.code, str(error)), b""
        except JsMemoryError as error:
            raised.append(error)
        else:
            read[key] = Moved(key, key, Outcome.CREATED), value

    async with anyio.create_task_group() as tasks:
        for item in items:
            tasks.start_soon(read_one, item.key)
    if raised:
        # What is missing from an archive would be missed when it is needed.
        raise raised[0]
    return [read[item.key] for item in items]


def _add(packing: Packing, read: Sequence[tuple[Moved, bytes]]) -> None:
    for moved, value in read:
        if value:
            packing.add(name_of(moved.key), value)


@asynccontextmanager
async def _in_threads(manager: AbstractContextManager[_T]) -> AsyncIterator[_T]:
    """Enter and leave a context that waits for the disk, without keeping others from running."""
    entered = await to_thread.run_sync(manager.__enter__)
    try:
        yield entered
    except BaseException as error:
        if not manager.__exit__(type(error), error, error.__traceback__):
            raise
    else:
        await to_thread.run_sync(manager.__exit__, None, None, None)
