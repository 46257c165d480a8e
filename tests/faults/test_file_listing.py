"""Faults 14, 15 and 20: a listing is complete under writers, moves no bodies, and ends."""

import os
import subprocess
import sys

import pytest

from jsmemory.backends.file import FileBackend, FileStore, listing
from jsmemory.backends.file import locking as file_locking
from jsmemory.backends.file.locking import locked
from jsmemory.errors import BackendUnavailableError, IncompleteListingError

REWRITER = """
import asyncio, os, sys
from jsmemory.backends.file import FileStore

async def main():
    store = await FileStore.open(sys.argv[1], require_read_before_update=False)
    print("ready", flush=True)
    number = 0
    while True:
        number += 1
        await store.update(f"kept-{number % 150}", str(number), str(number) * 500, scope=None)
        if number % 3 == 0:
            await store.create(f"passing-{os.getpid()}-{number}", "d", "c", scope=None)
            await store.delete(f"passing-{os.getpid()}-{number}", scope=None)

asyncio.run(main())
"""


async def test_a_listing_under_rewriting_processes_never_lacks_an_entry_and_a_read_is_never_torn(tmp_path):
    """Fault 14: a list that drops what is being rewritten tells a model that it has no such memory."""
    store = await FileStore.open(tmp_path)
    for number in range(150):
        await store.create(f"kept-{number}", "0", "0" * 500, scope=None)
    kept = {f"kept-{number}" for number in range(150)}
    processes = [
        subprocess.Popen([sys.executable, "-c", REWRITER, str(tmp_path)], stdout=subprocess.PIPE) for _ in range(2)
    ]
    try:
        for process in processes:
            assert process.stdout.readline() == b"ready\n"
        for number in range(60):
            listed = {item.key: item.description for item in await store.list()}
            assert kept <= listed.keys()
            assert all(description.isdigit() for key, description in listed.items() if key in kept)
            description, content = await store.read(f"kept-{number}", scope=None)
            assert content == description * 500
        assert all(process.poll() is None for process in processes)
    finally:
        for process in processes:
            process.kill()
            process.wait()
            process.stdout.close()


async def test_no_writer_renames_while_the_names_are_read(tmp_path, monkeypatch):
    """Some file systems leave a name out that is renamed over meanwhile; a hammer on another one does not show it."""
    store = await FileStore.open(tmp_path)
    monkeypatch.setattr(file_locking, "PATIENCE", 0.05)
    real = listing.census
    kept_out = []

    def census_with_a_writer_at_the_door(directory):
        door = os.open(tmp_path, os.O_RDONLY)
        try:
            with locked(door, waiting=lambda: None):
                pass
        except BackendUnavailableError:
            kept_out.append(True)
        finally:
            os.close(door)
        return real(directory)

    monkeypatch.setattr(listing, "census", census_with_a_writer_at_the_door)
    await store.list()
    assert kept_out == [True]


async def test_an_entry_that_is_deleted_after_the_names_were_read_is_left_out(tmp_path, monkeypatch):
    """A listing must not fail because somebody tidies up at the same time."""
    store = await FileStore.open(tmp_path)
    for key in ("a", "b", "c"):
        await store.create(key, key, key, scope=None)
    real = listing.keys

    def and_then_b_goes(directory, **kwargs):
        found = real(directory, **kwargs)
        (tmp_path / "b.md").unlink()
        return found

    monkeypatch.setattr(listing, "keys", and_then_b_goes)
    assert [item.key for item in await store.list()] == ["a", "c"]


async def test_a_listing_moves_no_bodies(tmp_path, monkeypatch):
    """Fault 15: the start of every run costs 67 MB of reading in a full store."""
    store = await FileStore.open(tmp_path)
    for number in range(20):
        await store.create(f"k{number}", "d" * 500, "c" * 65_536, scope=None)
    moved = []
    real = os.read
    monkeypatch.setattr(os, "read", lambda *args: (moved.append(len(block := real(*args))), block)[1])
    assert len(await store.list()) == 20
    assert sum(moved) <= 20 * 8 * 1024 + 64


async def test_a_listing_behind_a_writer_that_hangs_ends_and_says_that_it_is_not_complete(tmp_path, monkeypatch):
    """Fault 20: one process that is stopped in the debugger holds up the start of every run."""
    store = await FileStore.open(tmp_path)
    await store.create("k", "d", "c", scope=None)
    monkeypatch.setattr(file_locking, "PATIENCE", 0.05)
    directory = os.open(tmp_path, os.O_RDONLY)
    try:
        with locked(directory, waiting=lambda: None):
            with pytest.raises(IncompleteListingError):
                await store.list()
            assert (await store.read("k", scope=None)).content == "c"
    finally:
        os.close(directory)


async def test_a_listing_of_a_directory_for_reading_only_notices_the_first_writer(tmp_path, monkeypatch):
    """Without a lock to share, the listing itself has to see that it may have missed something."""
    backend = await FileBackend.open(tmp_path)
    (tmp_path / ".lock").unlink()

    def not_allowed(directory, **kwargs):
        raise PermissionError(13, "not allowed")

    monkeypatch.setattr(listing, "locked", not_allowed)
    assert await backend.scan() == []
    real = listing.census

    def census_and_a_first_writer(directory):
        found = real(directory)
        (tmp_path / ".lock").touch()
        return found

    monkeypatch.setattr(listing, "census", census_and_a_first_writer)
    with pytest.raises(IncompleteListingError):
        await backend.scan()
