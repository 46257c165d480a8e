"""From nothing to an encrypted cluster with two isolated workers: the page for operators, pasted."""

import json
import os
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from jsmemory.testing.servers import draw_port, is_free

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "ops" / "README.md").read_text()
SECTION = PAGE[PAGE.index("\n## A cluster\n") : PAGE.index("\n## Whether memory is safe\n")]
SERVE = "jsmemory server --cluster --bucket team"
GENEROUS_S = 120.0


def lines() -> list[str]:
    """Every line of a block, in the order of the page."""
    return re.findall(r"^ {4}(\S.*)$", SECTION, flags=re.MULTILINE)


class Paste:
    """A folder, a shell, and ports that are free: what is pasted runs as it stands, save for its ports."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("NATS_", "JSMEMORY_"))}
        binary = {name: os.environ[name] for name in ("NATS_SERVER_BIN",) if name in os.environ}
        self._environment = kept | binary | {"HOME": str(folder), "XDG_CONFIG_HOME": str(folder / "config")}
        self._first = next(port for port in iter(draw_port, None) if all(map(is_free, _ports_of(port))))
        self._server: subprocess.Popen[str] | None = None

    def run(self, *pasted: str) -> str:
        """Run lines in one shell that stops at the first that fails."""
        program = f'jsmemory() {{ {self._command} "$@"; }}\n' + "".join(f"{self._moved(line)}\n" for line in pasted)
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", program],
            stdin=subprocess.DEVNULL,
            cwd=self.folder,
            env=self._environment,
            capture_output=True,
            text=True,
            timeout=GENEROUS_S,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout + done.stderr

    def serve(self, pasted: str) -> None:
        """Run a line that stays, in a terminal of its own, and wait until it says where it serves."""
        self._server = subprocess.Popen(
            [*shlex.split(self._command), *shlex.split(self._moved(pasted))[1:]],
            cwd=self.folder,
            env=self._environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self._server.stdout is not None
        assert self._server.stdout.readline().startswith("tls://"), self._server.communicate()

    def end(self) -> int | None:
        """Ctrl-C in that terminal."""
        if self._server is None:
            return None
        self._server.send_signal(signal.SIGINT)
        self._server.communicate(timeout=GENEROUS_S)
        return self._server.returncode

    @property
    def _command(self) -> str:
        return f"{shlex.quote(sys.executable)} -m jsmemory.cli"

    def _moved(self, line: str) -> str:
        # The ports of the page may be somebody else's on this machine.
        line = re.sub(r":(8222|8223|8224)\b", lambda match: f":{self._first + 4000 + int(match[1]) - 8222}", line)
        return f"{line} --port {self._first}" if line.startswith("jsmemory server") else line


def _ports_of(first: int) -> Iterator[int]:
    return (first + above + node for above in (0, 2000, 4000) for node in range(3))


@pytest.fixture
def paste(tmp_path: Path) -> Iterator[Paste]:
    paste = Paste(tmp_path)
    try:
        yield paste
    finally:
        paste.end()


def context_of(line: str) -> tuple[str, dict[str, str]]:
    """What ``nats context add`` keeps, by its name; tests/operators holds this against the program."""
    name, *flags = shlex.split(line)[3:]
    fields = {"server": "url", "tlsca": "ca", "js-api-prefix": "jetstream_api_prefix", "inbox-prefix": "inbox_prefix"}
    given = dict(flag.removeprefix("--").split("=", 1) for flag in flags)
    return name, {fields.get(flag, flag): value for flag, value in given.items()}


def test_a_newcomer_gets_to_a_cluster_with_two_isolated_workers(paste: Paste) -> None:
    """Nobody reads further than to the line that fails."""
    before, after = lines()[: lines().index(SERVE)], lines()[lines().index(SERVE) + 1 :]
    paste.run(*(line for line in before if not line.startswith("docker")))
    paste.serve(SERVE)
    variables = [line for line in after if line.startswith(("unset ", ". "))]
    folder = paste.folder / "config" / "nats" / "context"
    folder.mkdir(parents=True)
    for line in after:
        if line.startswith("nats context add"):
            name, fields = context_of(line)
            document = json.dumps(fields).replace('"', '\\"')
            paste.run(*variables, f'echo "{document}" >{folder}/{name}.json')
    assert {file.stem for file in folder.iterdir()} == {
        "team",
        "system",
        "MEMORY_team_alice",
        "MEMORY_team_bob",
        "alice",
        "bob",
    }
    operators = [line for line in after if line.startswith(("printf", "for context", "jsmemory --context team"))]
    said = paste.run(*variables, *operators)
    assert "Nothing was found." in said
    assert said.count("Made KV_team.") == 2
    workers = [line for line in after if "--context" in line and line not in operators]
    assert [line.split("|")[-1].split()[2] for line in workers] == ["alice", "alice", "bob"]
    said = paste.run(*workers)
    assert "may_write\tyes" in said
    # What bob is shown is his own, and nothing is there.
    assert "build" not in paste.run(workers[-1])
    assert "build\tHow to build" in paste.run(workers[-1].replace("bob", "alice"))
    assert paste.end() == 0


def test_every_line_of_the_section_is_pasted_or_is_for_docker() -> None:
    """A line that is left out of the test is the one that rots."""
    assert SERVE in lines()
    known = (
        "jsmemory ",
        "docker compose --profile cluster ",
        "for node in n1 n2 n3; do docker ",
        "unset NATS_",
        ". nats-cluster/",
        "nats context add ",
        "printf ",
        "for context in $(cat memories); do jsmemory ",
        "echo ",
    )
    assert [line for line in lines() if not line.startswith(known)] == []
