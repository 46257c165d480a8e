"""
What a worker does, drawn by lot: runs that read, write, delete and list where others do the same.

A run has a scope of its own. When it has made its calls it ends, or is suspended, and
whoever finds its snapshot goes on with it: the same worker or another one.
"""

import asyncio
import json
import random
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, Literal

from jsmemory.scope import Scope
from jsmemory.testing.torture.acting import Actor, Place
from jsmemory.testing.torture.jobs import FEW, FULL, Job
from jsmemory.testing.torture.recording import Recorder
from jsmemory.testing.torture.records import Restored, Suspended

Act = Literal["read", "update", "create", "delete", "list"]

KEYS: Final[Mapping[str, tuple[str, ...]]] = {
    FEW: tuple(f"key-{number}" for number in range(8)),
    FULL: tuple(f"place-{number:02}" for number in range(32)),
}
"""The keys that runs write, of each keyspace."""

_WEIGHTS: Final[Mapping[str, Mapping[Act, int]]] = {
    FEW: {"read": 34, "update": 34, "create": 16, "delete": 8, "list": 8},
    # One that is nearly full: places are taken and freed all the time.
    FULL: {"read": 8, "update": 10, "create": 50, "delete": 29, "list": 3},
}
_CALLS: Final = (5, 40)
# Calls that a run makes before it ends or is suspended.
_SUSPENDS: Final = 0.6
_GOES_ON: Final = 0.7
_SHARED: Final = 0.2
# The share of snapshots that are left where they are, as if two had taken them.
_KNOWN: Final = 0.8
# The share of updates that are of a key which the run has seen.
_SIZES: Final = (40, 400)
_LARGE: Final = (20_000, 65_000)
_IS_LARGE: Final = 0.04


class Handover:
    """
    Where suspended runs lie.

    Args:
        folder: The folder.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def leave(self, name: str, space: str, scope: Scope) -> None:
        """Leave a snapshot there."""
        staged = self._folder / f".{name}"
        staged.write_text(json.dumps({"space": space, "snapshot": scope.snapshot()}))
        staged.rename(self._folder / name)

    def take(self, lot: random.Random) -> tuple[str, str, object] | None:
        """A snapshot that lies there: its name, keyspace and what is in it; None where there is none."""
        names = sorted(file.name for file in self._folder.iterdir() if not file.name.startswith("."))
        if not names:
            return None
        name = lot.choice(names)
        with suppress(FileNotFoundError):
            left = json.loads((self._folder / name).read_bytes())
            if lot.random() >= _SHARED:
                (self._folder / name).unlink()
            return name, left["space"], left["snapshot"]
        return None


class Workload:
    """
    The runs of one worker.

    Args:
        job: The worker's.
        actor: Makes the calls.
        recorder: For what is no call.
        places: The store objects of each keyspace.
    """

    def __init__(self, job: Job, actor: Actor, recorder: Recorder, places: Mapping[str, Sequence[Place]]) -> None:
        self._job = job
        self._actor = actor
        self._recorder = recorder
        self._places = places
        self._handover = Handover(Path(job.handover))
        self._runs = 0

    async def work(self, is_over: Callable[[], bool]) -> None:
        """All runs, one after the other and several at a time, until it is over."""
        async with asyncio.TaskGroup() as tasks:
            for number in range(self._job.runs):
                tasks.create_task(self._one_after_the_other(random.Random(f"{self._job.seed}/{number}"), is_over))  # noqa: S311

    async def _one_after_the_other(self, lot: random.Random, is_over: Callable[[], bool]) -> None:
        while not is_over():
            await self._run(lot, is_over)

    async def _run(self, lot: random.Random, is_over: Callable[[], bool]) -> None:
        self._runs += 1
        run, scope = f"{self._job.worker}:{self._runs}", Scope()
        space = lot.choice(self._job.spaces)
        known: set[str] = set()
        left = self._handover.take(lot) if lot.random() < _GOES_ON else None
        if left is not None:
            name, space, snapshot = left
            scope.restore(snapshot)
            known.update(KEYS[space])
            self._recorder.write(Restored(run, name, time.monotonic()))
        for _ in range(lot.randint(*_CALLS)):
            if is_over():
                return
            await self._act(lot, lot.choice(self._places[space]), scope, run, known)
            await asyncio.sleep(lot.uniform(0, self._job.pause))
        if lot.random() < _SUSPENDS:
            name = run.replace(":", "-")
            self._recorder.write(Suspended(run, name, time.monotonic()))
            self._handover.leave(name, space, scope)

    async def _act(self, lot: random.Random, place: Place, scope: Scope, run: str, known: set[str]) -> None:
        weights = _WEIGHTS[place.space]
        act: Act = lot.choices(list(weights), list(weights.values()))[0]
        key = lot.choice(KEYS[place.space])
        size = lot.randint(*(_LARGE if lot.random() < _IS_LARGE else _SIZES))
        match act:
            case "read":
                if await self._actor.read(place, scope, run, key):
                    known.add(key)
            case "update":
                if known and lot.random() < _KNOWN:
                    key = lot.choice(sorted(known))
                if not await self._actor.update(place, scope, run, key, size):
                    known.discard(key)
            case "create":
                if await self._actor.create(place, scope, run, key, size):
                    known.add(key)
            case "delete":
                await self._actor.delete(place, scope, run, key)
                known.discard(key)
            case "list":
                await self._actor.list(place, run)
