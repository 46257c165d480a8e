"""Real servers for every test that asks for one, programs of others, and somebody in front of a terminal."""

import asyncio
import os
import pty
import select
import shlex
import shutil
import signal
import subprocess
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

pytest_plugins = ["jsmemory.testing.pytest_servers"]

# Proofs by programs that no Python package of ours brings. They are collected where the program
# is found, and fail where it is demanded.
collect_ignore_glob = [
    pattern
    for pattern, program, variable, demanded in (
        ("*_with_docker_compose.py", "docker-compose", "DOCKER_COMPOSE", "JSMEMORY_REQUIRE_DOCKER_COMPOSE"),
        ("*_with_nats_cli.py", "nats", "NATS_CLI", "JSMEMORY_REQUIRE_NATS_CLI"),
        ("*_with_promtool.py", "promtool", "PROMTOOL", "JSMEMORY_REQUIRE_PROMTOOL"),
    )
    if not (os.environ.get(demanded) or os.environ.get(variable) or shutil.which(program))
]

# A shell that runs the tests in the background has Ctrl-C ignored, and `nohup` the end of the
# terminal; so would all that they start, which is stopped by the same signals. A handler is no
# one's but this process's.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
    signal.signal(signal.SIGHUP, lambda *_: None)

WHERE_IS_THE_CURSOR = b"\x1b[6n"
HERE = b"\x1b[24;80R"
LONGEST_S = 120.0


@dataclass(frozen=True)
class Seen:
    """What a command came to, and what it showed."""

    code: int
    text: str


class Person:
    """Runs commands on a terminal, says where the cursor is, and yes to every question."""

    def runs(self, command: Sequence[str], environment: Mapping[str, str], folder: Path | None = None) -> Seen:
        """Run a command to its end."""
        ours, theirs = pty.openpty()
        process = subprocess.Popen(
            command, env=dict(environment), cwd=folder, stdin=theirs, stdout=theirs, stderr=theirs
        )
        os.close(theirs)
        try:
            text = self._watch(ours, time.monotonic() + LONGEST_S)
        finally:
            os.close(ours)
        return Seen(process.wait(LONGEST_S), text)

    def _watch(self, terminal: int, deadline: float) -> str:
        seen, unanswered = b"", b""
        while time.monotonic() < deadline:
            readable, _, _ = select.select([terminal], [], [], 0.2)
            if readable:
                try:
                    data = os.read(terminal, 65_536)
                except OSError:
                    # Linux says so when the last of them has closed its end.
                    data = b""
                if not data:
                    break
                seen += data
                unanswered += data
                os.write(terminal, HERE * data.count(WHERE_IS_THE_CURSOR))
            elif b"(y/N)" in unanswered:
                unanswered = b""
                os.write(terminal, b"y\r")
        return seen.decode(errors="replace")


StopsAtAnyMoment = Callable[[Callable[[], Awaitable[object]]], Awaitable[None]]


@pytest.fixture
def stops_at_any_moment() -> StopsAtAnyMoment:
    """Does something again and again, stops it once, each time a little later, and sees it end."""

    async def check(once: Callable[[], Awaitable[object]]) -> None:
        async def again_and_again() -> None:
            while True:
                await once()

        for number in range(300):
            task = asyncio.create_task(again_and_again())
            await asyncio.sleep(number * 1e-5)
            task.cancel()
            await asyncio.wait([task], timeout=30)
            assert task.cancelled()

    return check


@pytest.fixture
def person() -> Person:
    """Who sits in front of a terminal."""
    return Person()


PATIENT_NATS = """#!/bin/sh
# A line that met a busy server is run again, as the page of the runbooks tells its reader to.
said=$(mktemp)
trap 'rm -f "$said"' EXIT
for left in 3 2 1 0
do code=0
   {nats} "$@" 2>"$said" || code=$?
   cat "$said" >&2
   [ $code -ne 0 ] && [ $left -gt 0 ] && grep -qE 'no responders|deadline exceeded|peer offline' "$said" || exit $code
   sleep 1
   if [ "$1 $2 $3" = "backup restore stream" ]
   then {nats} stream rm "$(grep -oE '"name": *"[^"]+"' "$4/backup.json" | head -n 1 | cut -d'"' -f4)" --force
   fi
done
"""


@dataclass(frozen=True)
class Programs:
    """A folder of programs that only its owner has, and `nats` among them."""

    folder: Path

    @property
    def environment(self) -> Mapping[str, str]:
        """By which they are found; a busy machine takes longer for an answer than `nats` waits."""
        return {"PATH": f"{self.folder}:{os.environ['PATH']}", "NATS_TIMEOUT": "10s"}


@pytest.fixture
def programs(tmp_path: Path) -> Programs:
    """The nats command line, taken from NATS_CLI, else from the search path; in patient hands."""
    found = os.environ.get("NATS_CLI") or shutil.which("nats")
    assert found, "There is no nats command line: put it on the path, or name it in NATS_CLI."
    folder = tmp_path / "bin"
    folder.mkdir()
    nats = folder / "nats"
    nats.write_text(PATIENT_NATS.format(nats=shlex.quote(str(Path(found).absolute()))))
    nats.chmod(0o755)
    return Programs(folder)
