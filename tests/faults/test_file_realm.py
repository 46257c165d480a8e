"""Fault 5: authority that was earned in one directory is worth nothing in another one."""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from jsmemory.backends.file import FileBackend, FileStore
from jsmemory.errors import StaleEntryError
from jsmemory.scope import Scope


async def test_authority_outlives_the_process(tmp_path):
    """A suspended run that goes on elsewhere would have to read everything again."""
    scope = Scope()
    await (await FileStore.open(tmp_path)).create("k", "d", "1", scope=scope)
    later = Scope()
    assert later.restore(scope.snapshot()) is None
    await (await FileStore.open(tmp_path)).update("k", "d", "2", scope=later)


async def test_authority_is_void_in_a_directory_that_was_made_anew(tmp_path):
    """The note that is there now has never been seen, even if it looks like the one that was."""
    scope = Scope()
    path = tmp_path / "notes"
    await (await FileStore.open(path)).create("k", "d", "1", scope=scope)
    shutil.rmtree(path)
    await (await FileStore.open(path)).create("k", "d", "1", scope=None)
    with pytest.raises(StaleEntryError) as refused:
        await (await FileStore.open(path)).update("k", "d", "2", scope=scope)
    assert refused.value.reason == "unread"


async def test_a_store_notices_that_its_directory_was_made_anew_under_it(tmp_path):
    """A run of weeks outlives an operator's clean-up; the system gives out the old numbers again."""
    path = tmp_path / "notes"
    backend = await FileBackend.open(path)
    realms = {backend.describe().realm}
    for _ in range(5):
        shutil.rmtree(path)
        path.mkdir()
        assert await backend.load("k") is None
        realms.add(backend.describe().realm)
    assert len(realms) == 6
    assert backend.describe().realm == (await FileBackend.open(path)).describe().realm


async def test_a_directory_that_was_moved_keeps_its_identity(tmp_path):
    """An operator who renames a directory has not made another one."""
    first = await FileBackend.open(tmp_path / "a")
    (tmp_path / "a").rename(tmp_path / "b")
    second = await FileBackend.open(tmp_path / "b")
    assert first.describe() == second.describe()


async def test_each_prefix_is_a_realm_of_its_own(tmp_path):
    """What one agent has read in its directory is no authority in another's."""
    scope = Scope()
    store, other = await FileStore.open(tmp_path, prefix="a"), await FileStore.open(tmp_path, prefix="b")
    await store.create("k", "d", "1", scope=scope)
    await other.create("k", "d", "1", scope=None)
    with pytest.raises(StaleEntryError):
        await other.update("k", "d", "2", scope=scope)
    flat = await FileStore.open(tmp_path)
    assert await flat.list() == ()
    assert sorted(path.name for path in tmp_path.glob("*/k.md")) == ["k.md", "k.md"]


@pytest.mark.parametrize("planted", [b"", b"x", b"0" * 31, b"0" * 33, b"G" * 32, b"../" * 11])
async def test_a_token_that_was_not_made_here_identifies_nothing(tmp_path, planted):
    """Two directories with an empty file each would be taken for one."""
    (tmp_path / ".realm").write_bytes(planted)
    first, second = await FileBackend.open(tmp_path), await FileBackend.open(tmp_path)
    assert first.describe().realm != second.describe().realm
    before = first.describe().realm
    await first.load("k")
    assert first.describe().realm == before


@pytest.mark.parametrize("kind", ["link", "pipe", "directory"])
async def test_a_token_that_is_no_file_is_not_followed(tmp_path, kind):
    """A link to another directory's token would lend its authority."""
    other = await FileBackend.open(tmp_path / "other")
    path = tmp_path / "notes"
    path.mkdir()
    match kind:
        case "link":
            (path / ".realm").symlink_to("../other/.realm")
        case "pipe":
            os.mkfifo(path / ".realm")
        case "directory":
            (path / ".realm").mkdir()
    backend = await FileBackend.open(path)
    assert backend.describe().realm.startswith("file:")
    assert backend.describe().realm != other.describe().realm


async def test_processes_that_open_a_new_directory_at_once_agree_on_its_identity(tmp_path):
    """Authority that is valid in one process and void in the next one looks like a lost update."""
    script = (
        "import asyncio, sys; from jsmemory.backends.file import FileBackend; "
        "print(asyncio.run(FileBackend.open(sys.argv[1])).describe().realm)"
    )
    processes = [
        subprocess.Popen([sys.executable, "-c", script, str(tmp_path / "new")], stdout=subprocess.PIPE, text=True)
        for _ in range(4)
    ]
    realms = {process.communicate(timeout=60)[0] for process in processes}
    assert len(realms) == 1
    assert realms.pop().startswith("file:")


READ_ONLY = """
import asyncio, os, sys
from jsmemory.backends.file import FileStore
from jsmemory.errors import AccessDeniedError
from jsmemory.scope import Scope

root = sys.argv[1]

async def warm_up():
    store = await FileStore.open(root + "/warm")
    await store.create("k", "d", "c", scope=None)

asyncio.run(warm_up())  # so that nothing has to be imported without permissions
if os.geteuid() == 0:
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)

async def main():
    first, second, scope = await FileStore.open(root + "/notes"), await FileStore.open(root + "/notes"), Scope()
    print([item.key for item in await first.list()])
    print((await first.read("k", scope=scope)).content)
    print(len(scope.snapshot()["realms"]), first._backend.describe() == second._backend.describe())
    writes = [
        first.create("n", "d", "c", scope=scope),
        first.update("k", "d", "c", scope=scope),
        first.delete("k", scope=scope),
    ]
    for write in writes:
        try:
            await write
        except AccessDeniedError as refusal:
            print(refusal.permission)

asyncio.run(main())
"""


@pytest.mark.parametrize("history", ["never opened", "opened before"])
async def test_a_directory_for_reading_only_can_be_read_and_its_authority_does_not_outlive_the_store(history):
    """An operator who hands out notes for reading must not have to hand out writing too."""
    with tempfile.TemporaryDirectory() as root:
        # Not in the directory of the tests: no other account may enter that.
        Path(root).chmod(0o755)
        notes = Path(root) / "notes"
        notes.mkdir()
        if history == "opened before":
            await FileStore.open(notes)
        (notes / "k.md").write_bytes(b'---\ndescription: "d"\n---\n\ncontent')
        notes.chmod(0o555)
        ran = subprocess.run(
            [sys.executable, "-c", READ_ONLY, root], capture_output=True, text=True, timeout=60, check=True
        )
        notes.chmod(0o755)
    same = history == "opened before"
    assert ran.stdout.splitlines() == ["['k']", "content", f"1 {same}"] + ["write to the memory directory"] * 3
