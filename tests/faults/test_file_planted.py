"""Faults 17, 23, 24, 28 and 35: what somebody else put into the directory harms nothing and is left alone."""

import asyncio
import os
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from jsmemory.backend import Record
from jsmemory.backends.file import FileBackend, FileStore
from jsmemory.entries import Item
from jsmemory.errors import EntryNotFoundError, InvalidKeyError, StoreFullError
from jsmemory.scope import Scope


def plant(kind, path):
    match kind:
        case "directory":
            path.mkdir()
        case "pipe":
            os.mkfifo(path)
        case "socket":
            before = os.getcwd()
            os.chdir(path.parent)  # the name of a socket is short, a test's directory is not
            try:
                with socket.socket(socket.AF_UNIX) as listener:
                    listener.bind(path.name)
            finally:
                os.chdir(before)
        case "link":
            (path.parent / "target").write_bytes(b'---\ndescription: "secret"\n---\n\nsecret')
            path.symlink_to("target")
        case "dangling link":
            path.symlink_to("nowhere")
        case "link to a device":
            path.symlink_to("/dev/zero")


def looks(path):
    status = os.lstat(path)
    return status.st_mode, status.st_ino, status.st_mtime_ns


@pytest.mark.parametrize("kind", ["directory", "pipe", "socket", "link", "dangling link", "link to a device"])
async def test_what_is_no_regular_file_is_invisible_and_stays(tmp_path, kind):
    """Fault 23: one pipe hangs every read for ever. Fault 24: deleting a key removes somebody's directory."""
    store = await FileStore.open(tmp_path)
    await store.create("real", "an entry", "content", scope=None)
    path = tmp_path / "k.md"
    plant(kind, path)
    before = looks(path)

    async def everything():
        assert [item.key for item in await store.list()] == ["real"]
        with pytest.raises(EntryNotFoundError):
            await store.read("k", scope=Scope())
        assert await store.delete("k", scope=None) is False
        with pytest.raises(InvalidKeyError, match="taken") as refused:
            await store.create("k", "d", "c", scope=None)
        assert str(refused.value).endswith("Choose another key, or ask its operator to move it away.")
        unguarded = await FileStore.open(tmp_path, require_read_before_update=False)
        with pytest.raises(InvalidKeyError, match="taken"):
            await unguarded.update("k", "d", "c", scope=None)

    try:
        await asyncio.wait_for(everything(), 20)
    finally:
        if kind == "pipe":
            os.close(os.open(path, os.O_RDWR | os.O_NONBLOCK))  # frees a reader that hangs, where there is one
    assert looks(path) == before
    if kind == "link":
        assert (tmp_path / "target").read_bytes().endswith(b"secret")
    assert not (tmp_path / "nowhere").exists()
    assert sorted(os.listdir(tmp_path)) == sorted(
        {".lock", ".realm", "k.md", "real.md"} | ({"target"} & set(os.listdir(tmp_path)))
    )


async def test_what_is_no_entry_does_not_count(tmp_path):
    """Fault 17: a store that is full of things that nobody can list cannot be emptied by its users."""
    backend = await FileBackend.open(tmp_path)
    for kind in ("directory", "pipe", "socket", "link", "dangling link"):
        plant(kind, tmp_path / f"{kind.replace(' ', '-')}.md")
    for name in ("bad key.md", ".hidden.md", "x.txt", "a..b.md", "noext"):
        (tmp_path / name).write_bytes(b"text")
    assert await backend.scan() == []
    store = await FileStore.open(tmp_path)
    record = Record(b'---\ndescription: "d"\n---\n\nc', "d")
    await backend.insert("one", record, capacity=2)
    await backend.insert("two", record, capacity=2)
    with pytest.raises(StoreFullError):
        await backend.insert("three", record, capacity=2)
    assert [item.key for item in await store.list()] == ["one", "two"]


@pytest.mark.parametrize("name", ["bad key.md", ".hidden.md", "x.txt", "a..b.md"])
async def test_a_name_that_is_no_key_stays_byte_for_byte(tmp_path, name):
    """An operator's own file in the directory is theirs."""
    (tmp_path / name).write_bytes(b"mine")
    store = await FileStore.open(tmp_path)
    await store.create("k", "d", "c", scope=None)
    await store.delete("k", scope=None)
    assert (tmp_path / name).read_bytes() == b"mine"


BROKEN = {
    "never-closed": b"---\ndescription: half a header\n",
    "no-header": b"just text\n",
    "no-utf-8": b"---\ndescription: \xff\xfe\n---\n\n\xff",
    "no-yaml": b"---\ndescription: [unclosed\n---\n\nbody",
    "two-documents": b"---\na: 1\n---\nb: 2\n---\nbody",
    "carriage-returns": b"---\r\ndescription: x\r\n---\r\nbody",
    "own-fields": b"---\ntags: [a, b]\ndescription: kept\n---\nbody",
    "empty": b"",
    "nul": b"\0" * 100,
}


async def test_broken_front_matter_stays_byte_for_byte_until_somebody_updates_that_key(tmp_path):
    """Fault 35: a tool that "repairs" a header it does not understand wipes a person's note."""
    for key, value in BROKEN.items():
        (tmp_path / f"{key}.md").write_bytes(value)
    store, scope = await FileStore.open(tmp_path), Scope()
    assert [item.key for item in await store.list()] == sorted(BROKEN)
    for key in BROKEN:
        await store.read(key, scope=scope)
    await store.create("other", "d", "c", scope=scope)
    await store.update("other", "d", "c2", scope=scope)
    await store.delete("other", scope=scope)
    await store.list()
    await FileStore.open(tmp_path)
    assert {key: (tmp_path / f"{key}.md").read_bytes() for key in BROKEN} == BROKEN

    await store.update("empty", "mended", "now it has one", scope=scope)
    assert tuple(await store.read("empty", scope=None)) == ("mended", "now it has one")
    others = BROKEN.keys() - {"empty"}
    assert all((tmp_path / f"{key}.md").read_bytes() == BROKEN[key] for key in others)


@pytest.mark.parametrize("size", [0, 100, 8 * 1024 - 40, 8 * 1024, 20_000, 60_000])
async def test_a_listing_and_a_read_agree_on_the_description_of_a_planted_header(tmp_path, size):
    """A header that is longer than what a listing reads at first must not lose its description there."""
    padding = b"x" * size
    (tmp_path / "k.md").write_bytes(b"---\nnotes: " + padding + b"\ndescription: found\n---\n\nbody")
    store = await FileStore.open(tmp_path)
    assert (await store.read("k", scope=None)).description == "found"
    assert await store.list() == (Item("k", "found"),)


async def test_the_end_of_what_a_listing_reads_first_is_not_the_end_of_a_header(tmp_path):
    """A line that only begins like the closing one, cut off just there, would close the header."""
    start = b"---\ndescription: "
    for cut in range(8 * 1024 - 12, 8 * 1024 + 12):
        value = start + b"y" * (cut - len(start)) + b"\n----\n"
        (tmp_path / f"cut-{cut}.md").write_bytes(value + b"description: other\n---\n")
    store = await FileStore.open(tmp_path)
    for item in await store.list():
        assert item.description == (await store.read(item.key, scope=None)).description


UNPRIVILEGED = """
import asyncio, os, sys
from jsmemory.backend import Record
from jsmemory.backends.file import FileStore
from jsmemory.errors import AccessDeniedError, StoreFullError
from jsmemory.scope import Scope

directory = sys.argv[1]

async def warm_up():
    store = await FileStore.open(directory + "/warm")
    await store.create("k", "d", "c", scope=None)

asyncio.run(warm_up())  # so that nothing has to be imported without permissions
os.chmod(directory + "/notes", 0o777)
if os.geteuid() == 0:
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)

async def main():
    store = await FileStore.open(directory + "/notes")
    print([(item.key, item.description) for item in await store.list()])
    try:
        await store.read("closed", scope=Scope())
    except AccessDeniedError as refusal:
        print("read:", refusal)
    try:
        await store.create("closed", "d", "c", scope=None)
    except Exception as refusal:
        print("create:", type(refusal).__name__)
    unguarded = await FileStore.open(directory + "/notes", require_read_before_update=False)
    try:
        await unguarded.update("closed", "d", "c", scope=None)
    except AccessDeniedError as refusal:
        print("update:", type(refusal).__name__)
    try:
        await store._backend.insert("new", Record(b"", ""), capacity=2)
    except StoreFullError:
        print("it counts")
    print(await store.delete("closed", scope=None))

asyncio.run(main())
"""


async def test_a_file_that_cannot_be_read_is_listed_counts_and_is_refused_by_the_name_of_the_permission():
    """Fault 28: an entry that counts and is not listed cannot be found, and not be deleted either."""
    with tempfile.TemporaryDirectory() as root:
        # Not in the directory of the tests: no other account may enter that.
        Path(root).chmod(0o755)
        notes = Path(root) / "notes"
        store = await FileStore.open(notes)
        await store.create("open", "can be read", "c", scope=None)
        await store.create("closed", "cannot be read", "c", scope=None)
        (notes / "closed.md").chmod(0)
        ran = subprocess.run(
            [sys.executable, "-c", UNPRIVILEGED, root], capture_output=True, text=True, timeout=60, check=True
        )
    assert ran.stdout.splitlines() == [
        "[('closed', ''), ('open', 'can be read')]",
        "read: The backend refused access. Ask its operator for the permission: "
        "read the file of this entry in the memory directory.",
        "create: EntryExistsError",
        "update: AccessDeniedError",
        "it counts",
        "True",
    ]
