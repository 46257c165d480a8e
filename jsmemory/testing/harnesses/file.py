"""A directory of Markdown files."""

import shutil
from pathlib import Path

import anyio

from jsmemory.backed_store import BackedStore
from jsmemory.backend import Backend
from jsmemory.backends.file import FileBackend
from jsmemory.store import Store
from jsmemory.testing.harness import BackendHarness


class FileHarness(BackendHarness):
    """
    Args:
        tmp_path: A folder of the harness's own; the keyspace is a directory in it.
        prefix: The sub-directory that the stores are opened under, or ``""``.
    """

    def __init__(self, tmp_path: Path, *, prefix: str = "team") -> None:
        self._folder = tmp_path / "memory"
        self._prefix = prefix

    async def drive(self) -> Backend:
        return await FileBackend.open(self._folder, prefix=self._prefix)

    async def plant(self, name: str, value: bytes) -> None:
        # As an editor saves: another file, in the place of the old one.
        place = anyio.Path(self._folder / self._prefix)
        await place.mkdir(parents=True, exist_ok=True)
        await (place / f"{name}.saved").write_bytes(value)
        await (place / f"{name}.saved").rename(place / f"{name}.md")

    async def peek(self, key: str) -> bytes | None:
        try:
            return await (anyio.Path(self._folder / self._prefix) / f"{key}.md").read_bytes()
        except FileNotFoundError:
            return None

    async def recreate(self) -> None:
        shutil.rmtree(self._folder)
        (self._folder / self._prefix).mkdir(parents=True)

    async def neighbour(self) -> Store:
        return BackedStore(await FileBackend.open(self._folder, prefix=f"{self._prefix}-too"))
