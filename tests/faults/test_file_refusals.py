"""Faults 9, 12, 22, 25, 31, 36 and 37: a refusal is true, says what to do, and shows nothing of the host."""

import asyncio
import errno
import os
import resource
import shutil
import subprocess
import sys

import anyio
import pytest

from jsmemory.backend import Record
from jsmemory.backends.file import FileBackend, FileStore
from jsmemory.backends.file import locking as file_locking
from jsmemory.backends.file.locking import locked
from jsmemory.errors import (
    AccessDeniedError,
    BackendUnavailableError,
    EntryExistsError,
    IncompleteListingError,
    InvalidOptionsError,
    JsMemoryError,
    OutcomeUnknownError,
    StaleEntryError,
    StoreFullError,
)
from jsmemory.scope import Scope

RECORD = Record(b'---\ndescription: "d"\n---\n\nnew', "d")


def verbs(backend, revision="0" * 32):
    """Every verb of the driver, as a call."""
    return [
        backend.scan,
        lambda: backend.load("k"),
        lambda: backend.insert("n", RECORD, capacity=10),
        lambda: backend.replace("k", RECORD, expected=revision),
        lambda: backend.remove("k"),
    ]


def chain(refusal):
    """An exception and all that hang on it."""
    found = []
    waiting = [refusal]
    while waiting:
        each = waiting.pop()
        if each is not None and each not in found:
            found.append(each)
            waiting += [each.__cause__, each.__context__]
    return found


def break_(how, path):
    match how:
        case "removed":
            shutil.rmtree(path)
        case "a file now":
            shutil.rmtree(path)
            path.write_bytes(b"")
        case "a link to itself now":
            shutil.rmtree(path)
            path.symlink_to(path)
        case "a lock that is a directory":
            (path / ".lock").unlink()
            (path / ".lock").mkdir()
        case "a lock that is a link":
            (path / ".lock").unlink()
            (path / ".lock").symlink_to(path / "k.md")


@pytest.mark.parametrize(
    "how", ["removed", "a file now", "a link to itself now", "a lock that is a directory", "a lock that is a link"]
)
async def test_no_refusal_shows_a_path_of_the_host(tmp_path, how):
    """Fault 31: a model that is shown a path tells it to whoever asks the model."""
    path = tmp_path / "secret-customer"
    backend = await FileBackend.open(path)
    await backend.insert("k", RECORD, capacity=10)
    break_(how, path)
    scan, load, *writes = verbs(backend)
    if how.startswith("a lock"):
        assert (await load()).value == RECORD.value
    else:
        writes.append(load)
    for verb in (scan, *writes):
        with pytest.raises(BackendUnavailableError) as refused:
            await verb()
        for each in chain(refused.value):
            assert isinstance(each, JsMemoryError)
            assert "secret-customer" not in f"{each} {each!r} {each.args} {vars(each)}"
    assert "secret-customer" not in repr(backend)
    assert "secret-customer" not in repr(backend.describe())
    assert "secret-customer" not in repr(backend._directory)


@pytest.mark.parametrize(
    "call", ["open", "fstat", "stat", "scandir", "write", "fsync", "link", "replace", "unlink", "read"]
)
@pytest.mark.parametrize("code", [errno.EIO, errno.EACCES, errno.ENOSPC, errno.EDQUOT, errno.EMFILE])
async def test_whatever_call_the_system_refuses_the_contracts_words_come_up(tmp_path, monkeypatch, call, code):
    """One call that nobody thought of is enough to bring a host's path into a transcript."""
    path = tmp_path / "secret-customer"
    backend = await FileBackend.open(path)
    revision = await backend.insert("k", RECORD, capacity=10)
    before = sorted(os.listdir(path))
    real = getattr(os, call)

    def refused(*args, **kwargs):
        raise OSError(code, os.strerror(code), str(path))

    for verb in verbs(backend, revision):
        monkeypatch.setattr(os, call, refused)
        try:
            await verb()
        except (JsMemoryError, LookupError) as refusal:
            for each in chain(refusal):
                assert isinstance(each, JsMemoryError)
                assert "secret-customer" not in f"{each} {each!r} {each.args} {vars(each)}"
        finally:
            monkeypatch.setattr(os, call, real)
    leftovers = set(os.listdir(path)) - set(before) - {"n.md"}
    assert call == "unlink" or not leftovers


async def test_a_directory_that_was_removed_is_unavailable_and_not_made_again(tmp_path):
    """Fault 36: an empty directory made in its place looks like a memory that was lost."""
    backend = await FileBackend.open(tmp_path / "notes")
    shutil.rmtree(tmp_path / "notes")
    for verb in verbs(backend):
        with pytest.raises(BackendUnavailableError, match="is gone") as refused:
            await verb()
        assert "operator" in str(refused.value)
    assert os.listdir(tmp_path) == []


DISK_FULL = """
import asyncio, resource, sys
from jsmemory.backends.file import FileStore
from jsmemory.errors import BackendUnavailableError
from jsmemory.scope import Scope

async def main():
    store, scope = await FileStore.open(sys.argv[1]), Scope()
    await store.read("k", scope=scope)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
    writes = [
        store.update("k", "new", "new" * 20000, scope=scope),
        store.create("n", "new", "new" * 20000, scope=scope),
    ]
    for write in writes:
        try:
            await write
        except BackendUnavailableError as refusal:
            print(refusal)
    await store.update("k", "fits", "short", scope=scope)

asyncio.run(main())
"""


async def test_a_write_that_the_disk_has_no_room_for_is_refused_and_costs_nothing(tmp_path):
    """Fault 36: the tool says saved, and the disk has neither the new value nor the old one."""
    store = await FileStore.open(tmp_path)
    await store.create("k", "old", "old" * 20000, scope=None)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    assert soft == hard == resource.RLIM_INFINITY
    ran = subprocess.run(
        [sys.executable, "-c", DISK_FULL, str(tmp_path)], capture_output=True, text=True, timeout=60, check=True
    )
    words = "The disk under the memory directory is full. Nothing was written. "
    words += "Ask its operator to make room, then try again."
    assert ran.stdout.splitlines() == [words, words]
    assert tuple(await store.read("k", scope=None)) == ("fits", "short")
    assert sorted(os.listdir(tmp_path)) == [".lock", ".realm", "k.md"]


@pytest.mark.parametrize("verb", ["insert", "replace", "remove"])
async def test_a_write_that_can_be_seen_but_may_not_outlast_a_power_cut_is_of_unknown_outcome(
    tmp_path, monkeypatch, verb
):
    """Fault 22: "nothing was written" would be a lie, and "saved" might become one."""
    backend = await FileBackend.open(tmp_path)
    revision = await backend.insert("k", RECORD, capacity=10)
    real = os.fsync

    def fails_for_directories(file):
        if os.path.samestat(os.fstat(file), tmp_path.stat()):
            raise OSError(errno.EIO, "input/output error", str(tmp_path))
        real(file)

    monkeypatch.setattr(os, "fsync", fails_for_directories)
    calls = {
        "insert": lambda: backend.insert("n", RECORD, capacity=10),
        "replace": lambda: backend.replace("k", Record(b"other", "d"), expected=revision),
        "remove": lambda: backend.remove("k"),
    }
    with pytest.raises(OutcomeUnknownError) as refused:
        await calls[verb]()
    assert chain(refused.value) == [refused.value]


@pytest.mark.parametrize("verb", ["insert", "replace", "remove"])
async def test_every_write_forces_the_directory_to_the_disk_before_it_returns(tmp_path, monkeypatch, verb):
    """Fault 22: what was called saved is gone after a power cut."""
    backend = await FileBackend.open(tmp_path)
    revision = await backend.insert("k", RECORD, capacity=10)
    events = []

    def watch(call):
        real = getattr(os, call)

        def watched(*args, **kwargs):
            if call == "fsync":
                events.append("directory" if os.path.samestat(os.fstat(args[0]), tmp_path.stat()) else "file")
            else:
                events.append(call)
            return real(*args, **kwargs)

        monkeypatch.setattr(os, call, watched)

    for call in ("fsync", "link", "replace", "unlink"):
        watch(call)
    match verb:
        case "insert":
            await backend.insert("n", RECORD, capacity=10)
            assert events == ["file", "link", "unlink", "directory"]
        case "replace":
            await backend.replace("k", Record(b"other", "d"), expected=revision)
            assert events == ["file", "replace", "directory"]
        case "remove":
            await backend.remove("k")
            assert events == ["unlink", "directory"]


async def test_exists_is_said_before_full(tmp_path):
    """Fault 12: told "full", a model deletes another memory to make room for one that it has already."""
    backend = await FileBackend.open(tmp_path)
    await backend.insert("k", RECORD, capacity=1)
    with pytest.raises(EntryExistsError):
        await backend.insert("k", RECORD, capacity=1)
    with pytest.raises(StoreFullError):
        await backend.insert("n", RECORD, capacity=1)
    assert os.listdir(tmp_path).count("n.md") == 0


async def test_a_replacement_of_what_is_gone_or_changed_is_stale_and_writes_nothing(tmp_path):
    """Fault 9: an update that makes an absent entry passes the capacity, and brings back what was deleted."""
    backend = await FileBackend.open(tmp_path)
    with pytest.raises(StaleEntryError) as refused:
        await backend.replace("k", RECORD, expected="0" * 32)
    assert refused.value.reason == "changed"
    revision = await backend.insert("k", RECORD, capacity=10)
    (tmp_path / "k.md").write_bytes(b"a person edited it")
    with pytest.raises(StaleEntryError):
        await backend.replace("k", RECORD, expected=revision)
    assert (tmp_path / "k.md").read_bytes() == b"a person edited it"


async def test_an_unguarded_update_of_a_new_key_does_not_pass_the_capacity(tmp_path):
    """Fault 9 again, by the other door."""
    for number in range(1024):
        (tmp_path / f"early-{number}.md").write_bytes(b"")
    store = await FileStore.open(tmp_path, require_read_before_update=False)
    with pytest.raises(StoreFullError):
        await store.update("late", "d", "c", scope=None)
    await store.update("early-1", "d", "c", scope=None)


async def test_without_hard_links_all_six_methods_work(tmp_path, monkeypatch):
    """Fault 25: on such a file system nobody could ever create anything."""

    def no_links(*args, **kwargs):
        raise OSError(errno.EPERM, "operation not permitted", str(tmp_path))

    monkeypatch.setattr(os, "link", no_links)
    store, scope = await FileStore.open(tmp_path), Scope()
    await store.create("k", "d", "1", scope=scope)
    with pytest.raises(EntryExistsError):
        await store.create("k", "d", "again", scope=scope)
    await store.update("k", "d", "2", scope=scope)
    assert [item.key for item in await store.list()] == ["k"]
    assert (await store.read("k", scope=scope)).content == "2"
    assert await store.delete("k", scope=scope) is True
    again = await FileBackend.open(tmp_path)
    assert again.describe().realm == (await FileBackend.open(tmp_path)).describe().realm
    assert sorted(os.listdir(tmp_path)) == [".lock", ".realm"]


async def test_a_program_without_a_lock_that_is_quicker_is_not_overwritten(tmp_path, monkeypatch):
    """A person who saves a file of that name in the same moment keeps it."""
    backend = await FileBackend.open(tmp_path)
    real = os.link

    def a_moment_too_late(*args, **kwargs):
        (tmp_path / "n.md").write_bytes(b"mine")
        return real(*args, **kwargs)

    monkeypatch.setattr(os, "link", a_moment_too_late)
    with pytest.raises(EntryExistsError):
        await backend.insert("n", RECORD, capacity=10)
    assert (tmp_path / "n.md").read_bytes() == b"mine"
    assert sorted(os.listdir(tmp_path)) == [".lock", ".realm", "n.md"]


async def test_behind_a_writer_that_hangs_writes_end_and_reads_go_on(tmp_path, monkeypatch):
    """One process that is stopped must not stop every run that shares the directory."""
    backend = await FileBackend.open(tmp_path)
    revision = await backend.insert("k", RECORD, capacity=10)
    monkeypatch.setattr(file_locking, "PATIENCE", 0.05)
    directory = os.open(tmp_path, os.O_RDONLY)
    try:
        with locked(directory, waiting=lambda: None):
            assert (await backend.load("k")).revision == revision
            for verb in verbs(backend, revision)[2:]:
                with pytest.raises(BackendUnavailableError, match="Another writer") as refused:
                    await verb()
                assert chain(refused.value) == [refused.value]
            with pytest.raises(IncompleteListingError):
                await backend.scan()
    finally:
        os.close(directory)
    assert await backend.remove("k") is True


@pytest.mark.parametrize("how", ["asyncio", "anyio"])
async def test_a_write_that_was_cancelled_while_it_waited_is_not_made_afterwards(tmp_path, how):
    """A caller that was told "too late" has tried something else by then."""
    backend = await FileBackend.open(tmp_path)
    directory = os.open(tmp_path, os.O_RDONLY)
    try:
        with anyio.fail_after(5), locked(directory, waiting=lambda: None):
            if how == "asyncio":
                with pytest.raises(TimeoutError):
                    await asyncio.wait_for(backend.insert("n", RECORD, capacity=10), 0.05)
            else:
                with anyio.move_on_after(0.05) as timed:
                    await backend.insert("n", RECORD, capacity=10)
                assert timed.cancelled_caught
    finally:
        os.close(directory)
    await backend.insert("k", RECORD, capacity=10)
    await asyncio.sleep(0.05)
    assert [item.key for item in await backend.scan()] == ["k"]


async def test_a_write_that_is_cancelled_at_any_moment_leaves_the_old_value_or_the_new_one(tmp_path):
    """A host that cancels a turn must find a whole memory afterwards."""
    backend = await FileBackend.open(tmp_path)
    values = [bytes([letter]) * 60_000 for letter in b"ab"]
    await backend.insert("k", Record(values[0], "d"), capacity=10)
    for number in range(40):
        stored = await backend.load("k")
        assert stored.value in values
        value = values[number % 2]
        task = asyncio.create_task(backend.replace("k", Record(value, "d"), expected=stored.revision))
        await asyncio.sleep(number / 40 * 0.004)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    await backend.insert("n", RECORD, capacity=10)
    assert sorted(os.listdir(tmp_path)) == [".lock", ".realm", "k.md", "n.md"]
    assert (await backend.load("k")).value in values


@pytest.mark.parametrize("where", ["file", "file/below", "\0", ""])
async def test_an_opening_that_cannot_be_names_the_option_and_no_path(tmp_path, where):
    """An operator reads this in a start-up log that others read too."""
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(InvalidOptionsError) as refused:
        await FileStore.open(f"{tmp_path}/{where}" if where else "")
    assert refused.value.option == "directory"
    assert all(tmp_path.name not in f"{each} {each!r}" for each in chain(refused.value))
    assert all(isinstance(each, JsMemoryError) for each in chain(refused.value))


async def test_an_opening_that_is_not_allowed_names_the_permission(tmp_path, monkeypatch):
    """ "Unavailable" would be tried again until somebody looks."""

    def not_allowed(*args, **kwargs):
        raise PermissionError(errno.EACCES, "permission denied", str(tmp_path))

    monkeypatch.setattr(os, "mkdir", not_allowed)
    with pytest.raises(AccessDeniedError) as refused:
        await FileStore.open(tmp_path / "new")
    assert refused.value.permission == "make and open the memory directory"
    assert chain(refused.value) == [refused.value]


async def test_the_location_is_no_path(tmp_path):
    """What a store says of itself ends on spans and in logs."""
    store = await FileStore.open(tmp_path)
    assert (store.info().backend, store.info().location) == ("file", "")


async def test_a_thousand_calls_leave_nothing_open(tmp_path):
    """There is no close: what a call leaves open stays open until the host can open nothing any more."""
    backend = await FileBackend.open(tmp_path)
    before = len(os.listdir("/dev/fd"))
    for _ in range(20):
        for verb in verbs(backend):
            try:
                await verb()
            except JsMemoryError:
                continue
        await backend.remove("n")
    assert len(os.listdir("/dev/fd")) == before
