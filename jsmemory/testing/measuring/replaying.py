"""How long it takes to fold a long journal to where its run stands."""

import statistics
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import cycle, islice
from pathlib import Path
from typing import Final

from jsmemory.errors import BackendUnavailableError
from jsmemory.journal import records
from jsmemory.journal.file import FileJournal
from jsmemory.journal.file.opening import name_of
from jsmemory.journal.records import Record
from jsmemory.scope import Scope

RECORDS: Final = 100_000
MAX_REPLAY_S: Final = 1.0
"""Seconds that the replay of 100,000 records takes at most, on one core."""

_RUN: Final = "replayed"
_ROUNDS: Final = 3
_LEFT_EVERY: Final = 1000
# Records between two suspensions: a long conversation.


@dataclass(frozen=True, slots=True)
class Replayed:
    """
    A journal that was replayed.

    Attributes:
        seconds: The median of three times.
        records: How many it has.
    """

    seconds: float
    records: int


async def measure_replay(directory: Path | None = None, *, length: int = RECORDS) -> Replayed:
    """
    Time the replay of one run in a file journal.

    Args:
        directory: On which disk; a folder is made in it and removed. By default the system's
            folder for temporary files.
        length: How many records the run has, at least one.

    Raises:
        BackendUnavailableError: the folder can be neither made nor written.
    """
    try:
        with tempfile.TemporaryDirectory(prefix=".jsmemory-bench-", dir=directory) as place:
            return await _measure(Path(place), length)
    except OSError:
        raise BackendUnavailableError(
            "The folder to measure a journal in cannot be written.", "Name another directory."
        ) from None


async def _measure(place: Path, length: int) -> Replayed:
    journal = await FileJournal.open(place)
    await journal.begin(_RUN, records.meta(_RUN))
    # The journal itself has each record on the disk before the next: that would take minutes.
    with (place / name_of(_RUN)).open("ab") as file:
        file.writelines(records.encode(record) + b"\n" for record in islice(_conversation(), length - 1))
    times = []
    for _ in range(_ROUNDS):
        began = time.perf_counter()
        state = await journal.state(_RUN)
        times.append(time.perf_counter() - began)
    return Replayed(round(statistics.median(times), 4), state.records)


def _conversation() -> Iterator[Record]:
    """What a host writes: messages, and now and then a suspension and a claim."""
    scope = Scope()
    for number in cycle(range(_LEFT_EVERY)):
        yield records.host("message", {"role": "user", "content": f"{number:08}: 'quotes', cafés and a line.\n" * 5})
        if number == 0:
            yield records.terminal("suspended")
            yield records.memory_revisions(scope.snapshot(), "suspended")
            yield records.claim()
        scope.remember("realm", f"key-{number}", str(number))
