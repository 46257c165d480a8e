"""One nats-server: a process, its folder and its port."""

import contextlib
import json
import os
import signal
import subprocess  # starting a server is what this module is for
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import anyio

from jsmemory.errors import BackendUnavailableError
from jsmemory.testing.servers import guarding
from jsmemory.testing.servers.binary import find_nats_server
from jsmemory.testing.servers.configuration import Membership, ServerSettings, WrittenConfiguration, configuration
from jsmemory.testing.servers.log_file import NAME, opened_log
from jsmemory.testing.servers.ports import draw_port

READY_S = 30.0
"""Far above the 10 to 20 ms that an empty server takes: a busy machine, a full folder."""

POLL_S = 0.003
AGAIN_S = 0.05
TERMINATE_S = 5.0
LOG_LINES = 20


class NatsServer:
    """
    One server of JetStream on the loopback, in a folder of its own.

    It may be started, killed and started again, on the same folder and the same port. It
    never outlives this process. It is no context manager: see `embedded_server`. One
    thread at a time may use it.

    Args:
        folder: Holds the configuration, the log and the streams; made if it is missing.
        name: The server's name; a member of a cluster keeps its name for ever.
        port: Where clients connect; by default a free one, the same at every start.
        monitor: Serve the monitoring pages as well, at `monitor_url`; or the port for them.
        settings: What is to differ from the defaults.
        membership: Its place in a cluster; none for a single server.
        written: A configuration to start it with, instead of all that the others say: they then
            only tell what stands in it. Another one may be set, and counts from the next start. Its
            process is then told by `server.pid` in the folder.
    """

    def __init__(
        self,
        folder: Path,
        *,
        name: str = "n1",
        port: int | None = None,
        monitor: bool | int = False,
        settings: ServerSettings | None = None,
        membership: Membership | None = None,
        written: WrittenConfiguration | None = None,
    ) -> None:
        self.name = name
        self.folder = folder
        self.settings = settings or ServerSettings()
        self.membership = membership
        self.paused = False
        self._chosen = port is not None
        self._port = port or draw_port()
        self._monitor_port = (draw_port() if monitor is True else monitor) or None
        self.written = written
        self._process: subprocess.Popen[bytes] | None = None
        self._program = ""
        self._log_start = 0
        self._launched_at = 0.0
        self._was_ready = False

    @property
    def url(self) -> str:
        """What clients connect to."""
        return f"nats://127.0.0.1:{self._port}"

    @property
    def port(self) -> int:
        """The clients' port."""
        return self._port

    @property
    def monitor_url(self) -> str | None:
        """The root of the monitoring pages, without a slash at its end; None without them."""
        return None if self._monitor_port is None else f"http://127.0.0.1:{self._monitor_port}"

    @property
    def pid(self) -> int:
        """
        The process.

        Raises:
            BackendUnavailableError: it is not running.
        """
        return self._running().pid

    @property
    def is_running(self) -> bool:
        """Whether the process is there; a paused one is."""
        return self._process is not None and self._process.poll() is None

    @property
    def is_started(self) -> bool:
        """Whether it was started and not ended from here; it may have ended by itself."""
        return self._process is not None

    @property
    def lost_its_port(self) -> bool:
        """Whether it ended by itself because somebody else has one of its ports."""
        return self.is_started and not self.is_running and "address already in use" in self.log

    @property
    def log(self) -> str:
        """What the server has logged since it was last started."""
        try:
            with (self.folder / NAME).open("rb") as file:
                file.seek(self._log_start)
                return file.read().decode(errors="replace")
        except FileNotFoundError:
            return ""

    # -- Starting -------------------------------------------------------------------------

    def start(self, deadline: float = READY_S) -> None:
        """
        Start the server, and wait until it takes clients; nothing if it runs.

        Raises:
            InvalidOptionsError: there is no nats-server, or the folder takes no log.
            BackendUnavailableError: it was not ready in `deadline` seconds, or ended. A note
                on the error holds the end of its log.
        """
        self.begin()
        self.wait_ready(deadline)

    def begin(self) -> None:
        """Start the server without waiting; nothing if it runs."""
        if not self.is_running:
            self._reap()
            self._launch()

    def wait_ready(self, deadline: float = READY_S) -> None:
        """Wait until the server takes clients; raises as `start` does."""
        for _ in self._until_ready(deadline):
            time.sleep(POLL_S)

    async def ready(self, deadline: float = READY_S) -> None:
        """As `wait_ready`, without stopping the event loop."""
        for _ in self._until_ready(deadline):
            await anyio.sleep(POLL_S)

    def progress(self, *, late: bool = False) -> bool:
        """
        One look at a server that starts: whether it takes clients; starts it again if its port was taken.

        Args:
            late: Give up unless it is ready now.

        Raises:
            BackendUnavailableError: it is late, or ended for another reason.
        """
        if self._takes_clients():
            self._was_ready = True
            return True
        if self.is_running:
            if late:
                raise self._failure("was not ready in time")
        elif late or not self.lost_its_port:
            raise self._failure("ended before it was ready")
        elif time.monotonic() > self._launched_at + AGAIN_S:
            self._begin_again()
        return False

    # -- Ending and stopping ---------------------------------------------------------------

    def kill(self) -> None:
        """End it as a crash would (SIGKILL); nothing if it has ended."""
        if self._process is not None:
            self._process.kill()
        self._reap()

    def terminate(self, deadline: float = TERMINATE_S) -> None:
        """End it in good order (SIGTERM), and by force after `deadline` seconds."""
        if self._process is not None:
            self.resume()
            self._process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(deadline)
        self.kill()

    def pause(self) -> None:
        """Stop it in its tracks (SIGSTOP): connections stay, nothing answers."""
        process = self._running()
        process.send_signal(signal.SIGSTOP)
        if sys.platform == "linux":
            # The signal takes a moment, in which it could still answer.
            os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
        self.paused = True

    def resume(self) -> None:
        """Let a paused server go on; nothing if it is not paused."""
        if self.paused and self._process is not None:
            self._process.send_signal(signal.SIGCONT)
        self.paused = False

    # -- Inside -----------------------------------------------------------------------------

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is None or self._process.poll() is not None:
            raise BackendUnavailableError("The nats-server is not running.", "Start it first.")
        return self._process

    def _launch(self) -> None:
        program = find_nats_server()
        self._program = program.name
        self.folder.mkdir(parents=True, exist_ok=True)
        arguments = self._as_written(self.written) if self.written else self._as_set()
        with opened_log(self.folder) as log:
            self._log_start = log.tell()
            # In a session of its own, so that a Ctrl-C reaches the owner alone.
            self._process = subprocess.Popen(  # noqa: S603
                [program, *arguments],
                cwd=self.folder,
                env={**os.environ, **(self.written.environment if self.written else {})},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self._launched_at = time.monotonic()
        guarding.watch(self._process.pid)

    def _as_set(self) -> list[str]:
        config = self.folder.absolute() / "server.conf"
        config.write_text(
            configuration(
                name=self.name,
                port=self._port,
                monitor_port=self._monitor_port,
                folder=config.parent,
                settings=self.settings,
                membership=self.membership,
            )
        )
        # The extra lines may hold passwords.
        config.chmod(0o600)
        return ["-c", str(config)]

    def _as_written(self, written: WrittenConfiguration) -> list[str]:
        folder = self.folder.absolute()
        return ["-c", str(written.file.absolute()), "--ports_file_dir", str(folder), "--pid", f"{folder}/server.pid"]

    def _reap(self) -> None:
        if self._process is not None:
            self._process.wait()
            guarding.release(self._process.pid)
            self._ports_file(self._process.pid).unlink(missing_ok=True)
            self._process = None
        self.paused = False

    def _until_ready(self, deadline: float) -> Iterator[None]:
        end = time.monotonic() + deadline
        while not self.progress(late=time.monotonic() > end):
            yield

    def _takes_clients(self) -> bool:
        # The server writes this file, named by its own process, when every listener is open.
        # A connection would not do: another server may have got hold of the port.
        if not self.is_running or self._process is None:
            return False
        try:
            json.loads(self._ports_file(self._process.pid).read_bytes())
        except (FileNotFoundError, ValueError):
            return False
        return True

    def _begin_again(self) -> None:
        # A port that somebody knows is waited for; one that nobody knows yet is drawn anew.
        if not self._chosen and not self._was_ready:
            self._port = draw_port()
            self._monitor_port = draw_port() if self._monitor_port else None
        self._reap()
        self._launch()

    def _failure(self, how: str) -> BackendUnavailableError:
        error = BackendUnavailableError(f"The nats-server {how}.", "Its log tells why; mend that, then start it again.")
        error.add_note("\n".join(self.log.splitlines()[-LOG_LINES:]))
        self.kill()
        return error

    def _ports_file(self, pid: int) -> Path:
        return self.folder / f"{self._program}_{pid}.ports"
