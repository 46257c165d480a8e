"""A view of a directory: what it reads, what it cannot be fooled by, and what it survives."""

import asyncio
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from jsmemory import MAX_ENTRY_BYTES, BackendUnavailableError, FileStore, Item, Scope
from jsmemory.backends.file import listing, looking, regular
from jsmemory.testing.mirroring import LONGEST_S, mirrored


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    """The entries that looks have read, and how many bytes of each."""
    reads: list[tuple[str, int]] = []
    honest = regular.read

    def noted(directory: int, name: str, *, at_most: int | None = None) -> regular.Content | None:
        content = honest(directory, name, at_most=at_most)
        if name.endswith(".md"):
            reads.append((name, 0 if content is None else len(content.value)))
        return content

    monkeypatch.setattr(regular, "read", noted)
    return reads


async def test_files_that_have_not_changed_are_not_read_again(
    tmp_path: Path, read: list[tuple[str, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A listing of a full store would else read a thousand files, each time that a run looks at its index."""
    monkeypatch.setattr(looking, "_TICK_NS", 200_000_000)
    store = await FileStore.open(tmp_path)
    for number in range(20):
        await store.create(f"k{number:02}", "d", "c", scope=None)
    async with store.live() as view:
        await asyncio.sleep(0.3)
        await view.list()
        read.clear()
        for _ in range(5):
            assert await view.count() == 20
        assert read == []
        scope = Scope()
        await store.read("k07", scope=scope)
        await store.update("k07", "e", "c", scope=scope)
        read.clear()
        assert Item("k07", "e") in await view.list()
        assert [name for name, _ in read] == ["k07.md"]


async def test_a_file_that_is_changed_twice_within_a_tick_is_seen_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    An editor that saves in place, right before and right after a look, leaves a file of the same
    number, size and times, where the times have a tick as coarse as those of FAT, of two seconds.
    """
    honest = looking.signature_of

    def coarse(directory: int, name: str) -> looking.Signature | None:
        found = honest(directory, name)
        if found is None:
            return None
        written, changed = (time - time % 2_000_000_000 for time in (found.written_ns, found.changed_ns))
        return found._replace(written_ns=written, changed_ns=changed)

    monkeypatch.setattr(looking, "signature_of", coarse)
    store = await FileStore.open(tmp_path)
    file = tmp_path / "note.md"
    file.write_bytes(b"---\ndescription: 1000\n---\n\ntext")
    async with store.live() as view, mirrored(view) as mirror:
        for turn in range(1001, 1200):
            with file.open("r+b") as place:
                place.write(b"---\ndescription: %04d\n---\n\ntext" % turn)
            assert await view.list() == (Item("note", f"{turn}"),)
        await mirror.becomes((Item("note", "1199"),))


async def test_a_file_whose_times_are_set_back_is_seen_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Archivers, rsync and editors give a file the time of another one."""
    monkeypatch.setattr(looking, "_TICK_NS", 100_000_000)
    store = await FileStore.open(tmp_path)
    await store.create("note", "one", "text", scope=None)
    async with store.live() as view, mirrored(view) as mirror:
        await asyncio.sleep(0.2)
        await view.list()
        file = tmp_path / "note.md"
        then = file.stat().st_mtime_ns
        file.write_bytes(file.read_bytes().replace(b"one", b"two"))
        os.utime(file, ns=(then, then))
        assert await view.list() == (Item("note", "two"),)
        await mirror.becomes((Item("note", "two"),))


async def test_what_another_process_writes_is_told_without_being_asked_for(tmp_path: Path) -> None:
    """Who waits for a note of another run asks for nothing."""
    store = await FileStore.open(tmp_path)
    program = (
        "import asyncio, sys, jsmemory\n"
        "async def main():\n"
        "    store = await jsmemory.FileStore.open(sys.argv[1])\n"
        "    for number in range(20):\n"
        "        await store.create(f'k{number}', 'd', 'c', scope=None)\n"
        "    await store.delete('k0', scope=None)\n"
        "asyncio.run(main())\n"
    )
    async with store.live() as view, mirrored(view) as mirror:
        writer = await asyncio.create_subprocess_exec(sys.executable, "-c", program, tmp_path)
        assert await writer.wait() == 0
        await mirror.becomes(tuple(Item(f"k{number}", "d") for number in range(1, 20)))
        await mirror.agrees(view, store)


async def test_a_directory_that_is_gone_is_told_and_one_that_comes_back_is_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its notes are out of reach, which nobody may learn by looking at a view that still shows them."""
    monkeypatch.setattr(looking, "_TICK_NS", 100_000_000)
    place = tmp_path / "memory"
    store = await FileStore.open(place)
    for key in ("a", "b"):
        await store.create(key, "d", key, scope=None)
    async with store.live() as view, mirrored(view) as mirror:
        await mirror.agrees(view, store)
        place.rename(tmp_path / "moved")
        with pytest.raises(BackendUnavailableError, match="gone"):
            await view.list()
        async with asyncio.timeout(LONGEST_S):
            while view.trouble is None:
                await asyncio.sleep(0.02)
        assert mirror.entries == {"a": "d", "b": "d"}, "told as deleted before anybody knew"
        (tmp_path / "moved" / "a.md").unlink()
        (tmp_path / "moved").rename(place)
        assert await view.list() == (Item("b", "d"),)
        await mirror.agrees(view, store)
        assert view.trouble is None
        # Another directory, for all that anybody knows: no run has read what is in it.
        await asyncio.sleep(0.2)
        await view.list()
        (place / ".realm").unlink()
        await mirror.agrees(view, store)
        async with asyncio.timeout(LONGEST_S):
            while mirror.told[-1].kind != "updated":
                await asyncio.sleep(0.02)
        # Put there whole: a look at one that is still empty would rightly tell of a deletion.
        await (await FileStore.open(tmp_path / "new")).create("b", "d", "b", scope=None)
        shutil.rmtree(place)
        (tmp_path / "new").rename(place)
        await mirror.agrees(view, await FileStore.open(place))
        async with asyncio.timeout(LONGEST_S):
            while [change.kind for change in mirror.told[-2:]] != ["updated", "updated"]:
                await asyncio.sleep(0.02)


async def test_what_is_no_entry_is_neither_waited_for_nor_followed(tmp_path: Path) -> None:
    """Fault 23: a pipe under the name of a note would stop the view for ever."""
    store = await FileStore.open(tmp_path / "memory")
    await store.create("note", "d", "c", scope=None)
    (tmp_path / "secret").write_bytes(b"---\ndescription: not for models\n---\n\n")
    async with store.live() as view, mirrored(view) as mirror:
        os.mkfifo(tmp_path / "memory" / "pipe.md")
        (tmp_path / "memory" / "link.md").symlink_to(tmp_path / "secret")
        (tmp_path / "memory" / "folder.md").mkdir()
        async with asyncio.timeout(LONGEST_S):
            assert await view.list() == (Item("note", "d"),)
            # What was an entry is none any more when something else lies there.
            (tmp_path / "memory" / "note.md").unlink()
            os.mkfifo(tmp_path / "memory" / "note.md")
            assert await view.list() == ()
        await mirror.agrees(view, store)


async def test_a_file_too_large_for_an_entry_is_shown_and_not_read_to_its_end(
    tmp_path: Path, read: list[tuple[str, int]]
) -> None:
    """Somebody's log under the name of a note must not be read four times a second."""
    store = await FileStore.open(tmp_path)
    file = tmp_path / "huge.md"
    with file.open("wb") as huge:
        huge.write(b"---\ndescription: a log\n---\n\n")
        huge.truncate(64 * 1024 * 1024)
    async with store.live() as view:
        changes = view.changes(initial=True)
        async with asyncio.timeout(LONGEST_S):
            present = await anext(changes)
            assert (present.description, present.revision) == ("a log", None)
            with file.open("ab") as huge:
                huge.write(b"one more line")
            changed = await anext(changes)
        assert (changed.kind, changed.description) == ("updated", "a log")
        assert await view.list() == await store.list()
    assert max(size for _, size in read) <= MAX_ENTRY_BYTES + 1


async def test_a_view_that_nobody_waits_on_looks_only_when_it_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A host with hundreds of agents would look at hundreds of directories all the time."""
    looks = 0
    honest = listing.keys

    def counted(directory: int, *, waiting: Callable[[], None]) -> tuple[str, ...]:
        nonlocal looks
        looks += 1
        return honest(directory, waiting=waiting)

    store = await FileStore.open(tmp_path)
    async with store.live() as view:
        monkeypatch.setattr(listing, "keys", counted)
        await asyncio.sleep(3 * looking.LOOKED_EVERY)
        assert looks == 0
        await view.list()
        assert looks == 1
        # Of many who ask at a time, those that ask during one look share the next.
        await asyncio.gather(*(view.list() for _ in range(20)))
        assert looks <= 3
