"""Standard input, line by line, without a thread that nobody could stop."""

import os
from collections.abc import AsyncIterator
from typing import Final

from jsmemory.cli.readiness import readable

LINE_LIMIT: Final = 16 * 1024 * 1024
"""Bytes of a line: far above what a call may hold, and no more than a process can spare."""

_BLOCK: Final = 64 * 1024


async def input_lines(file: int = 0) -> AsyncIterator[bytes | None]:
    """
    The lines of a file, of a pipe or of a terminal, as they come; None for one over 16 MiB.

    What stands behind the last end of line is a line as well. A wait for more ends with a
    cancellation: a reading thread would go on, and keep the process from its end.
    """
    begun = bytearray()
    too_long = False
    while block := await _block(file):
        *whole, rest = block.split(b"\n")
        for part in whole:
            begun += part
            yield None if too_long or len(begun) > LINE_LIMIT else bytes(begun)
            begun.clear()
            too_long = False
        begun += rest
        if len(begun) > LINE_LIMIT:
            begun.clear()
            too_long = True
    if begun or too_long:
        yield None if too_long else bytes(begun)


async def _block(file: int) -> bytes:
    while True:
        await readable(file)
        try:
            return os.read(file, _BLOCK)
        except BlockingIOError:
            # Another process reads here as well, and was quicker.
            continue
        except OSError:
            # What is closed is at its end.
            return b""
