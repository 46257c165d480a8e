"""Faults 8, 10, 11 and 29: independent processes on one directory lose nothing and exceed nothing."""

import os
import subprocess
import sys
from collections import Counter

import pytest

from jsmemory.backends.file import FileStore
from jsmemory.errors import EntryExistsError
from jsmemory.limits import MAX_ENTRIES

WORKER = """
import asyncio, sys
from jsmemory.backends.file import FileStore
from jsmemory.errors import EntryExistsError, StaleEntryError, StoreFullError
from jsmemory.scope import Scope

directory, mine, job = sys.argv[1:]

async def main():
    store = await FileStore.open(directory)
    print("ready", flush=True)
    sys.stdin.readline()
    await globals()[job](store)

async def twenty_creates(store):
    for number in range(20):
        await store.create(f"{mine}-{number}", "one of twenty", mine, scope=None)

async def last_places(store):
    for number in range(3):
        try:
            await store.create(f"late-{mine}-{number}", "late", "", scope=None)
            print("created")
        except StoreFullError:
            print("full")

async def the_same_creates(store):
    for number in range(10):
        try:
            await store.create(f"same-{number}", "the same", mine, scope=None)
            print(f"{number} created")
        except EntryExistsError:
            print(f"{number} exists")

async def the_same_deletes(store):
    for number in range(10):
        print(number, await store.delete(f"same-{number}", scope=None))

async def increments(store):
    scope = Scope()
    for _ in range(25):
        while True:
            entry = await store.read("counter", scope=scope)
            try:
                await store.update("counter", "counts", str(int(entry.content) + 1), scope=scope)
                break
            except StaleEntryError:
                continue

asyncio.run(main())
"""


def run(directory, job, workers):
    """Start so many processes, let them go at the same moment, and give what each of them said."""
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", WORKER, str(directory), str(number), job],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for number in range(workers)
    ]
    try:
        for process in processes:
            assert process.stdout.readline() == "ready\n"
        for process in processes:
            process.stdin.write("go\n")
            process.stdin.flush()
        said = [process.communicate(timeout=120)[0].splitlines() for process in processes]
        assert [process.returncode for process in processes] == [0] * workers
        return said
    finally:
        for process in processes:
            process.kill()
            process.wait()


async def test_two_processes_with_twenty_creates_each_leave_forty(tmp_path):
    """Fault 29: the servers that people report keep one file and lose what the other process wrote."""
    run(tmp_path, "twenty_creates", 2)
    store = await FileStore.open(tmp_path)
    listed = [item.key for item in await store.list()]
    assert listed == sorted(f"{worker}-{number}" for worker in range(2) for number in range(20))
    for key in listed:
        assert (await store.read(key, scope=None)).content == key[0]


async def test_sixteen_processes_that_race_for_the_last_places_leave_exactly_the_capacity(tmp_path):
    """Fault 11: each sees one place left, and all of them take it."""
    for number in range(MAX_ENTRIES - 10):
        (tmp_path / f"early-{number}.md").write_bytes(b"")
    said = Counter(line for lines in run(tmp_path, "last_places", 16) for line in lines)
    assert said == {"created": 10, "full": 38}
    assert len(await (await FileStore.open(tmp_path)).list()) == MAX_ENTRIES


@pytest.mark.parametrize("history", ["new", "deleted"])
async def test_of_processes_that_create_one_key_exactly_one_succeeds(tmp_path, history):
    """Fault 8: both believe that their note is stored, also where the key was deleted before."""
    store = await FileStore.open(tmp_path)
    if history == "deleted":
        for number in range(10):
            await store.create(f"same-{number}", "before", "before", scope=None)
            await store.delete(f"same-{number}", scope=None)
    said = run(tmp_path, "the_same_creates", 4)
    for number in range(10):
        winners = [worker for worker, lines in enumerate(said) if f"{number} created" in lines]
        assert len(winners) == 1
        assert (await store.read(f"same-{number}", scope=None)).content == str(winners[0])


async def test_of_processes_that_delete_one_entry_exactly_one_is_told_that_it_did(tmp_path):
    """Two runs that both "took" a task off the list do it twice."""
    store = await FileStore.open(tmp_path)
    for number in range(10):
        await store.create(f"same-{number}", "to be taken", "", scope=None)
    said = Counter(line for lines in run(tmp_path, "the_same_deletes", 4) for line in lines)
    for number in range(10):
        assert said[f"{number} True"] == 1
        assert said[f"{number} False"] == 3


async def test_two_processes_with_twenty_five_increments_each_count_to_fifty(tmp_path):
    """Fault 8: of two writers of one memory the last wins silently, and a decision is lost."""
    store = await FileStore.open(tmp_path)
    await store.create("counter", "counts", "0", scope=None)
    run(tmp_path, "increments", 2)
    assert (await store.read("counter", scope=None)).content == "50"


async def test_a_place_that_another_process_freed_can_be_used_at_once(tmp_path):
    """Fault 10: a store that counted once says "full" long after others made room."""
    for number in range(MAX_ENTRIES):
        (tmp_path / f"early-{number}.md").write_bytes(b"")
    store, other = await FileStore.open(tmp_path), await FileStore.open(tmp_path)
    with pytest.raises(EntryExistsError):
        await store.create("early-7", "again", "", scope=None)
    await other.delete("early-7", scope=None)
    await store.create("late", "fits", "", scope=None)


async def test_the_store_of_a_forked_child_works_beside_its_parents(tmp_path):
    """Hosts that fork their workers share whatever a store would keep open."""
    store = await FileStore.open(tmp_path)
    await store.create("k", "before the fork", "", scope=None)
    script = """
import asyncio, os, sys
from jsmemory.backends.file import FileStore
store = asyncio.run(FileStore.open(sys.argv[1]))
async def work(name):
    for number in range(5):
        await store.create(f"{name}-{number}", "forked", "", scope=None)
child = os.fork()
asyncio.run(work("parent" if child else "child"))
if child:
    assert os.waitpid(child, 0)[1] == 0
os._exit(0)
"""
    subprocess.run([sys.executable, "-c", script, os.fspath(tmp_path)], check=True, timeout=60)
    assert len(await store.list()) == 11
