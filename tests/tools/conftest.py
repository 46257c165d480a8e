"""Stores to bind tools to: the real ones, and one that raises what it is told."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from nats.aio.client import Client

from jsmemory import Entry, FileStore, Info, InProcessStore, Item, JetStreamStore, MemoryTools, Scope, Store
from jsmemory.tools import Trace


@pytest.fixture
def in_process_store() -> Store:
    """An empty store in this process."""
    return InProcessStore()


@pytest.fixture
async def file_store(tmp_path: Path) -> Store:
    """An empty store of files."""
    return await FileStore.open(tmp_path / "memory")


@pytest.fixture
async def jetstream_store(nc: Client, bucket: str) -> Store:
    """An empty store on a real server."""
    return await JetStreamStore.bind(nc, bucket, "team")


@pytest.fixture(params=["in_process", "file", "jetstream"])
def store(request: pytest.FixtureRequest) -> Store:
    """An empty store of each backend."""
    each: Store = request.getfixturevalue(f"{request.param}_store")
    return each


class Raising(Store):
    """Raises one error from every method that does anything, and keeps what it was asked."""

    def __init__(self, error: BaseException) -> None:
        self.error = error
        self.calls: list[str] = []

    def _raise(self, method: str) -> Any:
        self.calls.append(method)
        raise self.error

    def info(self) -> Info:
        return Info("raising", "")

    async def list(self) -> tuple[Item, ...]:
        return self._raise("list")

    async def read(self, key: str, *, scope: Scope | None) -> Entry:
        return self._raise("read")

    async def create(self, key: str, description: str, content: str, *, scope: Scope | None) -> None:
        return self._raise("create")

    async def update(self, key: str, description: str, content: str, *, scope: Scope | None) -> None:
        return self._raise("update")

    async def delete(self, key: str, *, scope: Scope | None) -> bool:
        return self._raise("delete")


@pytest.fixture
def raising() -> Callable[[BaseException], Raising]:
    """A store that raises."""
    return Raising


@pytest.fixture
def traces() -> list[Trace]:
    """What the hook of `tools` was told."""
    return []


@pytest.fixture
def tools(store: Store, traces: list[Trace]) -> MemoryTools:
    """The tools of a run that begins, on each backend."""
    return MemoryTools(store, Scope(), hook=traces.append)
