"""What a doctor finds in a directory: real files, and real refusals of the operating system."""

import os
import time
from pathlib import Path

import pytest

from jsmemory import Check, FileStore, InvalidOptionsError, Report, Verdict, examine_directory
from jsmemory.examining import disk
from jsmemory.limits import MAX_ENTRIES, MAX_ENTRY_BYTES

VALUE = b'---\ndescription: "about it"\n---\n\ntext'

OF_THE_HOST = {"disk", "inodes", "file_system", "case"}
"""What depends on where the tests run."""


def check(report: Report, name: str) -> Check:
    """The check of a name; there is exactly one."""
    (found,) = [each for each in report.checks if each.name == name]
    return found


def codes(report: Report) -> set[str]:
    """What was found that does not depend on this host."""
    return {finding.code for each in report.checks if each.name not in OF_THE_HOST for finding in each.findings}


async def test_a_directory_as_a_store_makes_it_is_well(tmp_path: Path) -> None:
    """Whoever did everything right must not learn to overlook findings."""
    store = await FileStore.open(tmp_path / "memory", prefix="alice")
    await store.create("build", "how to build", "make", scope=None)
    for prefix in ("alice", ""):
        report = await examine_directory(tmp_path / "memory", prefix)
        assert (report.backend, report.location) == ("file", "")
        assert codes(report) - {"directory_readable_by_all"} == set()
    assert check(await examine_directory(tmp_path / "memory", "alice"), "entries").said == "1 of 1,024"
    assert check(await examine_directory(tmp_path / "memory"), "others").said == "kept out"


async def test_looking_makes_and_writes_nothing(tmp_path: Path) -> None:
    """A wrong name must not leave a directory behind, nor a look at a right one a file."""
    report = await examine_directory(tmp_path / "nowhere", "alice")
    assert (report.verdict, codes(report)) == (Verdict.ADVICE, {"directory_missing"})
    report = await examine_directory(tmp_path, write_probe=False)
    assert list(tmp_path.iterdir()) == []
    assert (await examine_directory(tmp_path / "nowhere", write_probe=True)).verdict is Verdict.ADVICE
    assert list(tmp_path.iterdir()) == []


async def test_a_write_probe_leaves_no_entry(tmp_path: Path) -> None:
    """A check that fills the stores that it checks would be the fault that it looks for."""
    report = await examine_directory(tmp_path, write_probe=True)
    assert check(report, "write_probe").verdict is Verdict.OK
    assert [each.name for each in tmp_path.iterdir() if each.suffix == ".md"] == []


async def test_what_is_no_entry_is_told_by_kind(tmp_path: Path) -> None:
    """What no store shows, or cannot write, can only be found here."""
    for name, value in {
        "fine.md": VALUE,
        "raw.md": b"no header",
        "huge.md": b"x" * (MAX_ENTRY_BYTES + 1),
        "notes.txt": VALUE,
        "two words.md": VALUE,
        ".tmp-left": VALUE,
        ".tmp-fresh": VALUE,
        ".lock": b"",
        ".realm": b"",
    }.items():
        (tmp_path / name).write_bytes(value)
    (tmp_path / "taken.md").mkdir()
    (tmp_path / "link.md").symlink_to(tmp_path / "fine.md")
    (tmp_path / "alice").mkdir()
    os.utime(tmp_path / ".tmp-left", (time.time() - 3600,) * 2)
    report = await examine_directory(tmp_path)
    assert codes(report) - {"directory_readable_by_all"} == {
        "foreign_files", "obstacles", "oversize", "descriptions", "left_over",
    }  # fmt: skip
    assert check(report, "entries").said == "3 of 1,024"
    assert check(report, "left_over").said == "1 (.tmp-left)"
    assert check(report, "foreign_files").said.startswith("2 (")
    assert check(report, "obstacles").said.startswith("2 (")
    assert "raw.md" in check(report, "descriptions").said
    assert report.verdict in (Verdict.WARNING, Verdict.FAULT)


@pytest.mark.parametrize(("count", "verdict"), [(900, Verdict.WARNING), (MAX_ENTRIES, Verdict.FAULT)])
async def test_a_store_near_its_capacity_is_told(tmp_path: Path, count: int, verdict: Verdict) -> None:
    """Agents cannot make room before they are told that there is none."""
    for number in range(count):
        (tmp_path / f"k{number}.md").write_bytes(VALUE)
    assert check(await examine_directory(tmp_path), "entries").verdict is verdict


async def test_a_file_where_the_directory_should_be_is_a_fault(tmp_path: Path) -> None:
    """A typing error in a configuration."""
    (tmp_path / "file").touch()
    report = await examine_directory(tmp_path / "file")
    assert (report.verdict, codes(report)) == (Verdict.FAULT, {"directory_unusable"})
    assert str(tmp_path) not in str(report)


@pytest.mark.parametrize(("mode", "code"), [(0o777, "directory_open_to_all"), (0o755, "directory_readable_by_all")])
async def test_who_else_may_look_and_write_is_told(tmp_path: Path, mode: int, code: str) -> None:
    """What an agent believes to remember, another account of the host may have written."""
    tmp_path.chmod(mode)
    assert codes(await examine_directory(tmp_path)) == {code}


async def test_what_this_account_may_not_is_told_as_a_right_that_is_missing(tmp_path: Path) -> None:
    """A store that cannot write is found out by the first note that is lost."""
    denied = tmp_path / "memory"
    denied.mkdir()
    (denied / "secret.md").write_bytes(VALUE)
    (denied / "secret.md").chmod(0o000)
    denied.chmod(0o500)
    read_end, write_end = os.pipe()
    child = os.fork()
    if child == 0:  # pragma: no cover - another account, which root has to become to be refused anything
        _report_as_nobody(denied, write_end)
    os.close(write_end)
    with os.fdopen(read_end) as answers:
        said = answers.read().split()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert set(said) >= {"directory_not_writable", "unreadable_files", "read_only:unreadable_files"}
    assert "read_only:directory_not_writable" not in said


def _report_as_nobody(denied: Path, write_end: int) -> None:
    """In a child: become an account that is refused things, and tell what it finds."""
    import asyncio

    code = 1
    try:
        directory = os.open(denied, os.O_RDONLY)
        if os.geteuid() == 0:
            os.fchown(directory, 65_534, 65_534)
            os.setgid(65_534)
            os.setuid(65_534)
        with os.fdopen(write_end, "w") as answers:
            for read_only, mark in ((False, ""), (True, "read_only:")):
                report = asyncio.run(examine_directory(f"/proc/self/fd/{directory}", read_only=read_only))
                answers.write("".join(f"{mark}{code} " for code in codes(report)))
        code = 0
    finally:
        os._exit(code)


@pytest.mark.parametrize(
    ("free", "verdict"), [(0, Verdict.FAULT), (1024 * 1024, Verdict.WARNING), (1024**3, Verdict.OK)]
)
def test_a_disk_is_called_full_before_an_entry_does_not_fit(free: int, verdict: Verdict) -> None:
    """The first sign of a full disk must not be a note that was not kept."""
    told = disk.room("disk", free, "so much", MAX_ENTRY_BYTES, MAX_ENTRIES * MAX_ENTRY_BYTES)
    assert told.verdict is verdict


@pytest.mark.parametrize(
    ("kind", "verdict"),
    [("nfs4", Verdict.WARNING), ("tmpfs", Verdict.WARNING), ("ext4", Verdict.OK), (None, Verdict.UNKNOWN)],
)
def test_a_file_system_that_keeps_less_than_is_promised_is_told(kind: str | None, verdict: Verdict) -> None:
    """A directory that hosts share over a network is where one of them overwrites the other."""
    assert disk.judge_file_system(kind).verdict is verdict


async def test_a_directory_or_a_prefix_that_cannot_be_is_refused(tmp_path: Path) -> None:
    """Before anything is looked at."""
    with pytest.raises(InvalidOptionsError):
        await examine_directory("")
    with pytest.raises(InvalidOptionsError):
        await examine_directory(tmp_path, "a/b")
