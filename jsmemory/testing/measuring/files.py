"""The create of the file store against a bare write, fsync and rename."""

import os
import tempfile
from functools import partial
from pathlib import Path
from typing import Final

from jsmemory.backends.file import FileStore
from jsmemory.entries import Draft
from jsmemory.errors import BackendUnavailableError
from jsmemory.frontmatter import serialise
from jsmemory.testing.measuring.comparing import Comparison, Turns

ROUNDS: Final = 200
_UNMEASURED: Final = 5
_KEPT: Final = 500


async def measure_files(directory: Path | None = None, *, rounds: int = ROUNDS, size: int = 4096) -> Comparison:
    """
    Time creates of a file store.

    Args:
        directory: On which disk; a folder is made in it and removed. By default the system's
            folder for temporary files.
        rounds: How often each is timed.
        size: Bytes of a content.

    Raises:
        BackendUnavailableError: the folder can be neither made nor written.
    """
    try:
        with tempfile.TemporaryDirectory(prefix=".jsmemory-bench-", dir=directory) as place:
            return await _measure(Path(place), rounds + _UNMEASURED, size)
    except OSError:
        raise BackendUnavailableError(
            "The folder to measure files in cannot be written.", "Name another directory."
        ) from None


async def _measure(place: Path, rounds: int, size: int) -> Comparison:
    bare = place / "bare"
    bare.mkdir()
    turns = Turns(_UNMEASURED)
    store = await FileStore.open(place / "store0")
    for number in range(rounds):
        if number and number % _KEPT == 0:
            store = await FileStore.open(place / f"store{number}")
        description, content = f"What was measured in write {number}", f"{number:08}".ljust(size, "x")[:size]
        value = serialise(Draft.of(description, content))
        await turns.raw(partial(_write, bare, f"{number}.md", value))
        await turns.store(partial(store.create, f"entry-{number}", description, content, scope=None))
    return turns.comparison()


async def _write(folder: Path, name: str, value: bytes) -> None:
    staged = folder / f".tmp-{name}"
    file = os.open(staged, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    try:
        os.write(file, value)
        os.fsync(file)
    finally:
        os.close(file)
    staged.rename(folder / name)
