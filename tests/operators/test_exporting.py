"""Archives: the same bytes for the same entries, whole or not there, and readable without this package."""

import gzip
import hashlib
import io
import json
import signal
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import anyio
import pytest
from nats.aio.client import Client

from jsmemory import (
    BackendUnavailableError,
    Entry,
    FileStore,
    InProcessStore,
    InvalidOptionsError,
    JetStreamStore,
    Outcome,
    Scope,
    Store,
    copy_entries,
    export_archive,
    import_archive,
)
from jsmemory.backed_store import BackedStore
from jsmemory.layers.wrapping import WrappingStore
from jsmemory.limits import MAX_ENTRIES
from jsmemory.moving.archive.packing import Packing, check, staged
from jsmemory.testing import Fault, FaultyBackend, corpora, scripted
from jsmemory.testing.servers import plant


async def full_of_corpora(store: Store) -> Store:
    for number, content in enumerate(corpora.CONTENTS):
        await store.create(f"content-{number}", "what is in it", content, scope=None)
    for number, (_, line) in enumerate(corpora.DESCRIPTIONS):
        await store.create(f"line-{number}", line, "", scope=None)
    for key in corpora.LEGAL_KEYS:
        await store.create(key, "a key", key, scope=None)
    return store


async def everything_in(store: Store) -> dict[str, tuple[str, str]]:
    return {item.key: tuple(await store.read(item.key, scope=None)) for item in await store.list()}  # type: ignore[misc]


async def test_an_archive_holds_everything_and_is_the_directory_of_a_file_store(tmp_path: Path) -> None:
    """A backup must be of use where this package is not at hand, and come back to the byte."""
    source = await full_of_corpora(InProcessStore())
    archive = tmp_path / "backup.tar.gz"
    report = await export_archive(source, archive)
    assert report.counts == {Outcome.CREATED: len(await source.list())}
    unpacked = tmp_path / "unpacked"
    unpacked.mkdir()
    subprocess.run(["tar", "--no-same-owner", "-xzf", archive, "-C", unpacked], check=True)
    assert await everything_in(await FileStore.open(unpacked)) == await everything_in(source)

    manifest = json.loads((unpacked / "manifest.json").read_text())
    assert (manifest["format"], manifest["version"]) == ("jsmemory-export", 1)
    entries = {path.name: path.read_bytes() for path in unpacked.glob("*.md")}
    assert manifest["files"] == {
        name: {"sha256": hashlib.sha256(value).hexdigest(), "size": len(value)} for name, value in entries.items()
    }
    assert list(manifest["files"]) == sorted(manifest["files"], key=lambda name: name.removesuffix(".md").encode())

    for destination in (InProcessStore(), await FileStore.open(tmp_path / "new")):
        assert (await import_archive(archive, destination)).counts == report.counts
        assert await everything_in(destination) == await everything_in(source)
        again = await import_archive(archive, destination)
        assert again.counts == {Outcome.EQUAL: len(report.moved)}
        assert again.renamed == ()


async def test_the_same_entries_come_to_the_same_bytes(tmp_path: Path, nc: Client, bucket: str) -> None:
    """Whoever keeps backups by their checksums must not keep one more a day of a store that stands still."""
    await full_of_corpora(await FileStore.open(tmp_path / "files"))
    jetstream = await JetStreamStore.bind(nc, bucket, "a")
    await copy_entries(await FileStore.open(tmp_path / "files"), jetstream)
    await export_archive(await FileStore.open(tmp_path / "files"), tmp_path / "one.tar.gz", at_once=1)
    await export_archive(jetstream, tmp_path / "two.tgz", at_once=50)
    assert (tmp_path / "one.tar.gz").read_bytes() == (tmp_path / "two.tgz").read_bytes()
    assert stat.S_IMODE((tmp_path / "two.tgz").stat().st_mode) == 0o600


async def test_nothing_in_it_tells_of_the_host(tmp_path: Path) -> None:
    """An archive that is handed on must not tell who made it, where and when."""
    store = await FileStore.open(tmp_path / "files")
    await store.create("k", "d", "text", scope=None)
    await export_archive(store, tmp_path / "a.tar.gz")
    packed = (tmp_path / "a.tar.gz").read_bytes()
    assert packed[3:9] == b"\0" * 5 + packed[8:9], "no name, no time in the header"
    assert not any(word in gzip.decompress(packed) for word in (b"root", str(tmp_path).encode(), b"a.tar"))


async def test_an_archive_that_is_there_is_replaced_only_when_told(tmp_path: Path) -> None:
    """Yesterday's backup must not go because today's command names the same file."""
    store = InProcessStore()
    await store.create("k", "d", "text", scope=None)
    archive = tmp_path / "a.tar.gz"
    archive.write_bytes(b"yesterday")
    with pytest.raises(InvalidOptionsError, match="there already"):
        await export_archive(store, archive)
    assert archive.read_bytes() == b"yesterday"
    await export_archive(store, archive, overwrite=True)
    assert (await import_archive(archive, InProcessStore())).counts == {Outcome.CREATED: 1}
    assert list(tmp_path.iterdir()) == [archive]


async def test_a_file_that_appears_meanwhile_is_not_replaced(tmp_path: Path) -> None:
    """Two exports to one name: the one that ends last must not silently win."""
    archive = tmp_path / "a.tar.gz"

    class Slow(WrappingStore):
        async def read(self, key: str, *, scope: Scope | None) -> Entry:
            archive.write_bytes(b"another's")
            return await super().read(key, scope=scope)

    store = InProcessStore()
    await store.create("k", "d", "text", scope=None)
    with pytest.raises(InvalidOptionsError, match="there already"):
        await export_archive(Slow(store), archive)
    assert archive.read_bytes() == b"another's"
    assert list(tmp_path.iterdir()) == [archive]


async def test_a_place_that_is_none_is_told_before_anything_is_read(tmp_path: Path) -> None:
    """A typing error in a path is no reason to read a whole store."""
    (tmp_path / "folder.tar.gz").mkdir()
    broken = BackedStore(FaultyBackend(InProcessStore()._backend, lambda verb: Fault.HANG))
    for place in (tmp_path / "nowhere" / "a.tar.gz", tmp_path / "folder.tar.gz"):
        with pytest.raises(InvalidOptionsError, match="no place"):
            await export_archive(broken, place, overwrite=True)
    with pytest.raises(ValueError, match="one task"):
        await export_archive(broken, tmp_path / "a.tar.gz", at_once=0)


async def test_a_store_that_fails_on_the_way_leaves_no_archive(tmp_path: Path) -> None:
    """A backup that misses what could not be read is found out on the day that it is needed."""
    inner = InProcessStore()
    for number in range(40):
        await inner.create(f"k{number}", "d", "text", scope=None)
    faults = [Fault.NONE] * 20 + [Fault.UNAVAILABLE] * 1000
    store = BackedStore(FaultyBackend(inner._backend, scripted(*faults, verbs=("load",))))
    with pytest.raises(BackendUnavailableError):
        await export_archive(store, tmp_path / "a.tar.gz")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("damage", ["a byte", "an end", "another file"])
def test_an_archive_is_read_back_before_it_has_its_name(damage: str) -> None:
    """A disk that took the bytes and keeps others is found out while the store is still there."""
    file = io.BytesIO()
    packing = Packing(file)
    packing.add("a.md", b"alpha" * 100)
    manifest = packing.finish()
    check(file, manifest)
    whole = file.getvalue()
    match damage:
        case "a byte":
            file = io.BytesIO(whole[:60] + bytes([whole[60] ^ 1]) + whole[61:])
        case "an end":
            file = io.BytesIO(whole[:-9])
        case "another file":
            manifest.files["b.md"] = manifest.files["a.md"]  # type: ignore[index]
    with pytest.raises(BackendUnavailableError, match="Check the disk"):
        check(file, manifest)


async def test_an_interrupted_export_leaves_no_archive(tmp_path: Path) -> None:
    """A half of an archive under the right name is worse than none."""
    store = InProcessStore()
    for number in range(40):
        await store.create(f"k{number:02}", "d", "text", scope=None)
    with anyio.CancelScope() as scope:
        await export_archive(store, tmp_path / "a.tar.gz", on_progress=lambda done, _: done > 20 and scope.cancel())
    assert scope.cancelled_caught
    assert list(tmp_path.iterdir()) == []


KILLED = """
import os, signal, sys
from pathlib import Path
from jsmemory.moving.archive.packing import staged

with staged(Path(sys.argv[1]), overwrite=False) as file:
    file.write(b"notes")
    file.flush()
    os.kill(os.getpid(), signal.SIGKILL)
"""


async def test_what_a_killed_export_left_is_removed_and_nothing_else(tmp_path: Path) -> None:
    """A file full of notes that nobody knows of stays for ever; and one that is being written is somebody's backup."""
    killed = subprocess.run([sys.executable, "-c", KILLED, tmp_path / "killed.tar.gz"], timeout=60)
    (left,) = tmp_path.iterdir()
    assert (killed.returncode, left.read_bytes()) == (-signal.SIGKILL, b"notes")
    (tmp_path / ".archive").touch()
    with staged(tmp_path / "slow.tar.gz", overwrite=True) as file:
        assert not left.exists()
        file.write(b"slow")
        await export_archive(InProcessStore(), tmp_path / "a.tar.gz")
    assert sorted(path.name for path in tmp_path.iterdir()) == [".archive", "a.tar.gz", "slow.tar.gz"]
    assert (tmp_path / "slow.tar.gz").read_bytes() == b"slow"


def test_exports_that_begin_at_the_same_moment_do_not_remove_each_other(tmp_path: Path) -> None:
    """Every night at three all of a fleet's backups begin in one folder."""

    def stage(number: int) -> None:
        with staged(tmp_path / f"{number}.tar.gz", overwrite=True) as file:
            file.write(b"notes")

    with ThreadPoolExecutor(8) as at_once:
        list(at_once.map(stage, range(200)))
    assert len(list(tmp_path.iterdir())) == 200


async def test_what_cannot_be_in_it_is_told(tmp_path: Path) -> None:
    """A value of another program, without a description, is missing from the archive: not without a word."""
    store = await FileStore.open(tmp_path / "files")
    await store.create("k", "d", "text", scope=None)
    (tmp_path / "files" / "bare.md").write_text("no header")
    report = await export_archive(store, tmp_path / "a.tar.gz")
    assert [(each.key, each.code) for each in report.uncarried] == [("bare", "invalid_entry")]
    assert (await import_archive(tmp_path / "a.tar.gz", InProcessStore())).counts == {Outcome.CREATED: 1}


async def test_a_bucket_of_more_than_one_store_holds_is_told_as_that(tmp_path: Path, nc: Client, bucket: str) -> None:
    """Whoever was told to check the disk would look for a fault there, and have no backup."""
    await plant(nc, bucket, {f"p{number % 2}.k{number}": b"x" for number in range(MAX_ENTRIES + 1)})
    store = await JetStreamStore.bind(nc, bucket)
    with pytest.raises(InvalidOptionsError, match=r"1,025 entries.* prefix by prefix"):
        await export_archive(store, tmp_path / "all.tar.gz")
    assert [*tmp_path.iterdir()] == []


async def test_an_empty_store_comes_to_an_empty_archive(tmp_path: Path) -> None:
    """A backup that runs every night runs before the first note too."""
    assert (await export_archive(InProcessStore(), tmp_path / "a.tar.gz")).moved == ()
    assert (await import_archive(tmp_path / "a.tar.gz", InProcessStore())).moved == ()
