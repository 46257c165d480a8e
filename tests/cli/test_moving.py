"""Copy, export and import as an operator types them: names of stores, reports, codes, and a stop in the middle."""

import asyncio
import os
import pty
import signal
import subprocess
import sys
import tarfile
import time
from pathlib import Path
from typing import Any

import pytest

from jsmemory.cli.exits import UsageRefused
from jsmemory.cli.options import Choice
from jsmemory.cli.places import guarded, place_of
from jsmemory.entries import Draft
from jsmemory.frontmatter import serialise
from jsmemory.testing.servers import NatsServer, make_bucket


def plant(directory: Path, count: int, *, content: str = "text") -> None:
    """The directory of a file store, made as quickly as can be."""
    directory.mkdir(parents=True)
    for number in range(count):
        (directory / f"entry-{number:04}.md").write_bytes(serialise(Draft.of(f"about {number}", content)))


def entries_of(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in directory.glob("*.md")}


# -- Copy -----------------------------------------------------------------------------------


def test_a_copy_there_and_back_is_the_same(shell: Any, nats_server: NatsServer, new_bucket: str) -> None:
    """From a laptop to a fleet and back, each store by the name that its operator has for it."""
    plant(shell.folder / "here" / "alice", 12)
    (shell.folder / "fleet.yaml").write_text(f"backend: jetstream\noptions: {{bucket: {new_bucket}}}\n")
    server = ("--server", nats_server.url)
    there = shell(*server, "copy", "file:here/alice", "fleet.yaml", "--identity", "alice", "--json")
    assert (there.code, there.json["counts"], there.json["dry_run"]) == (0, {"created": 12}, False)
    assert there.json["entries"][0] == {
        "origin": "entry-0000",
        "key": "entry-0000",
        "outcome": "created",
        "code": "",
        "message": "",
    }
    back = shell("copy", f"jetstream:{new_bucket}/alice", "file:back", *server)
    assert (back.code, back.out, back.err) == (0, b"", "Done: 12 created.\n")
    assert entries_of(shell.folder / "back") == entries_of(shell.folder / "here" / "alice")
    whole = shell("copy", f"jetstream:{new_bucket}", "file:whole", *server)
    assert whole.code == 0
    assert "alice.entry-0003.md" in entries_of(shell.folder / "whole")
    assert shell("copy", f"jetstream:{new_bucket}/alice", "file:back", *server).err == "Done: 12 equal.\n"


def test_a_copy_from_one_server_to_another(
    shell: Any, nats_server: NatsServer, fresh_server: NatsServer, new_bucket: str
) -> None:
    """A fleet that moves has two of them for a while."""
    shell("-s", nats_server.url, "-b", new_bucket, "--prefix", "a", "write", "k", "-d", "x")
    asyncio.run(make_bucket(fresh_server.url, "new"))
    moved = shell(
        "copy", f"jetstream:{new_bucket}/a", "jetstream:new/b", "-s", nats_server.url, "--dst-server", fresh_server.url
    )
    assert moved.code == 0, moved
    assert shell("-s", fresh_server.url, "-b", "new", "--prefix", "b", "list").out == b"k\tx\n"


def test_what_is_not_carried_is_told_with_its_reason_and_a_code(shell: Any) -> None:
    """A script must see that not all of it arrived, and its author which and why."""
    plant(shell.folder / "a", 3)
    plant(shell.folder / "b", 2, content="theirs")
    refused = shell("copy", "file:a", "file:b")
    assert refused.code == 1
    lines = [line.split("\t") for line in refused.out.decode().splitlines()]
    assert [line[:2] for line in lines] == [["refused", "entry-0000"], ["refused", "entry-0001"]]
    assert all("another value" in line[2] for line in lines)
    assert refused.err == "Done: 1 created, 2 refused.\n"
    assert {each["code"] for each in shell("copy", "file:a", "file:b", "--json").json["entries"]} == {"", "differs"}
    replaced = shell("copy", "file:a", "file:b", "--overwrite", "--json")
    assert (replaced.code, replaced.json["counts"]) == (0, {"replaced": 2, "equal": 1})
    assert entries_of(shell.folder / "a") == entries_of(shell.folder / "b")


def test_an_empty_source_is_told_and_changes_nothing(shell: Any) -> None:
    """Fault 39, as it is typed: the directory is there, and somebody wiped it."""
    plant(shell.folder / "a", 0)
    plant(shell.folder / "b", 2)
    refused = shell("copy", "file:a", "file:b", "--overwrite")
    assert (refused.code, refused.out) == (1, b"")
    assert "Nothing is stored in file:a" in refused.err
    copied = shell("copy", "file:a", "file:b", "--overwrite", "--allow-empty")
    assert (copied.code, copied.out) == (0, b"")
    assert "nothing is ever deleted" in copied.err
    assert len(entries_of(shell.folder / "b")) == 2


def test_a_backup_of_nothing_is_none(memory: Any, shell: Any) -> None:
    """A nightly script with a letter too many in a prefix would replace the last good backup, and report success."""
    memory("write", "k", "-d", "x", "--prefix", "alice")
    assert memory("export", "b.tar.gz", "--prefix", "alice").code == 0
    before = sorted(path.relative_to(shell.folder) for path in shell.folder.rglob("*"))
    for target in ("b.tar.gz", "notes"):
        refused = memory("export", target, "--overwrite", "--prefix", "alcie")
        assert (refused.code, refused.out, refused.err.count("\n")) == (1, b"", 1)
        assert "under the prefix alcie" in refused.err
    told = memory("export", "b.tar.gz", "--overwrite", "--prefix", "alcie", "--dry-run", "--json")
    assert (told.code, told.json["error"]["code"]) == (1, "nothing_stored")
    assert sorted(path.relative_to(shell.folder) for path in shell.folder.rglob("*")) == before
    assert memory("import", "b.tar.gz", "--prefix", "alice", "--json").json["counts"] == {"equal": 1}


def test_notes_are_saved_from_a_bucket_that_would_lose_them(
    shell: Any, nats_server: NatsServer, new_bucket: str
) -> None:
    """Somebody gave the bucket a TTL: until he is found, the notes in it are to be copied to where they stay."""
    old = f"{new_bucket}-old"
    asyncio.run(make_bucket(nats_server.url, old, max_age=3600 * 10**9))
    server = ("--server", nats_server.url)
    place = (*server, "--bucket", old, "--prefix", "a")
    assert shell(*place, "--no-preflight", "write", "k", "-d", "x").code == 0
    assert shell(*place, "list").code == 5
    exported = shell(*place, "export", "b.tar.gz", "--json")
    assert (exported.code, exported.json["counts"]) == (0, {"created": 1})
    warning, done = shell(*server, "copy", f"jetstream:{old}/a", f"jetstream:{new_bucket}/a").err.splitlines()
    assert (warning, done) == (exported.err.strip(), "Done: 1 created.")
    assert warning.startswith("Warning: ")
    assert "--ttl=0s" in warning
    back = shell(*server, "copy", f"jetstream:{new_bucket}/a", f"jetstream:{old}/b", "--json")
    assert (back.code, back.json["error"]["code"]) == (5, "bucket_unfit")


def test_a_bucket_whose_notes_cannot_all_be_found_is_not_saved(
    shell: Any, nats_server: NatsServer, new_bucket: str
) -> None:
    """A mirror holds every note, and none under its key: what is saved of it would be nothing."""
    mirror = f"{new_bucket}-mirror"
    asyncio.run(make_bucket(nats_server.url, mirror, subjects=None, mirror={"name": f"KV_{new_bucket}"}, discard="old"))
    refused = shell("-s", nats_server.url, "-b", mirror, "export", "b.tgz", "--allow-empty", "--json")
    assert (refused.code, refused.json["error"]["code"]) == (5, "bucket_unfit")


def test_an_empty_memory_is_an_archive_where_that_is_allowed(shell: Any) -> None:
    """A new memory has its nightly script before it has its first note."""
    exported = shell("--directory", "a", "--prefix", "", "export", "b.tar.gz", "--allow-empty")
    assert (exported.code, "othing was written" in exported.err) == (0, False)
    assert shell("--directory", "c", "--prefix", "", "import", "b.tar.gz").code == 0


def test_a_look_makes_nothing(shell: Any) -> None:
    """A dry run, and a name that was mistyped, must leave no directory behind."""
    plant(shell.folder / "a", 2)
    looked = shell("copy", "file:a", "file:b", "--dry-run")
    assert (looked.code, looked.out) == (0, b"created\tentry-0000\t\ncreated\tentry-0001\t\n")
    assert shell("export", "b", "--directory", "a", "--prefix", "", "--dry-run", "--json").json["counts"] == {
        "created": 2
    }
    assert shell("export", "b.tgz", "--directory", "a", "--prefix", "", "--dry-run").code == 0
    assert shell("copy", "file:nowhere", "file:b").code == 2
    assert sorted(path.name for path in shell.folder.iterdir()) == ["a"]


def test_a_destination_for_reading_is_refused(shell: Any) -> None:
    """Whoever said read-only once must not have to remember it."""
    plant(shell.folder / "a", 2)
    (shell.folder / "b.yaml").write_text("read_only: true\noptions: {directory: b, prefix: ''}\n")
    refused = shell("copy", "file:a", "b.yaml", "--json")
    assert (refused.code, refused.json["error"]["code"]) == (1, "read_only")
    assert shell("--read-only", "import", "a", "--json").json["error"]["code"] == "read_only"


def test_a_copy_keeps_the_guard_whatever_the_configuration_says(tmp_path: Path) -> None:
    """Without it, overwriting would take whatever is there by then, and not what was read."""
    (tmp_path / "b.yaml").write_text("options: {directory: b, require_read_before_update: false}\n")
    place = guarded(place_of(str(tmp_path / "b.yaml"), Choice()))
    assert place.configuration.options["require_read_before_update"] is True
    assert guarded(place_of("file:b", Choice())) == place_of("file:b", Choice())


@pytest.mark.parametrize("name", ["", "file", "file:", "jetstream:", "jetstream:b/", "redis:x", "nowhere.yaml", "/"])
def test_a_name_that_means_no_store_is_refused(name: str) -> None:
    """A name that is understood wrongly is a copy to the wrong place."""
    with pytest.raises(UsageRefused, match="file:DIR"):
        place_of(name, Choice())


@pytest.mark.parametrize(
    ("how", "code", "word"), [(signal.SIGINT, 130, "interrupted"), (signal.SIGTERM, 143, "terminated")]
)
def test_a_copy_that_is_stopped_goes_on_when_it_is_run_again(
    shell: Any, how: signal.Signals, code: int, word: str
) -> None:
    """Whoever stops a long copy must know where it stands, find no half of a note, and lose nothing by it."""
    plant(shell.folder / "a", 800, content="long " * 10_000)
    process = shell.start("copy", "file:a", "file:b", *(("--json",) if word == "terminated" else ()))
    try:
        deadline = time.monotonic() + 60
        while not list((shell.folder / "b").glob("entry-002*.md")) and time.monotonic() < deadline:
            time.sleep(0.002)
        process.send_signal(how)
        out, err = process.communicate(timeout=60)
    finally:
        process.kill()
        process.communicate()
    told = out if word == "terminated" else err
    assert process.returncode == code, (out, err)
    assert told.count(b"\n") == 1
    assert word.encode() in told.lower()
    assert b"run the same command again" in told
    expected = entries_of(shell.folder / "a")
    arrived = entries_of(shell.folder / "b")
    assert 0 < len(arrived) < 800
    assert arrived.items() <= expected.items()
    again = shell("copy", "file:a", "file:b", "--json")
    assert again.code == 0
    assert again.json["counts"] == {"created": 800 - len(arrived), "equal": len(arrived)}
    assert entries_of(shell.folder / "b") == expected
    assert not [name for name in os.listdir(shell.folder / "b") if name.startswith(".tmp")]


# -- Export and import ----------------------------------------------------------------------


def test_an_archive_and_a_directory_come_back(memory: Any, shell: Any) -> None:
    """Whoever backs up with one command must restore with one, into the same store or a new one."""
    memory("write", "build", "-d", "How to build", "--content", "-", stdin=b"make\n")
    memory("write", "run", "-d", "How to run", "--content", "-", stdin="é\r\n".encode())
    exported = memory("export", "backup.tar.gz")
    assert (exported.code, exported.out, exported.err) == (0, b"", "Done: 2 created.\n")
    with tarfile.open(shell.folder / "backup.tar.gz") as archive:
        assert archive.getnames() == ["build.md", "run.md", "manifest.json"]
    assert memory("export", "notes").code == 0
    assert sorted(entries_of(shell.folder / "notes")) == ["build.md", "run.md"]
    memory("delete", "build")
    assert memory("import", "backup.tar.gz", "--json").json["counts"] == {"created": 1, "equal": 1}
    assert memory("read", "build").out == b"make\n"
    memory("delete", "run")
    assert memory("import", "notes", "--json").json["counts"] == {"created": 1, "equal": 1}
    assert memory("read", "run").out == "é\r\n".encode()
    assert memory("export", "notes", "--json").json["counts"] == {"equal": 2}


def test_an_archive_is_replaced_only_when_told(shell: Any) -> None:
    """Yesterday's backup under today's name."""
    shell("write", "k", "-d", "x")
    (shell.folder / "a.tgz").write_text("yesterday")
    refused = shell("export", "a.tgz")
    assert (refused.code, refused.err.count("\n")) == (2, 1)
    assert "--overwrite" in refused.err
    assert shell("export", "a.tgz", "--overwrite").code == 0
    assert (shell.folder / "a.tgz").read_bytes()[:2] == b"\x1f\x8b"


def test_notes_of_people_are_taken_with_a_report(shell: Any) -> None:
    """What has another name now, and what was left out, is a line each for whoever has to look after it."""
    notes = shell.folder / "notes"
    (notes / "To Do").mkdir(parents=True)
    (notes / "build.md").write_text("# How to build\n")
    (notes / "To Do" / "next week.md").write_text("# Later\n")
    (notes / "picture.png").write_bytes(b"\x89PNG")
    (notes / "latin.md").write_bytes(b"caf\xe9")
    taken = shell("import", "notes")
    assert taken.code == 1
    lines = [line.split("\t") for line in taken.out.decode().splitlines()]
    assert [line[:2] for line in lines] == [
        ["created", "To Do/next week.md"],
        ["refused", "latin.md"],
        ["skipped", "picture.png"],
    ]
    assert lines[0][2] == "as To-Do.next-week"
    done, rule = taken.err.splitlines()
    assert done == "Done: 2 created, 1 skipped, 1 refused."
    assert "the same each time" in rule
    assert shell("list").out == b"To-Do.next-week\tLater\nbuild\tHow to build\n"
    (notes / "latin.md").unlink()
    assert shell("import", "notes", "--json").code == 0


def test_a_hostile_or_a_wrong_file_is_refused_with_what_to_do(shell: Any) -> None:
    """An archive of a stranger, and a file that is none: a finding, a code, and no entry."""
    with tarfile.open(shell.folder / "evil.tar.gz", "w:gz") as archive:
        archive.add(__file__, "../../evil.md")
    (shell.folder / "note.md").write_text("a note")
    (shell.folder / "picture.png").write_bytes(b"\x89PNG")
    for name in ("evil.tar.gz", "picture.png"):
        refused = shell("import", name, "--json")
        assert (refused.code, refused.json["error"]["code"]) == (1, "archive_unfit")
    one = shell("import", "note.md")
    assert (one.code, one.err.count("\n")) == (2, 1)
    assert "jsmemory write KEY" in one.err
    assert shell("list").out == b""
    assert not list(shell.folder.parent.glob("evil*"))


def test_names_of_files_do_nothing_to_a_terminal(shell: Any) -> None:
    """Fault 33, by way of a name: an archive of somebody's notes is unpacked, and its names are shown."""
    notes = shell.folder / "notes"
    notes.mkdir()
    (notes / os.fsdecode(b"odd\x1b]0;mine\x07 [red]\xff.md")).write_text("text")
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "jsmemory.cli", "import", "notes", "--dry-run"],
        stdin=theirs,
        stdout=theirs,
        stderr=subprocess.DEVNULL,
        cwd=shell.folder,
        env=shell.environment | {"NO_COLOR": "1", "TERM": "dumb", "COLUMNS": "200"},
    )
    os.close(theirs)
    seen = b""
    try:
        while data := os.read(ours, 65_536):
            seen += data
    except OSError:
        pass
    finally:
        os.close(ours)
        assert process.wait(60) == 0
    assert b"odd\\x1b]0;mine\\x07 [red]\\udcff.md" in seen
    assert not {0x1B, 0x07} & set(seen)
