"""The real command, run as a process, in a folder and an environment of its own."""

import asyncio
import json
import os
import secrets
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from jsmemory.testing.servers import NatsServer, draw_port, make_bucket

COMMAND = (sys.executable, "-m", "jsmemory.cli")
LONGEST_S = 120


@dataclass(frozen=True)
class Ran:
    """What a command left behind."""

    code: int
    out: bytes
    err: str

    @property
    def json(self) -> dict[str, Any]:
        """The one document on standard output."""
        lines = self.out.decode().splitlines()
        assert len(lines) == 1, lines
        document: dict[str, Any] = json.loads(lines[0])
        return document


class Shell:
    """Runs commands in one folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("NATS_", "JSMEMORY_"))}
        if "NATS_SERVER_BIN" in os.environ:
            kept["NATS_SERVER_BIN"] = os.environ["NATS_SERVER_BIN"]
        self.environment: dict[str, str] = {**kept, "HOME": str(folder), "XDG_CONFIG_HOME": str(folder / "config")}

    def __call__(
        self,
        *arguments: str | bytes,
        stdin: bytes | None = None,
        environment: Mapping[str, str] | None = None,
        command: Sequence[str] = COMMAND,
    ) -> Ran:
        ended = subprocess.run(
            [*command, *arguments],
            input=stdin,
            stdin=subprocess.DEVNULL if stdin is None else None,
            capture_output=True,
            cwd=self.folder,
            env=self.environment | dict(environment or {}),
            timeout=LONGEST_S,
        )
        return Ran(ended.returncode, ended.stdout, ended.stderr.decode())

    def start(
        self, *arguments: str, environment: Mapping[str, str] | None = None, stdin: int = subprocess.DEVNULL
    ) -> "subprocess.Popen[bytes]":
        """Run a command, and do not wait for it."""
        return subprocess.Popen(
            [*COMMAND, *arguments],
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=self.folder,
            env=self.environment | dict(environment or {}),
        )


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    """The command, in an empty folder."""
    return Shell(tmp_path)


@pytest.fixture
def new_bucket(nats_server: NatsServer) -> str:
    """The name of a fresh bucket on the shared server."""
    name = f"cli-{secrets.token_hex(6)}"
    asyncio.run(make_bucket(nats_server.url, name))
    return name


Memory = Callable[..., Ran]


@pytest.fixture(params=["file", "jetstream"])
def memory(request: pytest.FixtureRequest, shell: Shell) -> Memory:
    """The command on an empty store: on the file twin without any option, and in a bucket."""
    if request.param == "file":
        return shell
    server: NatsServer = request.getfixturevalue("nats_server")
    place = ("--server", server.url, "--bucket", request.getfixturevalue("new_bucket"))

    def run(*arguments: str | bytes, **options: Any) -> Ran:
        return shell(*place, *arguments, **options)

    return run


@pytest.fixture
def closed_port() -> int:
    """A port of the loopback where nobody listens, and which no client is given meanwhile."""
    return draw_port()
