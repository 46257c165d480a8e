"""The demo: what it promises on a folder as it comes, and that it would find a loss if there were one."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

MARK = "JSMEMORY_TEST_MARK"


def fill(folder: Path, files: int) -> None:
    for number in range(files):
        place = folder / f"part{number % 3}"
        place.mkdir(parents=True, exist_ok=True)
        (place / f"file {number}.txt").write_text(f"File {number}\nhas two lines\n")


def test_nothing_is_lost_though_workers_are_killed(shell: Any) -> None:
    """Whoever decides on jsmemory by its demo must see what is promised: two killed, one moved, nothing lost."""
    fill(shell.folder / "tree", 40)
    shown = shell("demo", "tree", "--json")
    assert shown.code == 0, shown
    assert shown.err == ""
    document = shown.json
    assert document["lost"] == 0
    assert document["lost_keys"] == []
    assert (document["files"], document["entries"]) == (40, 41)
    assert (document["killed"], document["handed_over"], document["authority_held"]) == (2, 1, True)
    assert (document["workers"], document["processes"]) == (8, 11)
    assert document["writes"] >= 2 * 40 - 2
    assert {"conflicts", "seconds", "passed_over", "is_cut", "changed"} <= set(document)


def test_few_workers_meet_the_same_fates(shell: Any) -> None:
    """On a small machine the demo must show the same, though the successors of two workers meet it all."""
    fill(shell.folder / "tree", 5)
    document = shell("demo", "tree", "--workers", "2", "--json").json
    assert (document["lost"], document["killed"], document["handed_over"]) == (0, 2, 1)
    assert document["processes"] == 5


def test_its_own_sources_are_what_it_takes_without_a_folder(shell: Any) -> None:
    """The first command that anybody runs has no argument, and must end in half a minute with a table."""
    shown = shell("demo")
    assert shown.code == 0, shown
    assert shown.err.startswith(f"Keeping notes on {shown.out.split()[1].decode()} files of jsmemory itself, in ")
    assert "passed over" not in shown.out.decode()
    rows = {line[:14].strip(): line[14:].split()[0] for line in shown.out.decode().splitlines()}
    assert rows["lost updates"] == "0"
    assert int(rows["files"]) > 50
    assert int(rows["entries"]) == int(rows["files"]) + 1
    assert {"writes", "conflicts", "killed", "time"} <= set(rows)


def test_a_folder_is_taken_as_it_comes(shell: Any) -> None:
    """Whoever points it at a real folder has links, pipes, pictures, huge files and odd names in it."""
    tree = shell.folder / "tree"
    (tree / "deep" / "er").mkdir(parents=True)
    (tree / "empty").touch()
    (tree / "huge.log").write_bytes(b"\xc3\xa9" * 5_000_000)
    (tree / "picture.png").write_bytes(b"\x89PNG\0\0")
    (tree / "latin1.txt").write_bytes(b"caf\xe9")
    (tree / "loop").symlink_to(tree)
    (tree / "dangling").symlink_to("nowhere")
    (tree / "deep" / "loop").symlink_to("..")
    os.mkfifo(tree / "pipe")
    Path(os.fsdecode(os.fsencode(tree) + b"/odd \xff\x1b[31m\n.txt")).write_text("hello\n")
    (tree / "-..=.漢").write_text("---\ndescription: not a header\n---\n\nbody")
    (tree / "deep" / "er" / ("n" * 200)).write_text("long name")
    for name in (".git", "__pycache__"):
        (tree / "deep" / name).mkdir()
        (tree / "deep" / name / "config").write_text("not for people\n")
    (tree / "typing.py").write_text("raise SystemExit('a worker must not import what lies here')")
    document = shell("demo", "tree", "--json").json
    assert document["lost"] == 0
    assert document["files"] == 6
    assert document["passed_over"] == {"binary": 2, "link": 3, "special": 1}


@pytest.mark.parametrize(("files", "killed"), [(0, 0), (1, 2)])
def test_an_almost_empty_folder_is_no_failure(shell: Any, files: int, killed: int) -> None:
    """Whoever tries it on a new folder must not get an error, nor wait for ever."""
    (shell.folder / "tree").mkdir()
    fill(shell.folder / "tree", files)
    document = shell("demo", "tree", "--json").json
    assert (document["files"], document["lost"], document["killed"]) == (files, 0, killed)


def test_a_folder_without_text_is_told_as_such(shell: Any) -> None:
    """A table of zeros would look like a proof."""
    (shell.folder / "tree").mkdir()
    shown = shell("demo", "tree")
    assert (shown.code, shown.out, shown.err.count("\n")) == (0, b"", 1)
    assert "no text file" in shown.err


@pytest.mark.parametrize("harm", ["index", "note", "scope", "record"])
def test_a_loss_is_found_out(shell: Any, harm: str) -> None:
    """A demo that shows 0 whatever happens would prove nothing."""
    fill(shell.folder / "tree", 6)
    (shell.folder / "saboteur.py").write_text((Path(__file__).parent / "saboteur.py").read_text())
    told = shell(
        "demo",
        "tree",
        "--json",
        command=(
            sys.executable,
            "-c",
            "from jsmemory.cli.demo import fleet; fleet.WORKER = 'saboteur'; from jsmemory.cli import main; main()",
        ),
        environment={"PYTHONPATH": str(shell.folder), "JSMEMORY_SABOTAGE": harm},
    )
    assert told.code == 1, told
    if harm in ("scope", "record"):
        assert (told.json["lost"], told.json["authority_held"]) == (0, False)
    else:
        assert told.json["lost"] == 1
        assert told.json["lost_keys"][0].startswith("0002")


def test_what_says_how_to_connect_elsewhere_is_left_aside(shell: Any) -> None:
    """A shell that is set up for a fleet must not keep the demo from its own server."""
    fill(shell.folder / "tree", 1)
    elsewhere = {"NATS_URL": "tls://fleet.example:4222", "NATS_CREDS": "missing.creds", "NATS_CA": "missing.pem"}
    assert shell("demo", "tree", "--json", environment=elsewhere).json["lost"] == 0


@pytest.mark.parametrize(
    ("how", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGKILL, -signal.SIGKILL)]
)
def test_no_process_outlives_the_demo(shell: Any, how: signal.Signals, code: int) -> None:
    """Whoever interrupts it must not be left with servers and workers, even where it could tidy nothing up."""
    fill(shell.folder / "tree", 400)
    mark = {MARK: os.urandom(16).hex(), "TMPDIR": str(shell.folder)}
    demo = shell.start("demo", "tree", environment=mark)
    # The demo, its server, that one's watchdog, and workers.
    wait_until(lambda: len(marked(mark[MARK])) >= 5)
    demo.send_signal(how)
    out, err = demo.communicate(timeout=60)
    assert (demo.returncode, out) == (code, b"")
    assert b"Traceback" not in err
    wait_until(lambda: not marked(mark[MARK]))
    if how != signal.SIGKILL:
        assert err.count(b"\n") == 2
        assert err.endswith(b" before the end: nothing was shown. Run it again.\n")
        assert err.startswith(b"Keeping notes on 400 files in ")
        assert [path.name for path in shell.folder.glob("jsmemory-*")] == []


def marked(mark: str) -> list[int]:
    """The processes that were started with this mark in their environment."""
    listed = subprocess.run(["ps", "-A", "-E", "-ww"] if sys.platform == "darwin" else ["true"], capture_output=True)
    if listed.stdout:
        return [int(line.split()[0]) for line in listed.stdout.decode().splitlines() if mark in line]
    found = []
    for place in Path("/proc").iterdir():
        if place.name.isdigit():
            try:
                if mark.encode() in (place / "environ").read_bytes():
                    found.append(int(place.name))
            except OSError:
                # It has ended meanwhile, or is somebody else's.
                continue
    return found


def wait_until(holds: Callable[[], bool], seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.02)
