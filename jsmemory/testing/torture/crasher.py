"""
One process that lets others die: ``python -m jsmemory.testing.torture.crasher DIRECTORY RECORDS ROUNDS``.

It forks a child for each point, which writes and kills itself there, between two calls of the
operating system; then it looks at what is left, as the next process would, and writes too.
For each point it prints the call before which the child has died.
"""

import asyncio
import fcntl
import os
import signal
import sys
import threading
import time
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, Literal, NoReturn

from jsmemory.backends.file import FileStore
from jsmemory.scope import Scope
from jsmemory.testing.torture.acting import Actor, Place
from jsmemory.testing.torture.jobs import CRASHES
from jsmemory.testing.torture.recording import Recorder
from jsmemory.testing.torture.records import Died

Verb = Literal["create", "update", "delete"]
VERBS: Final[tuple[Verb, ...]] = ("create", "update", "delete")

_SIZES: Final = (40, 4_000, 60_000)
# Bytes of values, one size a round in turn.
_NO_CALLS: Final = frozenset({"fspath", "_exit", "strerror"})
# Functions of the module that ask nothing of the system, or do not return.


def main(directory: str, records: Path, rounds: int) -> None:
    """All points of so many rounds."""
    recorder = Recorder(records, "crasher")
    actor = Actor("crasher", recorder)

    def die(verb: Verb, turn: int, point: int, *, half: bool = False) -> str:
        child = f"{verb}-{turn}-{point}{'-half' if half else ''}"
        name = _die_at(directory, records, child, verb, _SIZES[turn % len(_SIZES)], point, half=half)
        recorder.write(Died(child, time.monotonic()))
        asyncio.run(_look(directory, actor, child))
        if name:
            sys.stdout.write(f"{verb}: {'half way through' if half else 'before'} {name}\n")
            sys.stdout.flush()
        return name

    for turn in range(rounds):
        for verb in VERBS:
            point = 0
            while name := die(verb, turn, point):
                if name == "write":
                    die(verb, turn, point, half=True)
                point += 1
    recorder.close()


def _die_at(directory: str, records: Path, child: str, verb: Verb, size: int, point: int, *, half: bool) -> str:
    """
    Have a child write, and die at a point.

    Returns:
        The call before which it died; "" where there is no such point, and it has come to its end.
    """
    hears, tells = os.pipe()
    pid = os.fork()
    if not pid:
        _live_and_die(directory, records, child, verb, size, _Death(point, tells, half=half))
    os.close(tells)
    with os.fdopen(hears, "rb") as said:
        name = said.read().decode()
    os.waitpid(pid, 0)
    return name


def _live_and_die(directory: str, records: Path, child: str, verb: Verb, size: int, death: "_Death") -> NoReturn:
    # Whatever happens in a child, it must never go on as its parent.
    try:
        asyncio.run(_write(directory, Recorder(records, child), child, verb, size, death))
    finally:
        os._exit(0)


async def _write(directory: str, recorder: Recorder, child: str, verb: Verb, size: int, death: "_Death") -> None:
    store, scope, actor = await FileStore.open(directory), Scope(), Actor(child, recorder)
    place = Place(store, child, CRASHES)
    if verb != "create":
        await actor.create(place, scope, child, child, size)
    death.begin()
    try:
        match verb:
            case "create":
                await actor.create(place, scope, child, child, size)
            case "update":
                await actor.update(place, scope, child, child, size)
            case "delete":
                await actor.delete(place, scope, child, child)
    finally:
        death.end()


class _Death:
    """
    Comes at one call of the system, out of those that the store's own threads make.

    Args:
        point: Before which call, counted from 0.
        tells: Where the name of the call is written before.
        half: Whether half of it is done first; it is a write then.
    """

    def __init__(self, point: int, tells: int, *, half: bool) -> None:
        self._left = point
        self._tells = tells
        self._half = half
        self._real: dict[tuple[types.ModuleType, str], Any] = {}
        # Taken now, since they are watched as well.
        self._write, self._kill, self._pid = os.write, os.kill, os.getpid()

    def begin(self) -> None:
        """Watch every call from now on."""
        for module, name in [*((os, name) for name in _calls_of(os)), (fcntl, "flock")]:
            self._real[module, name] = getattr(module, name)
            setattr(module, name, self._watched(name, getattr(module, name)))

    def end(self) -> None:
        """Watch no more."""
        for (module, name), real in self._real.items():
            setattr(module, name, real)

    def _watched(self, name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **named: Any) -> Any:
            if threading.current_thread() is not threading.main_thread():
                if not self._left:
                    if self._half:
                        real(arguments[0], bytes(arguments[1])[: len(arguments[1]) // 2])
                    self._write(self._tells, name.encode())
                    self._kill(self._pid, signal.SIGKILL)
                self._left -= 1
            return real(*arguments, **named)

        return call


def _calls_of(module: types.ModuleType) -> list[str]:
    return [
        name
        for name in dir(module)
        if isinstance(getattr(module, name), types.BuiltinFunctionType) and name not in _NO_CALLS
    ]


async def _look(directory: str, actor: Actor, key: str) -> None:
    """What the next process does: it sees all, writes the key that was left, and deletes it."""
    store, scope = await FileStore.open(directory), Scope()
    place = Place(store, f"after-{key}", CRASHES)
    await actor.list(place, key)
    if await actor.read(place, scope, key, key):
        await actor.update(place, scope, key, key, _SIZES[0])
    else:
        await actor.create(place, scope, key, key, _SIZES[0])
    await actor.delete(place, scope, key, key)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]))
