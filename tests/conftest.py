"""Real servers for every test that asks for one, and somebody who sits in front of a terminal."""

import asyncio
import os
import pty
import select
import signal
import subprocess
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

pytest_plugins = ["jsmemory.testing.pytest_servers"]

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
