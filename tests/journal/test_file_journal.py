"""The file journal: faults 40 to 42, cut tails, planted things, and who may append."""

import asyncio
import fcntl
import os
import stat
import threading
from pathlib import Path

import msgspec
import pytest

from jsmemory.backends.file import locking
from jsmemory.errors import (
    AccessDeniedError,
    BackendUnavailableError,
    InvalidOptionsError,
    JournalCorruptError,
    JsMemoryError,
    OutcomeUnknownError,
    RunClaimedError,
    RunNotFoundError,
)
from jsmemory.journal import records
from jsmemory.journal.claiming import claim, start
from jsmemory.journal.file import FileJournal
from jsmemory.journal.journal import Tail
from jsmemory.journal.records import MAX_RECORD_BYTES
from jsmemory.scope import Scope

SNAPSHOT = {"version": 1, "realms": {"realm": {"k": "1"}}}
WIDER = {"version": 1, "realms": {"realm": {"k": "1", "l": "2"}}}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "runs"


@pytest.fixture
async def journal(folder: Path) -> FileJournal:
    return await FileJournal.open(folder)


@pytest.fixture
def file(folder: Path) -> Path:
    return folder / "night.jsonl"


async def suspended(journal: FileJournal, snapshot: object = SNAPSHOT) -> Tail:
    tail = await start(journal, "night")
    tail = await journal.append("night", records.terminal("suspended"), after=tail)
    return await journal.append("night", records.memory_revisions(snapshot, "suspended"), after=tail)


async def test_a_tail_is_known_by_its_record_and_not_by_its_length(journal: FileJournal, file: Path) -> None:
    """A file that was removed and begun again has the old length with other records."""
    first, second = (msgspec.structs.replace(records.meta("night"), at=1.5) for _ in range(2))
    tail = await journal.begin("night", first)
    file.unlink()
    again = await journal.begin("night", second)
    assert again.place == tail.place
    with pytest.raises(RunClaimedError):
        await journal.append("night", records.claim(), after=tail)
    await journal.append("night", records.claim(), after=again)


async def test_a_record_of_another_hand_can_be_appended_to(journal: FileJournal, file: Path) -> None:
    """A journal that a tool rewrote with its fields in another order would be lost to its run."""
    await start(journal, "night")
    with file.open("ab") as end:
        end.write(b'{"id": "abc", "kind": "terminal", "data": {"outcome": "suspended"}, "at": 1}\n')
    assert (await claim(journal, "night")).state.status == "running"


# -- Torn tails -----------------------------------------------------------------------------


async def test_a_journal_cut_at_every_byte_of_its_last_three_records(
    journal: FileJournal, file: Path, folder: Path
) -> None:
    """Fault 40: after a crash the next record would be glued to a torn one, and the run lost for ever."""
    tail = await suspended(journal, WIDER)
    claimed = await claim(journal, "night")
    tail = await journal.append("night", records.host("message", "é"), after=claimed.tail)
    tail = await journal.append("night", records.terminal("suspended"), after=tail)
    await journal.append("night", records.memory_revisions(SNAPSHOT, "suspended"), after=tail)
    whole = file.read_bytes()
    ends = [place + 1 for place, byte in enumerate(whole) if byte == ord("\n")]
    for cut in range(ends[-4], len(whole) + 1):
        file.write_bytes(whole[:cut])
        kept = [end for end in ends if end <= cut]
        state = await journal.state("night")
        assert state.records == len(kept)
        scope, is_left = Scope(), state.status == "suspended"
        assert (scope.restore(state.snapshot) is None) is (not is_left or cut == len(whole))
        if is_left:
            assert scope.snapshot() == (SNAPSHOT if cut == len(whole) else Scope().snapshot())
        else:
            # Taken from a process that never said what it had given up: what it was given.
            assert scope.snapshot() == WIDER
        if state.status == "running":
            with pytest.raises(RunClaimedError):
                await claim(journal, "night")
        resumed = await claim(journal, "night", take_over=True)
        assert resumed.state.records == len(kept) + 1
        assert file.read_bytes().startswith(whole[: kept[-1]] + b'{"kind":"claim"')
    assert cut == len(whole)


@pytest.mark.parametrize("torn", [b'{"kind":"cl', b"\0" * 5000, b"x" * MAX_RECORD_BYTES])
async def test_a_torn_tail_is_cut_off_before_the_next_record(journal: FileJournal, file: Path, torn: bytes) -> None:
    """Also where a power cut left a hole, and where what is torn is longer than any block that is read."""
    await suspended(journal)
    whole = file.read_bytes()
    file.write_bytes(whole + torn)
    assert (await journal.runs())[0].status == "suspended"
    claimed = await claim(journal, "night")
    assert file.read_bytes()[: len(whole)] == whole
    assert file.stat().st_size == claimed.tail.place
    assert (await journal.state("night")).records == 4


async def test_a_run_whose_first_record_is_torn_never_began(journal: FileJournal, file: Path) -> None:
    file.write_bytes(b'{"kind":"meta"')
    assert await journal.runs() == ()
    with pytest.raises(RunNotFoundError):
        await claim(journal, "night")
    await start(journal, "night")
    assert (await journal.state("night")).records == 1


@pytest.mark.parametrize("torn", [b"", b"{", b'{"kind":"meta","at":1', b"\0" * 300])
async def test_whatever_a_first_record_leaves_that_was_torn_is_begun_again(
    journal: FileJournal, file: Path, torn: bytes
) -> None:
    """A power cut while a run began would take its name for ever."""
    file.write_bytes(torn)
    await start(journal, "night")
    assert (await journal.state("night")).records == 1


@pytest.mark.parametrize("foreign", [b'{"mine": "precious"}', b"x", b'{"kind": "meta"', b" "])
async def test_a_file_of_somebody_else_is_not_begun_over(journal: FileJournal, file: Path, foreign: bytes) -> None:
    """Whoever keeps data of his own in the directory would lose it to a run of that name."""
    file.write_bytes(foreign)
    with pytest.raises(BackendUnavailableError, match="no journal"):
        await start(journal, "night")
    assert file.read_bytes() == foreign


async def test_a_disk_that_fills_leaves_no_half_of_a_record(
    journal: FileJournal, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A record that was refused would come back with the next one."""
    tail = await suspended(journal)
    whole = file.read_bytes()

    def refuse(descriptor: int) -> None:
        raise OSError(28, "No space left on device", str(file))

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", refuse)
        with pytest.raises(BackendUnavailableError, match="full") as refused:
            await journal.append("night", records.claim(), after=tail)
    assert str(file) not in repr(refused.value)
    assert refused.value.__context__ is None
    assert file.read_bytes() == whole
    await journal.append("night", records.claim(), after=tail)


async def test_a_record_is_on_the_disk_and_a_new_run_in_its_directory(
    journal: FileJournal, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A power cut would take back what was reported suspended."""
    synced: list[str] = []
    real = os.fsync

    def watch(descriptor: int) -> None:
        synced.append("directory" if stat.S_ISDIR(os.fstat(descriptor).st_mode) else "file")
        real(descriptor)

    monkeypatch.setattr(os, "fsync", watch)
    tail = await start(journal, "night")
    assert synced == ["file", "directory"]
    await journal.append("night", records.claim(), after=tail)
    assert synced[2:] == ["file"]


async def test_a_new_run_whose_name_may_not_last_is_in_doubt(
    journal: FileJournal, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.fsync

    def refuse(descriptor: int) -> None:
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            raise OSError(5, "Input/output error", "/secret")
        real(descriptor)

    monkeypatch.setattr(os, "fsync", refuse)
    with pytest.raises(OutcomeUnknownError) as refused:
        await start(journal, "night")
    assert refused.value.__context__ is None


async def test_records_that_vanish_are_reported(journal: FileJournal, file: Path) -> None:
    tail = await suspended(journal)
    file.write_bytes(file.read_bytes()[: tail.place // 2])
    with pytest.raises(JournalCorruptError, match="missing"):
        await journal.state("night", until=tail)


async def test_corruption_is_reported_before_a_run_is_claimed_where_it_can_be(journal: FileJournal, file: Path) -> None:
    await suspended(journal)
    whole = file.read_bytes()
    file.write_bytes(whole + b"nonsense\n")
    with pytest.raises(JournalCorruptError) as refused:
        await claim(journal, "night")
    assert (refused.value.record, refused.value.position) == (4, len(whole))
    assert file.read_bytes() == whole + b"nonsense\n"
    assert [(run.run_id, run.status) for run in await journal.runs()] == [("night", None)]


async def test_a_copied_file_is_not_the_run_of_its_name(journal: FileJournal, file: Path, folder: Path) -> None:
    """A file system that ignores case gives `night` to who asks for `Night`; a claim would stop the real one."""
    await suspended(journal)
    copy = folder / "day.jsonl"
    copy.write_bytes(file.read_bytes())
    with pytest.raises(JournalCorruptError, match="another name"):
        await claim(journal, "day")
    assert copy.read_bytes() == file.read_bytes()


async def test_a_line_that_never_ends_is_reported(journal: FileJournal, file: Path) -> None:
    """Whoever can write to the directory could fill the memory of every process that looks."""
    await start(journal, "night")
    with file.open("ab") as end:
        end.write(b"x" * 3_000_000 + b"\n")
    with pytest.raises(JournalCorruptError, match="longer"):
        await journal.state("night")


@pytest.mark.parametrize("end", [b"", b"\n"])
async def test_a_file_of_any_size_hides_no_other_run(
    journal: FileJournal, file: Path, folder: Path, end: bytes
) -> None:
    """A hole of a terabyte costs who plants it nothing: every listing would end for want of memory, or never."""
    tail = await suspended(journal)
    (folder / "day.jsonl").write_bytes(file.read_bytes().replace(b'"night"', b'"day"'))
    with file.open("r+b") as planted:
        planted.seek(1 << 40)
        planted.write(end or b"\0")
    assert {run.run_id: run.status for run in await journal.runs()} == {"night": None, "day": "suspended"}
    for refused in (journal.last("night"), claim(journal, "night")):
        with pytest.raises(JournalCorruptError, match="longer") as said:
            await refused
        assert (said.value.record, said.value.position) == (4, tail.place)
    with pytest.raises((JournalCorruptError, RunClaimedError)):
        await journal.append("night", records.claim(), after=tail)
    assert file.stat().st_size > 1 << 40


@pytest.mark.parametrize(
    "line",
    [
        b'{"kind":"host","name":"x","at":1,"data":%b,"id":"x"}',
        b'{"kind":"memory_revisions","optional":true,"at":1,"data":{"scope":%b},"id":"x"}',
        b'{"more":%b,"kind":"claim","at":1,"data":{},"id":"x"}',
    ],
)
async def test_a_record_that_nests_without_end_hides_no_other_run(
    journal: FileJournal, file: Path, folder: Path, line: bytes
) -> None:
    """One planted line would keep all runs from being listed, and its own from being reported."""
    await suspended(journal)
    (folder / "day.jsonl").write_bytes(file.read_bytes().replace(b'"night"', b'"day"'))
    with file.open("ab") as end:
        end.write(line % (b"[" * 100_000 + b"]" * 100_000) + b"\n")
    assert {run.run_id: run.status for run in await journal.runs()} == {"night": None, "day": "suspended"}
    for refused in (journal.last("night"), claim(journal, "night"), journal.state("night")):
        with pytest.raises(JournalCorruptError):
            await refused


async def test_data_of_the_hosts_that_is_none_is_reported_with_its_place(journal: FileJournal, file: Path) -> None:
    """The host would be handed the error of a parser, with what stands in the record."""
    await suspended(journal)
    place = file.stat().st_size
    with file.open("ab") as end:
        end.write(b'{"kind":"host","name":"x","at":1,"data":1e999,"id":"x"}\n')
    with pytest.raises(JournalCorruptError) as refused:
        [record async for record in journal.history("night")]
    assert (refused.value.record, refused.value.position) == (4, place)


# -- What else may lie there ----------------------------------------------------------------


def plant(place: Path, kind: str, elsewhere: Path) -> None:
    match kind:
        case "fifo":
            os.mkfifo(place)
        case "link":
            place.symlink_to(elsewhere)
        case "dangling":
            place.symlink_to(elsewhere.with_name("nowhere"))
        case "directory":
            place.mkdir()


@pytest.mark.parametrize("kind", ["fifo", "link", "dangling", "directory"])
async def test_nothing_but_a_file_is_opened(
    journal: FileJournal, file: Path, folder: Path, tmp_path: Path, kind: str
) -> None:
    """A pipe under the name of a run would hang its host, and a link lead out of the directory."""
    elsewhere = tmp_path / "elsewhere.jsonl"
    elsewhere.write_bytes(records.encode(records.meta("night")) + b"\n")
    before = elsewhere.read_bytes()
    plant(file, kind, elsewhere)
    tail = Tail(len(before), records.decode(before).id)
    for call in (
        start(journal, "night"),
        claim(journal, "night"),
        journal.state("night"),
        journal.append("night", records.claim(), after=tail),
    ):
        with pytest.raises(BackendUnavailableError, match="no journal"):
            await asyncio.wait_for(call, 30)
    assert await journal.runs() == ()
    assert elsewhere.read_bytes() == before
    assert not elsewhere.with_name("nowhere").exists()


async def test_files_of_others_are_no_runs(journal: FileJournal, folder: Path) -> None:
    for name in ("notes.txt", ".hidden.jsonl", "a b.jsonl", ".jsonl", "empty.jsonl"):
        (folder / name).write_bytes(b"" if name == "empty.jsonl" else b"text\n")
    assert await journal.runs() == ()


async def test_a_journal_is_for_its_owner_only(journal: FileJournal, file: Path, folder: Path) -> None:
    """Conversations lie in it; other accounts of the host could read them."""
    await start(journal, "night")
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE(file.stat().st_mode) & 0o077 == 0


async def test_a_directory_that_cannot_be_one_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for written in ("", "a\0b", tmp_path / "file"):
        with pytest.raises(InvalidOptionsError) as refused:
            await FileJournal.open(written)
        assert str(tmp_path) not in str(refused.value)


async def test_a_directory_that_is_gone_is_said_without_its_path(journal: FileJournal, folder: Path) -> None:
    """The path of the host's file system would reach the model."""
    folder.rmdir()
    for call in (start(journal, "night"), journal.runs(), journal.state("night")):
        with pytest.raises(BackendUnavailableError, match="gone") as refused:
            await call
        assert str(folder) not in str(refused.value)
        assert refused.value.__cause__ is refused.value.__context__ is None


# -- The lock -------------------------------------------------------------------------------


async def test_an_append_waits_for_the_lock_and_no_reader_does(journal: FileJournal, file: Path) -> None:
    """Two writers at once would cut off each other's records as torn."""
    tail = await start(journal, "night")
    holder = os.open(file, os.O_RDWR)
    fcntl.flock(holder, fcntl.LOCK_EX)
    try:
        appending = asyncio.create_task(journal.append("night", records.claim(), after=tail))
        assert (await journal.state("night")).records == 1
        assert not appending.done()
    finally:
        os.close(holder)
    await appending
    assert (await journal.state("night")).records == 2


async def test_a_holder_that_hangs_is_said(journal: FileJournal, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(locking, "PATIENCE", 0.05)
    tail = await start(journal, "night")
    holder = os.open(file, os.O_RDWR)
    fcntl.flock(holder, fcntl.LOCK_EX)
    try:
        with pytest.raises(BackendUnavailableError, match="does not let go"):
            await journal.append("night", records.claim(), after=tail)
    finally:
        os.close(holder)
    assert (await journal.state("night")).records == 1


async def test_a_cancelled_append_that_waits_writes_nothing_later(journal: FileJournal, file: Path) -> None:
    """A claim that was given up would take the run all the same, for nobody."""
    tail = await start(journal, "night")
    holder = os.open(file, os.O_RDWR)
    fcntl.flock(holder, fcntl.LOCK_EX)
    appending = asyncio.create_task(journal.append("night", records.claim(), after=tail))
    await asyncio.sleep(0.05)
    appending.cancel()
    with pytest.raises((asyncio.CancelledError, JsMemoryError)):
        await appending
    for thread in threading.enumerate():
        if "AnyIO" in thread.name:
            thread.join(0.2)
    os.close(holder)
    await journal.append("night", records.terminal("suspended"), after=tail)
    assert (await journal.state("night")).claims == 0


async def test_a_denied_directory_names_the_permission(
    journal: FileJournal, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An operator would not know what to grant, and read the host's path instead. Root, too, is denied by this."""
    tail = await start(journal, "night")
    real = os.open

    def deny(path: str, *args: int, **kwargs: int) -> int:
        if str(path).endswith(".jsonl"):
            raise PermissionError(13, "Permission denied", str(folder / path))
        return real(path, *args, **kwargs)

    monkeypatch.setattr(os, "open", deny)
    with pytest.raises(AccessDeniedError, match="write to the directory of the journal") as refused:
        await journal.append("night", records.claim(), after=tail)
    assert str(folder) not in str(refused.value)
    with pytest.raises(AccessDeniedError, match="read the directory of the journal"):
        await journal.state("night")
