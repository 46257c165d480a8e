"""A file without bounds takes neither the memory nor the time of whoever shares its directory."""

import os
import time
import tracemalloc
from pathlib import Path

import pytest

from jsmemory import (
    MAX_READ_BYTES,
    EntryExistsError,
    EntryTooLargeError,
    FileStore,
    Item,
    MemoryTools,
    Outcome,
    Scope,
    StaleEntryError,
    Verdict,
    examine_directory,
    export_archive,
)
from jsmemory.backends.file import regular

HUGE = 3 * 1024**3
HEADER = b'---\ndescription: "planted"\n---\n\n'
LITTLE = 4 * 1024**2
"""Bytes that a call may take."""


def plant(path: Path, size: int) -> None:
    """A file of that size, most of which is a hole and lies on no disk."""
    path.write_bytes(HEADER)
    os.truncate(path, size)


@pytest.fixture
async def store(tmp_path: Path) -> FileStore:
    """A store in whose directory somebody has planted a file."""
    store = await FileStore.open(tmp_path)
    plant(tmp_path / "huge.md", HUGE)
    return store


async def test_a_huge_file_is_refused_and_not_read(store: FileStore) -> None:
    """One file of 300 MiB ended the process of every agent that read it."""
    began = time.monotonic()
    tracemalloc.start()
    try:
        with pytest.raises(EntryTooLargeError) as refused:
            await store.read("huge", scope=Scope())
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert (refused.value.size, refused.value.limit) == (HUGE, MAX_READ_BYTES)
    assert "delete it" in str(refused.value)
    assert peak < LITTLE
    assert time.monotonic() - began < 5


async def test_a_huge_file_is_listed_by_its_header(store: FileStore) -> None:
    """What nobody sees nobody removes."""
    tracemalloc.start()
    try:
        assert await store.list() == (Item("huge", "planted"),)
        async with store.live() as view:
            assert await view.list() == (Item("huge", "planted"),)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < LITTLE


async def test_a_huge_file_is_replaced_by_nobody_and_can_be_deleted(store: FileStore, tmp_path: Path) -> None:
    """It is another program's, and in the way."""
    scope = Scope()
    with pytest.raises(EntryExistsError):
        await store.create("huge", "d", "c", scope=scope)
    with pytest.raises(StaleEntryError):
        await store.update("huge", "d", "c", scope=scope)
    unguarded = await FileStore.open(tmp_path, require_read_before_update=False)
    with pytest.raises(EntryTooLargeError):
        await unguarded.update("huge", "d", "c", scope=None)
    assert await store.delete("huge", scope=scope) is True
    await store.create("huge", "d", "c", scope=scope)
    plant(tmp_path / "huge.md", HUGE)
    with pytest.raises(EntryTooLargeError):
        await store.update("huge", "d", "e", scope=scope)
    assert (tmp_path / "huge.md").stat().st_size == HUGE


async def test_the_largest_value_of_a_bucket_can_be_read_from_a_file(tmp_path: Path) -> None:
    """The twins would not hold the same otherwise."""
    store = await FileStore.open(tmp_path)
    plant(tmp_path / "large.md", MAX_READ_BYTES)
    description, content = await store.read("large", scope=None)
    assert (description, len(content)) == ("planted", MAX_READ_BYTES - len(HEADER))
    plant(tmp_path / "large.md", MAX_READ_BYTES + 1)
    with pytest.raises(EntryTooLargeError):
        await store.read("large", scope=None)


def test_a_file_that_grows_while_it_is_read_is_not_read_to_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its size was looked at before; this one says that it has none."""
    monkeypatch.setattr(regular, "MAX_READ_BYTES", 10)
    directory = os.open("/proc/self", os.O_RDONLY)
    try:
        with pytest.raises(EntryTooLargeError) as refused:
            regular.read(directory, "maps")
    finally:
        os.close(directory)
    assert refused.value.size == 11


async def test_a_model_is_told_of_a_huge_file_in_words_of_its_own(store: FileStore) -> None:
    """Told to shorten a content it would try to write."""
    answer = await MemoryTools(store, Scope()).call("memory_read", {"key": "huge"})
    assert answer.is_error
    assert answer.body == {"read": False, "code": "entry_too_large", "reason": answer.body["reason"]}
    assert "Nothing was read" in answer.body["reason"]
    assert "Shorten" not in answer.body["reason"]


async def test_a_huge_file_keeps_none_of_the_others_from_being_moved(store: FileStore, tmp_path: Path) -> None:
    """A backup that is refused for one file is none of the others either."""
    await store.create("fine", "d", "c", scope=None)
    report = await export_archive(store, tmp_path / "backup.tar.gz")
    assert report.counts == {Outcome.CREATED: 1, Outcome.REFUSED: 1}


async def test_a_doctor_names_a_huge_file(store: FileStore, tmp_path: Path) -> None:
    """Its operator hears of it before an agent is refused."""
    (check,) = [each for each in (await examine_directory(tmp_path)).checks if each.name == "unbounded"]
    assert (check.verdict, check.said) == (Verdict.WARNING, "1 (huge.md)")
    (oversize,) = [each for each in (await examine_directory(tmp_path)).checks if each.name == "oversize"]
    assert oversize.verdict is Verdict.OK, "those can be read"
