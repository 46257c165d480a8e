"""Every point of a file store's writes at which a process can die, one by one."""

import asyncio
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Final

from jsmemory import frontmatter
from jsmemory.errors import BackendUnavailableError
from jsmemory.limits import MAX_ENTRIES
from jsmemory.testing.torture.fleet import environment_of
from jsmemory.testing.torture.jobs import CRASHES
from jsmemory.testing.torture.keeping import seal
from jsmemory.testing.torture.recording import Recorder
from jsmemory.testing.torture.records import Rested, Set

CRASHER: Final = "jsmemory.testing.torture.crasher"

ROUNDS: Final = 18
"""Rounds of a create, an update and a delete, in which there are more than a thousand points."""


async def crash_everywhere(
    records: Path, rounds: int = ROUNDS, progressed: Callable[[int], None] = lambda points: None
) -> Counter[str]:
    """
    Let a process die at every point of so many rounds, and see what the next one finds.

    Args:
        records: An empty folder for the records; the checker reads them.
        rounds: Each with another size of values.
        progressed: Told how many have died.

    Returns:
        How many have died at which call.

    Raises:
        BackendUnavailableError: the process that lets them die has failed itself.
    """
    began = time.monotonic()
    points: Counter[str] = Counter()
    with tempfile.TemporaryDirectory(prefix="jsmemory-crashes-") as place:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-P",
            "-m",
            CRASHER,
            place,
            str(records),
            str(rounds),
            stdout=asyncio.subprocess.PIPE,
            env=environment_of(os.environ),
        )
        try:
            while process.stdout is not None and (line := await process.stdout.readline()):
                points[line.decode().strip()] += 1
                progressed(points.total())
        finally:
            if process.returncode is None and await _is_cut_short(process):
                process.kill()
            await process.wait()
        if process.returncode:
            raise BackendUnavailableError("The process that lets others die has failed.", "See what it has printed.")
        _rest(records, Path(place), began)
    return points


async def _is_cut_short(process: asyncio.subprocess.Process) -> bool:
    try:
        async with asyncio.timeout(1):
            await process.wait()
    except TimeoutError:
        return True
    return False


def _rest(records: Path, directory: Path, began: float) -> None:
    recorder = Recorder(records, "crashes")
    recorder.write(Set("file", 1, 0, time.monotonic() - began, 1, MAX_ENTRIES, began))
    entries = {file.stem: frontmatter.parse(file.read_bytes())[0] for file in directory.glob("*.md")}
    recorder.write(Rested(CRASHES, time.monotonic(), entries))
    recorder.close()
    seal(records)
