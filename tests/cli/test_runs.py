"""``jsmemory run`` and ``jsmemory runs``: what a shell, or another language, drives a run with."""

import asyncio
import json
import os
import secrets
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from jsmemory.testing.servers import NatsServer
from jsmemory.testing.streams import make_stream

COMMAND = (sys.executable, "-m", "jsmemory.cli")
WRITE: dict[str, Any] = {"name": "memory_write", "arguments": {"key": "k", "description": "about k", "content": "one"}}
READ = {"name": "memory_read", "arguments": {"key": "k"}}
NEWER = {**WRITE["arguments"], "content": "two", "overwrite": True}
OVERWRITE = {"name": "memory_write", "arguments": NEWER}
SUSPEND = {"command": "suspend"}

Drive = Callable[..., list[dict[str, Any]]]


def lines(*calls: object) -> bytes:
    return b"".join((call if isinstance(call, bytes) else json.dumps(call).encode()) + b"\n" for call in calls)


@pytest.fixture(params=["file", "jetstream"])
def place(request: pytest.FixtureRequest) -> tuple[str, ...]:
    """The options of an empty store and an empty journal: both in files, or both on a server."""
    if request.param == "file":
        return ("--journal", "./runs")
    server: NatsServer = request.getfixturevalue("nats_server")
    stream = f"cli-{secrets.token_hex(6)}"
    asyncio.run(make_stream(server.url, stream))
    return ("--server", server.url, "--bucket", request.getfixturevalue("new_bucket"), "--journal", stream)


@pytest.fixture
def drive(shell: Any, place: tuple[str, ...]) -> Drive:
    """Drive a run named ``night``; what was answered, line by line."""

    def run(*calls: object, options: tuple[str, ...] = (), code: int = 0) -> list[dict[str, Any]]:
        ran = shell("run", "--run-id", "night", *place, *options, stdin=lines(*calls))
        assert ran.code == code, ran.err
        return [json.loads(line) for line in ran.out.decode().splitlines()]

    return run


@pytest.fixture
def listed(shell: Any, place: tuple[str, ...]) -> Callable[[], dict[str, str]]:
    """The runs that are listed, each with its status."""

    def runs() -> dict[str, str]:
        at = place.index("--journal")
        server = place[place.index("--server") :][:2] if "--server" in place else ()
        document = shell("runs", *place[at : at + 2], *server, "--json").json
        assert all(0 <= run["age_s"] < 300 for run in document["runs"])
        return {run["run_id"]: run["status"] for run in document["runs"]}

    return runs


def test_a_suspended_run_goes_on_in_another_process_with_its_authority(
    drive: Drive, listed: Callable[[], dict[str, str]]
) -> None:
    """What the whole journal is for."""
    begun, written, suspended, *refused = drive(WRITE, SUSPEND, OVERWRITE, SUSPEND, {"command": "rotate"})
    assert (begun["run_id"], begun["resumed"], begun["warning"]) == ("night", False, None)
    assert "memory_write" in begun["system_note"]
    assert {tool["name"] for tool in begun["tools"]} == {
        "memory_list",
        "memory_read",
        "memory_write",
        "memory_delete",
    }
    assert written["result"]["written"] is True
    assert suspended == {"command": "suspend", "done": True}
    assert refused[0]["result"]["written"] is False
    assert [(answer["done"], answer["code"]) for answer in refused[1:]] == [(False, "run_ended")] * 2
    assert listed() == {"night": "suspended"}
    begun, overwritten = drive(OVERWRITE, options=("--resume",))
    assert begun["resumed"] is True
    assert "about k" in begun["index"]
    assert overwritten["result"]["written"] is True
    assert listed() == {"night": "completed"}


def test_a_run_is_suspended_at_the_end_of_its_input_where_that_is_asked_for(
    drive: Drive, listed: Callable[[], dict[str, str]]
) -> None:
    """A shell script has no other moment for it."""
    drive(WRITE, options=("--suspend", "--no-index"))
    assert listed() == {"night": "suspended"}
    assert drive(options=("--resume", "--suspend"))[0]["resumed"] is True


def test_a_journal_that_no_run_has_written_is_a_refusal(shell: Any) -> None:
    """A script that tries again after "the backend did not answer" would do so for ever."""
    run = ("run", "--run-id", "night", "--journal", "./runs")
    assert shell(*run, "--suspend", stdin=b"").code == 0
    (kept,) = (shell.folder / "runs").rglob("night*")
    kept.write_bytes(b'{"no": "record"}\n' + kept.read_bytes())
    refused = shell(*run, "--resume", "--json", stdin=b"")
    assert (refused.code, refused.json["error"]["code"]) == (1, "journal_corrupt")


def test_a_new_conversation_has_read_nothing(drive: Drive) -> None:
    _, _, rotated, refused, read, written = drive(WRITE, {"command": "rotate"}, OVERWRITE, READ, OVERWRITE)
    assert rotated == {"command": "rotate", "done": True}
    assert refused["result"]["written"] is False
    assert read["result"]["content"] == "one"
    assert written["result"]["written"] is True


def test_every_line_is_answered_in_the_form_that_it_had(drive: Drive) -> None:
    """A driver that gets no answer waits for ever."""
    answers = drive(
        {"type": "tool_use", "id": "t1", "name": "memory_list", "input": {}},
        {"id": "c1", "type": "function", "function": {"name": "memory_list", "arguments": "{}"}},
        b"",
        b"nonsense",
        b"[" * 100_000,
        b"\xff",
        [1],
        {"command": "fly"},
        {"command": ["suspend"]},
        {"command": "record", "name": "", "data": 1},
        {"command": "record", "name": "message", "data": {"a": 1}},
        {"name": "memory_write", "arguments": {"key": "k", "description": "d", "content": "x" * 1_000_000}},
        b"x" * (17 * 1024 * 1024),
        WRITE,
    )[1:]
    assert answers[0]["tool_use_id"] == "t1"
    assert answers[1]["tool_call_id"] == "c1"
    assert [answer["result"]["code"] for answer in answers[2:6]] == ["invalid_call"] * 4
    assert [answer["code"] for answer in answers[6:9]] == ["unknown_command", "unknown_command", "invalid_record"]
    assert answers[9] == {"command": "record", "done": True}
    assert answers[10]["result"]["written"] is False
    assert answers[11]["result"]["code"] == "invalid_call"
    assert answers[12]["result"]["written"] is True
    assert len(answers) == 13


@pytest.mark.parametrize("number", [b"NaN", b"-Infinity", b"1e999"])
def test_no_answer_holds_a_number_that_json_has_not(drive: Drive, number: bytes) -> None:
    """A driver in another language could not read the line, and a record would come back as another."""
    answers = drive(
        b'{"name": "memory_list", "id": %b}' % number, b'{"command": "record", "name": "x", "data": %b}' % number
    )[1:]
    assert [answer["result"]["code"] for answer in answers] == ["invalid_call"] * 2


@pytest.mark.parametrize("name", [None, 7, ["x"]])
def test_the_name_of_a_record_is_text(drive: Drive, name: object) -> None:
    """It would be kept under a name that nobody gave."""
    (answer,) = drive({"command": "record", "name": name, "data": 1})[1:]
    assert (answer["done"], answer["code"]) == (False, "invalid_record")


def test_a_reader_that_shares_a_pipe_which_does_not_block_gets_every_line(shell: Any) -> None:
    """A terminal that another program has left so would end the run, or cut an answer in two."""
    out, into = os.pipe()
    os.set_blocking(into, False)
    call = {"name": "memory_list", "id": "x" * 1_000_000}
    with subprocess.Popen(
        [*COMMAND, "run", "--run-id", "night"],
        stdin=subprocess.PIPE,
        stdout=into,
        cwd=shell.folder,
        env=shell.environment,
    ) as running:
        os.close(into)
        assert running.stdin is not None
        running.stdin.write(lines(call))
        running.stdin.close()
        with open(out, "rb") as reading:
            answers = [json.loads(line) for line in reading]
    assert running.returncode == 0
    assert answers[1]["id"] == call["id"]


def test_a_line_without_an_end_is_a_line(shell: Any) -> None:
    """The last one, of a driver that ends without it."""
    ran = shell("run", "--run-id", "night", "--no-index", stdin=json.dumps(WRITE).encode())
    assert json.loads(ran.out.splitlines()[1])["result"]["written"] is True
    assert b"\tcompleted\t" in shell("runs").out


@pytest.mark.parametrize("options", [("--read-only",), ("--config", "reading.yaml")])
def test_read_only_memory_offers_no_tool_that_writes(shell: Any, options: tuple[str, ...]) -> None:
    """A model spends a call on any tool that it can see."""
    (shell.folder / "reading.yaml").write_text("backend: file\nread_only: true\n")
    ran = shell("run", "--run-id", "night", *options, stdin=lines(WRITE))
    begun, refused = (json.loads(line) for line in ran.out.splitlines())
    assert [tool["name"] for tool in begun["tools"]] == ["memory_list", "memory_read"]
    assert "memory_write" not in begun["system_note"]
    assert refused["result"]["written"] is False


@pytest.mark.parametrize(
    ("options", "code"),
    [((), "run_exists"), (("--resume",), "run_ended"), (("--take-over",), "run_ended")],
)
def test_a_completed_run_is_not_begun_again(drive: Drive, options: tuple[str, ...], code: str) -> None:
    drive()
    (refused,) = drive(options=(*options, "--json"), code=1)
    assert refused["error"]["code"] == code
    assert ("--resume" if code == "run_exists" else "--run-id") in refused["error"]["message"]


def test_what_is_not_there_is_said(drive: Drive, shell: Any, nats_server: NatsServer) -> None:
    (refused,) = drive(options=("--resume", "--json"), code=1)
    assert refused["error"]["code"] == "run_not_found"
    missing = shell("runs", "--journal", "nowhere", "--server", nats_server.url)
    assert missing.code == 5
    assert "nats stream add nowhere" in missing.err
    empty = shell("runs", "--journal", "./empty")
    assert (empty.code, empty.out, empty.err.count("\n")) == (5, b"", 1)
    assert "no journal in ./empty" in empty.err
    assert not (shell.folder / "empty").exists()
    assert shell("run", stdin=b"").code == 2


def test_a_run_that_was_killed_is_taken_over_on_request(
    shell: Any, place: tuple[str, ...], drive: Drive, listed: Callable[[], dict[str, str]]
) -> None:
    """It cannot be told from one that is slow."""
    drive(WRITE, options=("--suspend",))
    running = subprocess.Popen(
        [*COMMAND, "run", "--run-id", "night", "--resume", *place],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=shell.folder,
        env=shell.environment,
    )
    with running:
        assert running.stdout is not None
        assert running.stdout.readline()
        running.kill()
    assert listed() == {"night": "running"}
    (refused,) = drive(options=("--resume", "--json"), code=1)
    assert refused["error"]["code"] == "run_claimed"
    assert "--take-over" in refused["error"]["message"]
    assert drive(OVERWRITE, options=("--take-over",))[1]["result"]["written"] is True


@pytest.mark.parametrize(("sign", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_run_that_is_stopped_can_be_resumed(
    shell: Any, place: tuple[str, ...], drive: Drive, listed: Callable[[], dict[str, str]], sign: int, code: int
) -> None:
    """Ctrl-C, and an operator's restart, would lose what it may overwrite."""
    running = subprocess.Popen(
        [*COMMAND, "run", "--run-id", "night", *place],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        cwd=shell.folder,
        env=shell.environment,
    )
    with running:
        assert running.stdin is not None
        assert running.stdout is not None
        assert running.stdout.readline()
        running.stdin.write(lines(WRITE))
        running.stdin.flush()
        assert json.loads(running.stdout.readline())["result"]["written"] is True
        os.kill(running.pid, sign)
        assert running.wait(60) == code
    assert listed() == {"night": "cancelled"}
    assert drive(OVERWRITE, options=("--resume",))[1]["result"]["written"] is True


def test_a_run_whose_reader_hangs_can_be_stopped(shell: Any) -> None:
    """An operator's restart would have to kill it, and its authority with it."""
    out, into = os.pipe()
    with subprocess.Popen(
        [*COMMAND, "run", "--run-id", "night"],
        stdin=subprocess.PIPE,
        stdout=into,
        stderr=subprocess.DEVNULL,
        cwd=shell.folder,
        env=shell.environment,
    ) as running:
        os.close(into)
        assert running.stdin is not None
        # Answers that are more than the pipe holds: when they have begun to come, the rest waits to be read.
        running.stdin.write(lines(*[{"name": "x"}] * 3_000))
        running.stdin.flush()
        read = 0
        while read < 20_000:
            read += len(os.read(out, 1000))
        running.terminate()
        try:
            assert running.wait(60) == 143
        finally:
            running.kill()
    os.close(out)
    assert b"\tcancelled\t" in shell("runs").out


def test_a_run_whose_input_never_ends_can_be_stopped(shell: Any) -> None:
    """It would heed neither Ctrl-C nor SIGTERM."""
    with (
        open("/dev/zero", "rb") as endless,
        subprocess.Popen(
            [*COMMAND, "run", "--run-id", "night"],
            stdin=endless,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=shell.folder,
            env=shell.environment,
        ) as running,
    ):
        assert running.stdout is not None
        assert running.stdout.readline()
        running.terminate()
        try:
            assert running.wait(60) == 143
        finally:
            running.kill()


def test_a_journal_that_cannot_be_read_is_listed_as_such(shell: Any, tmp_path: Path) -> None:
    """An operator would look for the run that is missing from the list."""
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "night.jsonl").write_text("nonsense\n")
    assert shell("runs", "-j", "./runs").out == b"night\tunreadable\t-\n"
    assert shell("runs", "-j", "./runs", "--json").json == {
        "runs": [{"run_id": "night", "status": "unreadable", "age_s": None, "reason": None}]
    }
    ran = shell("run", "--run-id", "night", "--resume", "-j", "./runs")
    assert ran.code == 1
    assert "record 1, at position 0" in ran.err


def test_a_folder_whose_name_could_be_a_stream_is_suggested(shell: Any, closed_port: int) -> None:
    """Whoever leaves out the ./ would look for a server that nobody has started."""
    shell("run", "--run-id", "night", "--no-index", "-j", "./runs")
    nowhere = {"NATS_URL": f"nats://127.0.0.1:{closed_port}"}
    refused = shell("runs", "-j", "runs", environment=nowhere)
    assert (refused.code, refused.err.count("\n")) == (3, 1)
    assert "--journal ./runs" in refused.err
    assert "./other" not in shell("runs", "-j", "other", environment=nowhere).err


def test_a_run_that_failed_is_listed_with_the_reason(shell: Any) -> None:
    """An operator must not have to read the journal to learn that a bucket was full."""
    run = shell(
        "run",
        "--run-id",
        "night",
        "--no-index",
        command=(
            sys.executable,
            "-c",
            "import jsmemory, jsmemory.cli.driving as d\n"
            "async def fail(run): raise jsmemory.BackendUnavailableError('Gone.')\n"
            "d._beginning = fail\n"
            "from jsmemory.cli import main; main()",
        ),
    )
    assert run.code == 3
    assert shell("runs").out.rstrip().endswith(b"\tbackend_unavailable")
    (listed,) = shell("runs", "--json").json["runs"]
    assert (listed["status"], listed["reason"]) == ("failed", "backend_unavailable")
