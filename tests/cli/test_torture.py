"""``jsmemory torture``, as whoever doubts a guarantee runs it."""

import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from jsmemory.testing.torture.recording import Recorder
from jsmemory.testing.torture.records import Began, Ended, Rested


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
    recorder = Recorder(records, "w0")
    recorder.write(Began("w0", 1, 1.0, "create", "s", "r", "few", "k", "w0.1.40"))
    recorder.write(Ended("w0", 1, 2.0, "ok"))
    recorder.write(Rested("few", 3.0, {}))
    recorder.close()
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
        recorder = Recorder(shell.folder / "records" / name, "w0")
        recorder.write(Began("w0", 1, 1.0, "create", "s", "r", "few", "k", "w0.1.40"))
        recorder.write(Ended("w0", 1, 2.0, "ok"))
        recorder.write(Rested("few", 3.0, {"k": "w0.1.40"} if name == "campaign" else {}))
        recorder.close()
    ran = shell("torture", "--check", "records", "--json")
    assert ran.code == 1
    assert [len(ran.json[name]["violations"]) for name in ("crashes", "campaign")] == [1, 0]
    assert shell("torture", "--check", "records/campaign").code == 0


@pytest.mark.parametrize(
    ("arguments", "code", "named"),
    [
        (("--replicas", "2"), 2, "--replicas"),
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
        assert process.wait(30) == 130
    assert [*temporary.iterdir()] == []
