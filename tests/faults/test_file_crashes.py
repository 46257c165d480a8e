"""Faults 26 and 30: whatever kills a writer, a reader finds the old value or the new one."""

import json
import os
import subprocess
import sys

import pytest

from jsmemory.backends.file import FileBackend, FileStore
from jsmemory.backends.file import locking as file_locking
from jsmemory.backends.file.locking import locked
from jsmemory.scope import Scope

AT_A_STEP = """
import asyncio, os, signal, sys
from jsmemory.backends.file import FileStore
from jsmemory.scope import Scope

directory, verb, call, moment = sys.argv[1:]
real = getattr(os, call)

def die():
    os.kill(os.getpid(), signal.SIGKILL)

def deadly(*args, **kwargs):
    if moment == "before":
        die()
    if moment == "half":
        real(args[0], bytes(args[1])[: len(args[1]) // 2])
        die()
    answer = real(*args, **kwargs)
    die()
    return answer

async def main():
    store, scope = await FileStore.open(directory), Scope()
    await store.read("k", scope=scope)
    setattr(os, call, deadly)
    if verb == "update":
        await store.update("k", "the new one", "new " * 15000, scope=scope)
    elif verb == "create":
        await store.create("n", "the new one", "new " * 15000, scope=scope)
    else:
        await store.delete("k", scope=scope)

asyncio.run(main())
"""

STEPS = [
    ("update", "write", "before"),
    ("update", "write", "half"),
    ("update", "fsync", "before"),
    ("update", "replace", "before"),
    ("update", "replace", "after"),
    ("create", "write", "half"),
    ("create", "link", "before"),
    ("create", "link", "after"),
    ("create", "unlink", "after"),
    ("delete", "unlink", "before"),
    ("delete", "unlink", "after"),
]


@pytest.mark.parametrize(("verb", "call", "moment"), STEPS, ids=[" ".join(step) for step in STEPS])
async def test_a_writer_that_is_killed_at_a_step_leaves_the_old_value_or_the_new_one(tmp_path, verb, call, moment):
    """Fault 30: a torn value is worse than none; the model believes what is left of it."""
    store = await FileStore.open(tmp_path)
    await store.create("k", "the old one", "old " * 15000, scope=None)
    await store.create("other", "not touched", "other", scope=None)
    died = subprocess.run([sys.executable, "-c", AT_A_STEP, str(tmp_path), verb, call, moment], timeout=60)
    assert died.returncode == -9

    entries = {item.key: tuple(await store.read(item.key, scope=None)) for item in await store.list()}
    assert entries.pop("other") == ("not touched", "other")
    before = {"k": ("the old one", "old " * 15000)}
    after = {
        "update": {"k": ("the new one", "new " * 15000)},
        "create": {**before, "n": ("the new one", "new " * 15000)},
        "delete": {},
    }[verb]
    assert entries in (before, after)
    assert entries == (after if moment == "after" else before)

    scope = Scope()
    await store.create("next", "the dead one blocks nobody", "", scope=scope)
    await store.update("next", "nor this one", "", scope=scope)
    assert sorted(os.listdir(tmp_path)) == sorted(
        [".lock", ".realm", "next.md", "other.md"] + [f"{k}.md" for k in entries]
    )


AT_RANDOM = """
import asyncio, json, os, random, signal, sys, time
from jsmemory import frontmatter
from jsmemory.backends.file import FileStore
from jsmemory.scope import Scope

directory, rounds = sys.argv[1], int(sys.argv[2])

async def rewrite(under_way):
    store, scope = await FileStore.open(directory), Scope()
    await store.read("k", scope=scope)
    while True:
        for letter in "ab":
            await store.update("k", letter, letter * 60000, scope=scope)
            os.write(under_way, b".")

seen = []
for number in range(rounds):
    watching, under_way = os.pipe()
    child = os.fork()
    if not child:
        asyncio.run(rewrite(under_way))
    os.read(watching, 1)
    time.sleep(random.random() * 0.01)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    os.close(watching)
    os.close(under_way)
    with open(os.path.join(directory, "k.md"), "rb") as file:
        description, content = frontmatter.parse(file.read())
    seen.append(description in ("a", "b") and content == description * 60000)
print(json.dumps(seen))
"""


async def test_writers_that_are_killed_at_random_never_leave_a_torn_value(tmp_path):
    """Fault 30 again, at moments that nobody thought of."""
    store = await FileStore.open(tmp_path)
    await store.create("k", "begin", "begin", scope=None)
    ran = subprocess.run(
        [sys.executable, "-c", AT_RANDOM, str(tmp_path), "30"], capture_output=True, text=True, timeout=120, check=True
    )
    assert json.loads(ran.stdout) == [True] * 30
    await store.create("next", "nobody is blocked", "", scope=None)
    assert sorted(os.listdir(tmp_path)) == [".lock", ".realm", "k.md", "next.md"]


async def test_what_a_dead_writer_left_is_no_entry_and_is_swept_at_the_next_opening(tmp_path):
    """Fault 26: leftovers that are listed are ghosts; leftovers that stay fill the disk."""
    store = await FileStore.open(tmp_path)
    (tmp_path / ".tmp-dead").write_bytes(b"half a val")
    assert await store.list() == ()
    await FileStore.open(tmp_path)
    assert sorted(os.listdir(tmp_path)) == [".lock", ".realm"]


async def test_what_a_dead_writer_left_is_swept_by_the_next_create(tmp_path):
    """A store that stays open for months is never opened again."""
    store = await FileStore.open(tmp_path)
    (tmp_path / ".tmp-dead").write_bytes(b"half a val")
    await store.create("k", "d", "c", scope=None)
    assert sorted(os.listdir(tmp_path)) == [".lock", ".realm", "k.md"]


async def test_what_a_living_writer_has_staged_is_not_swept(tmp_path, monkeypatch):
    """A run that starts must not make the write of another one fail."""
    await FileBackend.open(tmp_path)
    monkeypatch.setattr(file_locking, "PATIENCE", 0.05)
    directory = os.open(tmp_path, os.O_RDONLY)
    try:
        with locked(directory, waiting=lambda: None):
            (tmp_path / ".tmp-alive").write_bytes(b"half a val")
            await FileBackend.open(tmp_path)
            assert (tmp_path / ".tmp-alive").exists()
    finally:
        os.close(directory)
