"""No server outlives the process that started it: the owner's side of the watchdog."""

import atexit
import contextlib
import os
import subprocess  # the servers' own keeper: it runs this Python and nothing that a caller named
import sys
import threading
from pathlib import Path

_SCRIPT = Path(__file__).with_name("watchdog.py")


class _Guard:
    """The one watchdog of this process; started with the first server, ended at exit."""

    def __init__(self, inherited: "_Guard | None" = None) -> None:
        # In a forked child: kept only because to let go of it would warn of a process that is not ours to end.
        self._inherited = inherited
        self._owner = os.getpid()
        self._lock = threading.Lock()
        self._watched: set[int] = set()
        self._process: subprocess.Popen[bytes] | None = None

    def watch(self, pid: int) -> None:
        with self._lock:
            self._watched.add(pid)
            self._order(f"+{pid}\n")

    def release(self, pid: int) -> None:
        with self._lock:
            if pid in self._watched:
                self._watched.remove(pid)
                self._order(f"-{pid}\n")

    def close(self) -> None:
        """End the watchdog, which ends what it still watches; nothing in a forked child."""
        with self._lock:
            if self._process is not None and os.getpid() == self._owner:
                self._discard(self._process)
                self._process = None

    def _order(self, line: str) -> None:
        if self._process is not None and self._told(self._process, line):
            return
        # There is none yet, or somebody ended it: a new one must know of every server.
        if self._process is not None:
            self._discard(self._process)
        self._process = self._launch()
        self._told(self._process, "".join(f"+{pid}\n" for pid in sorted(self._watched)))

    @staticmethod
    def _told(process: subprocess.Popen[bytes], line: str) -> bool:
        assert process.stdin is not None
        try:
            process.stdin.write(line.encode())
        except BrokenPipeError:
            return False
        return True

    @staticmethod
    def _launch() -> subprocess.Popen[bytes]:
        # In a session of its own, so that a Ctrl-C or a hang-up for its owner does not end it first.
        return subprocess.Popen(  # noqa: S603
            [sys.executable, "-I", "-S", str(_SCRIPT)],
            stdin=subprocess.PIPE,
            bufsize=0,
            start_new_session=True,
        )

    @staticmethod
    def _discard(process: subprocess.Popen[bytes]) -> None:
        assert process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            process.stdin.close()
        process.wait()


_guard = _Guard()
atexit.register(lambda: _guard.close())


def _renew_in_a_forked_child() -> None:
    # A child has no servers yet, and may neither write to its parent's watchdog nor close it.
    global _guard
    _guard = _Guard(_guard)


os.register_at_fork(after_in_child=_renew_in_a_forked_child)


def watch(pid: int) -> None:
    """Have the process killed as soon as this one is gone, however it goes."""
    _guard.watch(pid)


def release(pid: int) -> None:
    """Stop watching a process that has ended."""
    _guard.release(pid)
