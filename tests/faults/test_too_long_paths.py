"""A path that the system cannot have is refused as the option that it is, and shows nothing of the host."""

import os
import traceback
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

import jsmemory
from jsmemory import (
    FileJournal,
    FileStore,
    InProcessStore,
    InvalidOptionsError,
    Outcome,
    examine_directory,
    export_archive,
    import_archive,
    import_folder,
    list_directory_prefixes,
    open_store,
    prepare_cluster,
)

TOO_LONG = "x" * 300
HOST = "secret-customer"


async def connected(path: Path) -> None:
    async with jsmemory.connect():
        raise AssertionError


async def prepared(path: Path) -> None:
    prepare_cluster(path)


WAYS: dict[str, Callable[[Path], Awaitable[Any]]] = {
    "a store": FileStore.open,
    "the store of an agent": lambda path: FileStore.open(path, prefix="alice"),
    "a configured store": lambda path: open_store({"options": {"directory": str(path)}}, identity="alice"),
    "a journal": FileJournal.open,
    "a doctor": examine_directory,
    "prefixes": list_directory_prefixes,
    "an archive to write": lambda path: export_archive(InProcessStore(), path),
    "an archive to read": lambda path: import_archive(path, InProcessStore()),
    "a folder of notes": lambda path: import_folder(path, InProcessStore()),
    "a cluster": prepared,
    "contexts": connected,
}


@pytest.mark.parametrize("place", [TOO_LONG, f"{TOO_LONG}/inner", "/".join(["x" * 200] * 30)], ids=len)
@pytest.mark.parametrize("way", WAYS)
async def test_a_path_that_is_too_long_is_a_wrong_option(
    tmp_path: Path, way: str, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever is told that a key is too long, or of a defect, looks in the wrong place."""
    root = tmp_path / HOST
    root.mkdir()
    monkeypatch.setenv("XDG_CONFIG_HOME", str(root / place))
    with pytest.raises(InvalidOptionsError) as refused:
        await WAYS[way](root / place)
    assert HOST not in "".join(traceback.format_exception(refused.value))
    assert refused.value.remedy
    if way != "a cluster":
        # It makes its folder from the outside in.
        assert list(root.iterdir()) == []


@pytest.mark.parametrize("way", ["a store", "the store of an agent", "a journal"])
async def test_a_name_that_is_too_long_behind_a_missing_one_is_refused_before_anything_is_made(
    tmp_path: Path, way: str
) -> None:
    """Half of a mistyped path would lie there, and nobody would know whose it is."""
    with pytest.raises(InvalidOptionsError):
        await WAYS[way](tmp_path / "missing" / TOO_LONG)
    assert list(tmp_path.iterdir()) == []


async def test_an_archive_may_have_the_longest_name_there_is(tmp_path: Path) -> None:
    """What is written beside it must not need a longer one."""
    for name in ("x" * 248 + ".tar.gz", "\N{HIRAGANA LETTER A}" * 82 + ".tar.gz"):
        await export_archive(InProcessStore(), tmp_path / name)
        assert (tmp_path / name).is_file()


async def test_a_note_too_deep_for_the_system_keeps_none_of_the_others_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A tree that was made step by step can be deeper than a path may be long."""
    (tmp_path / "near.md").write_text("near")
    monkeypatch.chdir(tmp_path)
    for _ in range(21):
        os.mkdir("x" * 200)
        os.chdir("x" * 200)
        Path("y" * 200 + ".md").write_text("far")
    monkeypatch.chdir(tmp_path)
    store = InProcessStore()
    report = await import_folder(tmp_path, store)
    counts = report.counts
    assert counts[Outcome.CREATED] > 1
    assert counts[Outcome.FAILED] == 2, "the note in the last folder that can be looked into, and the folder behind it"
    failed = [each for each in report.moved if each.outcome is Outcome.FAILED]
    assert all("longer than the system takes" in each.reason for each in failed)
    assert "near" in [item.key for item in await store.list()]
