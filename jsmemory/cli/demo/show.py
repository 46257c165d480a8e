"""The whole demo, from a folder to what came of it."""

import random
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from jsmemory import connect, open_store
from jsmemory.cli.demo.fates import draw
from jsmemory.cli.demo.fleet import Fleet, Tally
from jsmemory.cli.demo.gathering import Gathered
from jsmemory.cli.demo.verifying import verify
from jsmemory.cli.embedded import embedded_bucket
from jsmemory.testing.streams import make_stream

BUCKET: Final = "demo"
STREAM: Final = "demo-runs"
IDENTITY: Final = "fleet"

Progressed = Callable[[Tally], None]


@dataclass(frozen=True, slots=True)
class Shown:
    """
    What came of a demo.

    Attributes:
        files: How many notes were to be kept.
        entries: Entries in the store at the end, the index among them.
        writes: Values that were stored.
        conflicts: Updates that were refused, and tried again.
        lost: The keys of files whose note or line in the index is missing at the end.
        killed: Workers that were killed with SIGKILL and replaced.
        handed_over: Runs that were suspended, and resumed by a new process.
        authority_held: Whether each of them still had its authority.
        workers: How many worked at a time.
        processes: How many were started in all.
        passed_over: Files that were, by the reason.
        is_cut: Whether the folder holds more files than the demo takes.
        changed: Files that changed on the disk meanwhile.
        seconds: How long it took.
    """

    files: int
    entries: int
    writes: int
    conflicts: int
    lost: tuple[str, ...]
    killed: int
    handed_over: int
    authority_held: bool
    workers: int
    processes: int
    passed_over: Mapping[str, int]
    is_cut: bool
    changed: int
    seconds: float

    @property
    def is_good(self) -> bool:
        """Whether nothing was lost."""
        return not self.lost and self.authority_held


async def show(folder: Path, gathered: Gathered, workers: int, on_progress: Progressed) -> Shown:
    """
    Have a fleet keep notes on the files of a folder, and count what was lost.

    Args:
        folder: Nothing in it is written.
        gathered: Its files.
        workers: How many processes work at a time; fewer where there are fewer files.
        on_progress: Told what has happened so far, after each event.

    Raises:
        InvalidOptionsError: there is no nats-server.
        BackendUnavailableError: the server or a worker failed.
    """
    began = time.monotonic()
    files = gathered.files
    workers = min(workers, len(files))
    shares = [files[number::workers] for number in range(workers)]
    async with embedded_bucket(BUCKET) as embedded:
        await make_stream(embedded.url, STREAM)
        fleet = Fleet(
            server=embedded.url,
            bucket=BUCKET,
            stream=STREAM,
            identity=IDENTITY,
            folder=folder,
            environment=embedded.environment,
            on_progress=on_progress,
        )
        tally = await fleet.run(shares, draw([len(share) for share in shares], random.SystemRandom()))
        async with connect(servers=embedded.url) as nats:
            options = {"backend": "jetstream", "options": {"bucket": BUCKET}}
            store = await open_store(options, identity=IDENTITY, nats=nats)
            verified = await verify(store, folder, files, frozenset(tally.unreadable))
    return Shown(
        files=len(files),
        entries=verified.entries,
        writes=tally.writes,
        conflicts=tally.conflicts,
        lost=verified.lost,
        killed=tally.killed,
        handed_over=tally.handed_over,
        authority_held=all(tally.authority_held),
        workers=workers,
        processes=tally.started,
        passed_over={why: count for why, count in gathered.passed_over.items() if count},
        is_cut=gathered.is_cut,
        changed=verified.changed,
        seconds=round(time.monotonic() - began, 2),
    )
