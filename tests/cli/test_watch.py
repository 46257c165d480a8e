"""``jsmemory watch``: what is told, on either backend, through an outage, and on every way out."""

import asyncio
import fcntl
import json
import os
import select
import signal
import subprocess
import sys
import termios
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, Final

import pytest

from jsmemory import FileStore, JetStreamStore, Scope, Store
from jsmemory.testing.servers import NatsServer, make_bucket, plain_client

LONGEST_S: Final = 60.0


class Place:
    """Where the notes of the command's default identity are."""

    def __init__(self, folder: Path, server: str = "", bucket: str = "") -> None:
        self._folder = folder
        self._server = server
        self._bucket = bucket

    @property
    def options(self) -> tuple[str, ...]:
        """What chooses it on the command line."""
        return ("--server", self._server, "--bucket", self._bucket) if self._server else ()

    @asynccontextmanager
    async def store(self) -> AsyncIterator[Store]:
        """The store, as an agent on another host has it."""
        if not self._server:
            yield await FileStore.open(self._folder / "memory", prefix="default")
            return
        async with plain_client(self._server) as client:
            yield await JetStreamStore.bind(client, self._bucket, "default")

    def write(self, key: str, description: str) -> str:
        """Create or replace a note; its revision."""

        async def write() -> str:
            async with self.store() as store:
                scope = Scope()
                if key in {item.key for item in await store.list()}:
                    await store.read(key, scope=scope)
                    await store.update(key, description, "text", scope=scope)
                else:
                    await store.create(key, description, "text", scope=scope)
                return (await store.read(key, scope=scope)).revision

        return asyncio.run(write())

    def delete(self, key: str) -> None:
        """Remove a note."""

        async def delete() -> None:
            async with self.store() as store:
                assert await store.delete(key, scope=None)

        asyncio.run(delete())


@pytest.fixture(params=["file", "jetstream"])
def place(request: pytest.FixtureRequest, shell: Any) -> Place:
    if request.param == "file":
        return Place(shell.folder)
    server: NatsServer = request.getfixturevalue("nats_server")
    return Place(shell.folder, server.url, request.getfixturevalue("new_bucket"))


class Watch:
    """A watch that runs, read line by line."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        assert process.stdout is not None
        assert process.stderr is not None
        self.process = process
        self._read = {process.stdout.fileno(): b"", process.stderr.fileno(): b""}
        self._out, self._err = self._read

    def line(self) -> str:
        """The next line on standard output."""
        return self._line(self._out)

    def note(self) -> str:
        """The next line on standard error."""
        return self._line(self._err)

    def is_silent(self, seconds: float) -> bool:
        """Whether nothing comes on standard output for so long."""
        return not self._read[self._out] and not select.select([self._out], [], [], seconds)[0]

    def _line(self, stream: int) -> str:
        while b"\n" not in self._read[stream]:
            assert select.select([stream], [], [], LONGEST_S)[0], "nothing was told"
            more = os.read(stream, 65_536)
            assert more, "it has ended"
            self._read[stream] += more
        line, _, self._read[stream] = self._read[stream].partition(b"\n")
        return line.decode()


@contextmanager
def watching(shell: Any, *arguments: str) -> Iterator[Watch]:
    """A watch for the length of the block."""
    process = shell.start(*arguments)
    try:
        yield Watch(process)
    finally:
        process.kill()
        process.wait()
        for stream in (process.stdout, process.stderr):
            stream.close()


def test_changes_are_told_as_they_happen(shell: Any, place: Place) -> None:
    """Whoever looks over the shoulder of a fleet sees each note come, change and go."""
    place.write("old", "was there")
    with watching(shell, *place.options, "watch") as watch:
        assert watch.line() == "present\told\twas there"
        place.write("build", "How to build")
        assert watch.line() == "created\tbuild\tHow to build"
        place.write("build", "How to build it")
        assert watch.line() == "updated\tbuild\tHow to build it"
        place.delete("build")
        assert watch.line() == "deleted\tbuild\tHow to build it"
        watch.process.send_signal(signal.SIGINT)
        assert watch.note() == "jsmemory: Stopped watching."
        assert watch.process.wait(LONGEST_S) == 130


def test_programs_get_a_document_a_line(shell: Any, place: Place) -> None:
    """A script that acts on changes gets the key and the revision, and nothing of what was there before it asked."""
    place.write("old", "was there")
    with watching(shell, *place.options, "watch", "--no-initial", "--json") as watch:
        number = 0
        while watch.is_silent(0.5):
            # Nothing says that the watch has begun but the first change that it tells.
            place.write(f"note-{number}", "x")
            number += 1
        told = json.loads(watch.line())
        assert (told["change"], told["key"][:5]) == ("created", "note-")
        revision = place.write("build", "é")
        while told["key"] != "build":
            told = json.loads(watch.line())
        assert told == {"change": "created", "key": "build", "description": "é", "revision": revision}
        watch.process.send_signal(signal.SIGTERM)
        assert json.loads(watch.line())["error"]["code"] == "terminated"
        assert watch.process.wait(LONGEST_S) == 143


def test_a_memory_that_is_not_there_yet_is_waited_for(shell: Any) -> None:
    """Who only looks makes no directory; and who looks early is told of the first note."""
    with watching(shell, "watch", "--no-initial") as watch:
        assert "waiting for it" in watch.note()
        assert list(shell.folder.iterdir()) == []
        Place(shell.folder).write("first", "the first note")
        assert watch.line().split("\t")[1:] == ["first", "the first note"]


def test_an_outage_is_noted_and_what_it_hid_is_told(shell: Any, fresh_server: NatsServer) -> None:
    """A watch that ends with its server, or keeps silent about a gap, cannot be left alone."""
    asyncio.run(make_bucket(fresh_server.url, "team"))
    place = Place(shell.folder, fresh_server.url, "team")
    place.write("build", "How to build")
    with watching(shell, *place.options, "watch") as watch:
        assert watch.line() == "present\tbuild\tHow to build"
        fresh_server.kill()
        assert "trying again" in watch.note()
        fresh_server.start()
        place.delete("build")
        assert watch.line() == "deleted\tbuild\tHow to build"
        assert watch.note() == "Following again."


@pytest.mark.parametrize("apart_s", [0.0, 0.002, 0.01, 0.05, 1.1])
@pytest.mark.parametrize("command", ["watch", "run"])
def test_a_second_ctrl_c_is_no_failure(shell: Any, command: str, apart_s: float) -> None:
    """`timeout -s INT` stops a process and its group, and people press twice: neither is to see a traceback."""
    Place(shell.folder).write("old", "was there")
    into, held_open = os.pipe()
    process = shell.start(command, *(("--run-id", "night") if command == "run" else ()), stdin=into)
    with process:
        assert process.stdout.readline()
        for _ in range(2):
            process.send_signal(signal.SIGINT)
            time.sleep(apart_s)
        said = process.stderr.read().decode().splitlines()
        assert (process.wait(LONGEST_S), len(said)) == (130, 1), said
    os.close(into)
    os.close(held_open)


def test_more_than_a_view_keeps_is_a_refusal(shell: Any) -> None:
    """A script that tries again after "the backend did not answer" would do so for ever."""
    for number in range(3):
        Place(shell.folder).write(f"n{number}", "x")
    small = "from jsmemory.live import picture; picture.MAX_KNOWN = 2; from jsmemory.cli import main; main()"
    refused = shell("watch", "--json", command=(sys.executable, "-c", small))
    assert (refused.code, refused.json["error"]["code"]) == (1, "too_many_entries")
    assert refused.json["error"]["retryable"] is False


def test_what_would_move_the_cursor_is_shown_and_not_obeyed(shell: Any, place: Place) -> None:
    """A note is a stranger's text, on the terminal of whoever watches."""
    place.write("evil", "clear \x9b2J the screen \u202e")
    with watching(shell, *place.options, "watch") as watch:
        assert watch.line() == "present\tevil\tclear \\x9b2J the screen \\u202e"


def test_a_watch_whose_reader_has_gone_ends(shell: Any) -> None:
    """`jsmemory watch | head` must not go on for ever."""
    place = Place(shell.folder)
    place.write("old", "was there")
    with watching(shell, "watch") as watch:
        watch.line()
        assert watch.process.stdout is not None
        watch.process.stdout.close()
        end = time.monotonic() + LONGEST_S
        while watch.process.poll() is None:
            assert time.monotonic() < end
            place.write(f"note-{time.monotonic_ns()}", "x")
            time.sleep(0.05)
        assert watch.process.returncode == 141


@pytest.mark.parametrize("form", [(), ("--json",)])
def test_a_watch_whose_reader_hangs_can_be_stopped(shell: Any, form: tuple[str, ...]) -> None:
    """A log collector that is stuck must not leave a process behind that only SIGKILL ends."""

    async def fill() -> None:
        store = await FileStore.open(shell.folder / "memory", prefix="default")
        for number in range(300):
            await store.create(f"k{number}", "d" * 500, "text", scope=None)

    asyncio.run(fill())  # more than a pipe holds
    with watching(shell, "watch", *form) as watch:
        out = watch.process.stdout.fileno()
        end = time.monotonic() + LONGEST_S
        while waiting_in(out) < 32_768:
            assert time.monotonic() < end
            time.sleep(0.05)
        watch.process.terminate()
        assert watch.process.wait(LONGEST_S) == 143
        if not form:
            assert watch.note() == "jsmemory: Stopped watching."


def waiting_in(pipe: int) -> int:
    """Bytes that nobody has read yet."""
    return int.from_bytes(fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)), sys.byteorder)


def test_a_store_that_is_not_there_is_refused_as_by_every_verb(shell: Any, nats_server: NatsServer) -> None:
    """A wrong name must not look like a fleet that does nothing."""
    refused = shell("--server", nats_server.url, "--bucket", "no-such-bucket", "watch", "--json")
    assert (refused.code, refused.json["error"]["code"]) == (5, "bucket_not_found")
