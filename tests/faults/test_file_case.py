"""Fault 27: on a file system that ignores case, `Build` and `build` never become one entry."""

import os

import pytest

from jsmemory.backends.file import FileBackend, FileStore
from jsmemory.errors import EntryExistsError, EntryNotFoundError, InvalidKeyError, InvalidOptionsError
from jsmemory.scope import Scope


@pytest.fixture
def case_is_ignored(monkeypatch):
    """
    Make the system calls that the driver uses find a name in any case, as such a file system does.

    It keeps the case that a name was made with, and lists it so.
    """

    def folding(call, *positions):
        real = getattr(os, call)

        def folded(*args, **kwargs):
            directory = kwargs.get("dir_fd", kwargs.get("dst_dir_fd"))
            if directory is not None:
                present = {name.lower(): name for name in os.listdir(directory)}
                args = [
                    present.get(each.lower(), each) if position in positions else each
                    for position, each in enumerate(args)
                ]
            return real(*args, **kwargs)

        monkeypatch.setattr(os, call, folded)

    for call in ("open", "stat", "unlink"):
        folding(call, 0)
    for call in ("link", "rename", "replace"):
        folding(call, 0, 1)


@pytest.mark.usefixtures("case_is_ignored")
async def test_a_file_system_that_ignores_case_is_recognised(tmp_path):
    """A store that does not know it answers for `build` with what is in `Build`."""
    backend = await FileBackend.open(tmp_path)
    assert backend._folds_case is True


async def test_a_file_system_that_keeps_case_is_recognised(tmp_path):
    """A store that is too careful refuses keys that every other backend takes."""
    (tmp_path / "Probe").write_bytes(b"")
    real = (tmp_path / "pROBE").exists()
    backend = await FileBackend.open(tmp_path)
    assert backend._folds_case is real


@pytest.mark.usefixtures("case_is_ignored")
async def test_a_key_of_another_case_is_not_read_replaced_or_deleted(tmp_path):
    """One agent's `build` would be answered, overwritten and removed with another's `Build`."""
    store, scope = await FileStore.open(tmp_path), Scope()
    await store.create("Build", "the first", "of the first", scope=scope)
    with pytest.raises(EntryNotFoundError):
        await store.read("build", scope=scope)
    assert await store.delete("build", scope=scope) is False
    with pytest.raises(InvalidKeyError, match="only in case"):
        await store.create("build", "the second", "of the second", scope=scope)
    unguarded = await FileStore.open(tmp_path, require_read_before_update=False)
    with pytest.raises(InvalidKeyError, match="only in case"):
        await unguarded.update("BUILD", "the second", "of the second", scope=None)
    assert tuple(await store.read("Build", scope=scope)) == ("the first", "of the first")
    assert [item.key for item in await store.list()] == ["Build"]


@pytest.mark.usefixtures("case_is_ignored")
async def test_the_key_that_is_there_keeps_working(tmp_path):
    """Care for the other case must not cost the entry itself."""
    store, scope = await FileStore.open(tmp_path), Scope()
    await store.create("Build", "d", "1", scope=scope)
    with pytest.raises(EntryExistsError):
        await store.create("Build", "d", "again", scope=scope)
    await store.update("Build", "d", "2", scope=scope)
    assert (await store.read("Build", scope=scope)).content == "2"
    assert await store.delete("Build", scope=scope) is True
    await store.create("build", "now its name is free", "", scope=scope)


async def test_the_rule_can_be_set_where_the_file_system_cannot_be_asked(tmp_path):
    """The same refusal on every host, for who moves a directory between hosts."""
    careful = await FileBackend.open(tmp_path, ignores_case=True)
    store = FileStore(careful)
    await store.create("Build", "d", "c", scope=None)
    with pytest.raises(InvalidKeyError, match="only in case"):
        await store.create("bUILD", "d", "c", scope=None)
    careless = FileStore(await FileBackend.open(tmp_path, ignores_case=False))
    await careless.create("build", "d", "c", scope=None)
    assert [item.key for item in await careless.list()] == ["Build", "build"]


async def test_a_prefix_that_differs_from_another_one_only_in_case_is_refused(tmp_path):
    """The directory of one agent would be the directory of another."""
    await FileBackend.open(tmp_path, prefix="Team", ignores_case=True)
    with pytest.raises(InvalidOptionsError) as refused:
        await FileBackend.open(tmp_path, prefix="team", ignores_case=True)
    assert refused.value.option == "prefix"
    await FileBackend.open(tmp_path, prefix="other", ignores_case=True)
