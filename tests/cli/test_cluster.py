"""``jsmemory server --cluster``: from an empty folder to three encrypted nodes, and back again."""

import json
import os
import re
import shlex
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

GENEROUS_S = 60.0


@contextmanager
def serving(shell: Any, port: str | None = "0") -> Iterator[tuple["subprocess.Popen[bytes]", dict[str, Any]]]:
    """The command, once it serves, with what it said; killed if it is still there."""
    told = () if port is None else ("--port", port, "--bucket", "team")
    server = shell.start("server", "--cluster", *told, "--json")
    try:
        line = server.stdout.readline()
        assert line, server.communicate()
        yield server, json.loads(line)
    finally:
        server.kill()
        server.communicate()


def operator(said: dict[str, Any]) -> dict[str, str]:
    """The variables that the command put down, as a shell reads them."""
    lines = Path(said["environment"]).read_text().splitlines()
    return dict("".join(shlex.split(line)).split("=", 1) for line in lines)


def is_there(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    # One that has ended and was not yet asked about counts as gone.
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"


def test_a_cluster_is_there_until_it_is_stopped_and_there_again(shell: Any) -> None:
    """Whoever begins has one command for all of it, and finds the notes the next day."""
    with serving(shell) as (server, said):
        who = operator(said)
        assert shell("-b", "team", "write", "k", "-d", "x", environment=who).code == 0
        monitors = [argument for url in said["monitors"] for argument in ("--monitor", url)]
        end = time.monotonic() + GENEROUS_S
        # On a busy machine a replica is behind for a while, and the doctor says so.
        while (examined := shell("-b", "team", "doctor", *monitors, environment=who)).code != 0:
            assert time.monotonic() < end, examined
        assert examined.err == "Nothing was found.\n"
        # Without credentials, and without the authority, nobody gets in.
        assert shell("-s", said["urls"][0], "-b", "team", "list").code == 3
        unknown = {"NATS_CA": who["NATS_CA"], "NATS_URL": who["NATS_URL"]}
        assert shell("-b", "team", "list", environment=unknown).code == 3
        server.send_signal(signal.SIGINT)
        _, err = server.communicate(timeout=GENEROUS_S)
        assert server.returncode == 0, err
        assert not any(map(is_there, said["pids"].values()))
        ports = said["urls"]
    # At the same ports, drawn once, unless it is told others.
    with serving(shell, port=None) as (server, said):
        assert said["urls"] == ports
        assert shell("-b", "team", "list", environment=operator(said)).out == b"k\tx\n"
        os.kill(said["pids"]["n2"], signal.SIGKILL)
        assert "n2 ended by itself" in told(server, "n2")
        wait_for_page(said["monitors"][1])
        server.terminate()
        server.communicate(timeout=GENEROUS_S)
        assert server.returncode == 0


def told(server: "subprocess.Popen[bytes]", word: str) -> str:
    assert server.stderr is not None
    while line := server.stderr.readline().decode():
        if line.startswith(word):
            return line
    return ""


def wait_for_page(url: str) -> None:
    host, port = url.removeprefix("http://").split(":")
    end = time.monotonic() + GENEROUS_S
    while True:
        try:
            socket.create_connection((host, int(port))).close()
        except OSError:
            assert time.monotonic() < end
            time.sleep(0.05)
        else:
            return


def test_two_clusters_on_one_folder_are_refused(shell: Any) -> None:
    """Two servers that write the same files ruin them."""
    with serving(shell):
        refused = shell("server", "--cluster", "--port", "0")
        assert (refused.code, refused.err.count("\n")) == (5, 1)
        assert "--store" in refused.err


@pytest.mark.parametrize(
    ("name", "make", "arguments"),
    [
        (".lock", os.mkdir, ("--port", "0")),
        ("operator.env", os.mkdir, ("--prepare",)),
        ("n1/server.log", os.mkdir, ("--port", "0")),
        ("n1/server.log", os.mkfifo, ("--port", "0")),
    ],
)
def test_what_lies_in_the_way_is_named(
    shell: Any, name: str, make: Callable[[Path], None], arguments: tuple[str, ...]
) -> None:
    """A damaged folder is no defect, and no reason to wait for ever."""
    folder = shell.folder / "nats-cluster"
    assert shell("server", "--cluster", "--prepare").code == 0
    (folder / name).unlink(missing_ok=True)
    make(folder / name)
    ended = shell("server", "--cluster", *arguments)
    assert (ended.code, ended.out) == (5, b"")
    assert Path(name).name in ended.err.splitlines()[-1]


def test_what_nodes_are_started_with_can_be_made_alone(shell: Any) -> None:
    """For Docker, and for three machines."""
    made = shell("server", "--cluster", "--prepare", "--store", "here", "--host", "memory.example.org")
    assert (made.code, made.out) == (0, b"")
    for context in ("memory", "system"):
        assert (
            f"nats context add {context} --server=tls://127.0.0.1:4222,tls://127.0.0.1:4223,tls://127.0.0.1:4224"
            in made.err
        )
    secret = (shell.folder / "here" / "operator.env").read_text().rpartition("NATS_PASSWORD=")[2].strip()
    assert secret not in made.err
    again = shell("server", "--cluster", "--prepare", "--store", "here", "--json")
    assert again.json["notes"] == []
    assert again.json["ca"] == str(shell.folder / "here" / "ca.pem")


def test_what_was_told_once_is_kept(shell: Any) -> None:
    """Preparing again, for one more worker, must not send its operator to the ports of another cluster."""
    prepared = ("server", "--cluster", "--prepare", "--json")
    made = shell(*prepared, "--bucket", "team", "--port", "15222").json
    assert made["urls"][0] == "tls://127.0.0.1:15222"
    assert made["monitors"][0] == "http://127.0.0.1:19222"
    assert {**shell(*prepared).json, "notes": made["notes"]} == made
    assert operator(made)["NATS_URL"] == ",".join(made["urls"])
    # And told again it is another, each by itself.
    assert shell(*prepared, "--bucket", "fleet").json["urls"] == made["urls"]
    moved = shell(*prepared, "--port", "15333").json
    assert (moved["bucket"], moved["urls"][2]) == ("fleet", "tls://127.0.0.1:15335")
    (shell.folder / "nats-cluster" / "local.json").write_text('{"bucket": "team", "places": []}')
    refused = shell(*prepared[:-1])
    assert (refused.code, refused.err.count("\n")) == (5, 1)
    assert "local.json" in refused.err


@pytest.mark.parametrize(
    ("arguments", "code", "named"),
    [
        (("--prepare",), 2, "--cluster"),
        (("--host", "a"), 2, "--cluster"),
        (("--cluster", "--prepare", "--port", "0"), 2, "--port"),
        (("--cluster", "--prepare", "--host", "https://a"), 2, "--host"),
        (("--cluster", "--store", "file"), 5, "file"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(shell: Any, arguments: tuple[str, ...], code: int, named: str) -> None:
    """A slip on the command line must not end in a half-made cluster."""
    (shell.folder / "file").touch()
    refused = shell("server", *arguments)
    assert (refused.code, refused.err.count("\n")) == (code, 1), refused
    assert named in refused.err
    assert [path.name for path in shell.folder.iterdir()] == ["file"]


def test_a_workers_file_that_no_server_takes_is_told_with_its_line(shell: Any) -> None:
    """Three nodes that end at once, with the reason in three logs, are a riddle."""
    assert shell("server", "--cluster", "--prepare").code == 0
    file = shell.folder / "nats-cluster" / "conf" / "workers" / "alice.conf"
    file.write_text('"alice": { users: [ { user: "alice", password: "a" ] }\n')
    for arguments in (("--prepare",), ("--port", "0")):
        refused = shell("server", "--cluster", *arguments)
        assert (refused.code, refused.err.count("\n")) == (5, 1), refused
        assert "alice.conf" in refused.err


def test_a_port_that_is_taken_is_told_before_anything_starts(shell: Any) -> None:
    """Of nine ports one is easily taken, and a cluster without one node looks like a slow one."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        # It would be the third node's monitoring page.
        refused = shell("server", "--cluster", "--port", str(taken.getsockname()[1] - 4002))
    # One of the other eight may be taken as well, by whoever else is on this machine.
    assert refused.code == 5
    assert re.search(r"^jsmemory: Port \d+ is taken .* --port", refused.err, re.MULTILINE), refused
