"""A campaign: an arena, a fleet, a nemesis with two hands, and at the end the records of all of it."""

import asyncio
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from jsmemory.limits import MAX_ENTRIES
from jsmemory.testing.torture.arena import Arena, BucketArena, FolderArena
from jsmemory.testing.torture.faults.bucket import BucketFaults
from jsmemory.testing.torture.faults.clients import LinkFaults, WorkerFaults
from jsmemory.testing.torture.faults.files import FolderFaults
from jsmemory.testing.torture.faults.servers import ServerFaults
from jsmemory.testing.torture.fleet import Fleet
from jsmemory.testing.torture.jobs import FEW, FULL, Job
from jsmemory.testing.torture.keeping import seal
from jsmemory.testing.torture.nemesis import Fault, Nemesis
from jsmemory.testing.torture.plan import hands, strikes
from jsmemory.testing.torture.recording import Recorder
from jsmemory.testing.torture.records import Set

BackendName = Literal["file", "jetstream"]

_UNEXAMINED: Final = 16
# Every so many-th worker opens its stores with preflight off.
_TICK_S: Final = 0.25


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """
    What to run.

    Attributes:
        seconds: For how long, beside the start and the end.
        seed: Where chance comes from.
        backend: ``jetstream`` or ``file``.
        replicas: 1, on one server; or 3, on a cluster.
        servers: Of the cluster, from 3 to 5; None for as many as replicas.
        workers: Processes at a time.
        budget: Seconds that a store takes for one call at most. Two faults may follow each other.
        pause: Seconds that a run thinks between two calls, at most.
        spaces: The keyspaces that are used.
        faults: The only faults that there are to be; None for all.
        mutant: What is broken on purpose; ``""`` for nothing.
    """

    seconds: float
    seed: int
    backend: BackendName = "jetstream"
    replicas: Literal[1, 3] = 3
    servers: int | None = None
    workers: int = 4
    budget: float = 30.0
    pause: float = 0.15
    spaces: tuple[str, ...] = (FEW, FULL)
    faults: frozenset[str] | None = None
    mutant: str = ""

    @property
    def members(self) -> int:
        """How many servers there are."""
        return self.servers or self.replicas


Progressed = Callable[[float, str], None]
"""Hears how many seconds are over, and which fault has begun last."""


async def run(settings: Settings, records: Path, progressed: Progressed = lambda seconds, fault: None) -> None:
    """
    Run a campaign.

    Args:
        settings: Which one.
        records: An empty folder for the records.
        progressed: Told again and again how far it is.

    Raises:
        BackendUnavailableError: the servers did not start, or did not heal.
        InvalidOptionsError: there is no nats-server.
    """
    with tempfile.TemporaryDirectory(prefix="jsmemory-torture-", ignore_cleanup_errors=True) as place:
        recorder = Recorder(records, "campaign")
        try:
            await _run(settings, records, Path(place), recorder, progressed)
        finally:
            recorder.close()
        seal(records)


async def _run(settings: Settings, records: Path, place: Path, recorder: Recorder, progressed: Progressed) -> None:
    handover = place / "handover"
    handover.mkdir()
    async with _arena(settings, place, recorder) as arena:
        job = arena.assign(
            Job(
                worker="",
                seed=settings.seed,
                records=str(records),
                handover=str(handover),
                spaces=settings.spaces,
                budget=settings.budget,
                pause=settings.pause,
                mutant=settings.mutant,
            )
        )
        await arena.fill()
        unexamined = _UNEXAMINED if settings.backend == "jetstream" else 0
        fleet = Fleet(job, settings.workers, recorder, unexamined=unexamined)
        async with fleet.working():
            began = time.monotonic()
            recorder.write(
                Set(
                    settings.backend,
                    settings.replicas,
                    settings.seed,
                    settings.seconds,
                    settings.workers,
                    MAX_ENTRIES,
                    began,
                    settings.mutant,
                    settings.members if settings.backend == "jetstream" else 0,
                )
            )
            await _strike(settings, arena, fleet, recorder, began, progressed)
            await arena.settle()
        await arena.settle()
        await arena.rests()


async def _strike(
    settings: Settings, arena: Arena, fleet: Fleet, recorder: Recorder, began: float, progressed: Progressed
) -> None:
    until, last = began + settings.seconds, ""

    def told(fault: str) -> None:
        nonlocal last
        last = fault

    nemesis = Nemesis(_faults(arena, fleet), recorder, told, arena.recovered)
    async with asyncio.TaskGroup() as tasks:
        for hand, all_faults in hands(settings.backend, settings.replicas, settings.members):
            faults = {
                name: seconds
                for name, seconds in all_faults.items()
                if settings.faults is None or name in settings.faults
            }
            if faults:
                tasks.create_task(nemesis.act(strikes(settings.seed, hand, faults), until))
        while (now := time.monotonic()) < until:
            progressed(now - began, last)
            await fleet.replace_dead()
            await asyncio.sleep(min(_TICK_S, until - now))


def _faults(arena: Arena, fleet: Fleet) -> Mapping[str, Fault]:
    of_workers = WorkerFaults(fleet).faults
    if isinstance(arena, BucketArena):
        return {
            **of_workers,
            **ServerFaults(arena).faults,
            **BucketFaults(arena).faults,
            **LinkFaults(fleet, arena.network).faults,
        }
    if isinstance(arena, FolderArena):
        return {**of_workers, **FolderFaults(arena, fleet).faults}
    return of_workers


@asynccontextmanager
async def _arena(settings: Settings, place: Path, recorder: Recorder) -> AsyncIterator[Arena]:
    if settings.backend == "file":
        folder = FolderArena(recorder, settings.spaces, place)
        await folder.make()
        yield folder
        return
    async with AsyncExitStack() as stack:
        arena = BucketArena.open(
            recorder, settings.spaces, place / "servers", servers=settings.members, replicas=settings.replicas
        )
        yield await stack.enter_async_context(arena)
