"""``jsmemory torture``, as whoever doubts a guarantee runs it."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Final

import pytest

from jsmemory.testing.torture.keeping import seal
from jsmemory.testing.torture.recording import Recorder
from jsmemory.testing.torture.records import Began, Ended, Record, Rested, Set

RUN: Final = Set("file", 1, 0, 1.0, 1, 1024, 0.0)


def keep(folder: Path, *records: Record) -> None:
    """Records as a worker writes them."""
    recorder = Recorder(folder, "w0")
    for record in records:
        recorder.write(record)
    recorder.close()
    seal(folder)


def test_a_campaign_reports_what_it_did_and_can_be_checked_again(shell: Any, tmp_path: Path) -> None:
    """A report that nobody can check again is a claim."""
    ran = shell("torture", "--minutes", "0.05", "--seed", "3", "--replicas", "1", "--keep", "kept", "--json")
    assert ran.code == 0, ran
    told = ran.json
    assert told["good"] is True
    assert told["campaign"]["violations"] == []
    assert told["campaign"]["calls"] > 1000
    assert told["campaign"]["lost_acknowledgements"]["settled"] == 1.0
    assert told["campaign"]["settings"] == {
        "backend": "jetstream",
        "replicas": 1,
        "servers": 1,
        "workers": 4,
        "minutes": 0.05,
        "seed": 3,
    }

    again = shell("torture", "--check", "kept")
    assert again.code == 0
    assert "Every guarantee was kept." in again.out.decode()
    assert f"{told['campaign']['calls']:,} calls" in again.out.decode()


def test_a_broken_guarantee_is_named_with_its_history_and_ends_with_1(shell: Any, tmp_path: Path) -> None:
    """A script that runs it every night must notice."""
    records = shell.folder / "records"
    records.mkdir()
    keep(
        records,
        Began("w0", 1, 1.0, "create", "s", "r", "few", "k", "w0.1.40"),
        Ended("w0", 1, 2.0, "ok"),
        Rested("few", 3.0, {}),
    )
    ran = shell("torture", "--check", "records")
    assert ran.code == 1
    assert "kept: " in ran.out.decode()
    assert "create k w0.1.40: ok" in ran.out.decode()
    [violation] = shell("torture", "--check", "records", "--json").json["campaign"]["violations"]
    assert violation["guarantee"] == "kept"
    assert violation["key"] == "k"
    assert len(violation["history"]) == 2


def test_all_that_was_kept_is_checked_again(shell: Any) -> None:
    """A process that was killed at a point of a write is as much a proof as the campaign after it."""
    for name in ("crashes", "campaign"):
        (shell.folder / "records" / name).mkdir(parents=True)
        keep(
            shell.folder / "records" / name,
            RUN,
            Began("w0", 1, 1.0, "create", "s", "r", "few", "k", "w0.1.40"),
            Ended("w0", 1, 2.0, "ok"),
            Rested("few", 3.0, {"k": "w0.1.40"} if name == "campaign" else {}),
        )
    ran = shell("torture", "--check", "records", "--json")
    assert ran.code == 1
    assert [len(ran.json[name]["violations"]) for name in ("crashes", "campaign")] == [1, 0]
    assert shell("torture", "--check", "records/campaign").code == 0


def test_records_that_prove_nothing_are_not_called_good(shell: Any) -> None:
    """A script that looks at the code alone would take an empty file for a proof."""
    records = shell.folder / "records"
    records.mkdir()
    (records / "w0-00000.jsonl").touch()
    ran = shell("torture", "--check", "records")
    assert ran.code == 1
    assert "Every guarantee was kept." not in ran.out.decode()
    assert "The records lack what was run, any call, their end, and prove nothing" in ran.out.decode()
    told = shell("torture", "--check", "records", "--json").json
    assert told["good"] is False
    assert told["campaign"]["missing"] == ["what was run", "any call", "their end"]


def test_too_many_unknown_outcomes_are_told(shell: Any) -> None:
    """Nothing else would be said of a store that settles no outcome at all."""
    records = shell.folder / "records"
    records.mkdir()
    began = [Began("w0", n, n, "create", "s", "r", "few", f"k{n}", f"w0.{n}.40") for n in range(2)]
    ended = [Ended("w0", n, n + 0.5, "unknown", "outcome_unknown", lost=1) for n in range(2)]
    keep(records, RUN, *began, *ended, Rested("few", 3.0, {}))
    ran = shell("torture", "--check", "records")
    assert ran.code == 1
    assert "Every guarantee was kept." not in ran.out.decode()
    assert "Too many stayed unknown: of those whose bucket stayed, 99.9% have to be settled." in ran.out.decode()
    told = shell("torture", "--check", "records", "--json").json
    assert told["good"] is False
    assert told["campaign"]["lost_acknowledgements"]["enough"] is False


@pytest.mark.parametrize("what", ["pipe", "link", "directory"])
def test_what_is_no_file_among_the_records_is_named(shell: Any, what: str) -> None:
    """A pipe would be waited for without an end."""
    records = shell.folder / "records"
    records.mkdir()
    place = records / "a.jsonl"
    {"pipe": os.mkfifo, "link": lambda link: link.symlink_to("nowhere"), "directory": Path.mkdir}[what](place)
    ran = shell("torture", "--check", "records")
    assert ran.code == 5, ran
    assert "a.jsonl" in ran.err


def test_nothing_in_the_records_is_obeyed_by_a_terminal(shell: Any) -> None:
    """They may come from anybody who asks what went wrong."""
    records = shell.folder / "records"
    records.mkdir()
    keep(
        records,
        Began("w0", 1, 1.0, "create", "s", "r", "few", "k\x1b[2J", "w0.1.40"),
        Ended("w0", 1, 2.0, "foreign", "\x1b[2Jerror"),
    )
    ran = shell("torture", "--check", "records")
    assert ran.code == 1
    assert b"\x1b" not in ran.out
    assert b"\\x1b[2Jerror" in ran.out


@pytest.mark.parametrize(
    ("arguments", "code", "named"),
    [
        (("--replicas", "2"), 2, "--replicas"),
        (("--replicas", "1", "--servers", "3"), 2, "--servers"),
        (("--servers", "2"), 2, "--servers"),
        (("--servers", "6"), 2, "--servers"),
        (("--servers", "4", "--backend", "file"), 2, "--servers"),
        (("--backend", "in_process"), 2, "--backend"),
        (("--bucket", "team"), 2, "--bucket"),
        (("--keep", "full"), 2, "--keep"),
        (("--check", "nowhere"), 5, "--keep"),
        (("--check", "full"), 5, "records"),
        (("--minutes", "0"), 2, "--minutes"),
    ],
)
def test_what_cannot_be_is_refused_with_its_remedy(
    shell: Any, arguments: tuple[str, ...], code: int, named: str
) -> None:
    """Before half an hour is over."""
    full = shell.folder / "full"
    full.mkdir()
    (full / "x-00000.jsonl").write_text("no record\n")
    ran = shell("torture", *arguments)
    assert ran.code == code, ran
    assert named in ran.err


def test_it_is_stopped_at_once_and_leaves_nothing_behind(shell: Any) -> None:
    """Half an hour is long, and whoever changes their mind has other things to do."""
    temporary = shell.folder / "temporary"
    temporary.mkdir()
    command = (sys.executable, "-m", "jsmemory.cli", "torture", "--replicas", "1", "--minutes", "30")
    environment = {**shell.environment, "TMPDIR": str(temporary)}
    with subprocess.Popen(command, cwd=shell.folder, env=environment, stderr=subprocess.PIPE) as process:
        while not [*temporary.glob("jsmemory-records-*/campaign/w*.jsonl")]:
            assert process.poll() is None
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert err.endswith(b"Interrupted before the end: there is no verdict. Run it again for one.\n")
    assert [*temporary.iterdir()] == []
