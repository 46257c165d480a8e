"""Waiting until a file can be read from, or written to: a wait that a cancellation ends."""

import asyncio
from collections.abc import Callable
from typing import Any


async def readable(file: int) -> None:
    """Wait until a read gives something, or the end."""
    loop = asyncio.get_running_loop()
    await _ready(file, loop.add_reader, loop.remove_reader)


async def writable(file: int) -> None:
    """Wait until a write takes something, or fails."""
    loop = asyncio.get_running_loop()
    await _ready(file, loop.add_writer, loop.remove_writer)


async def _ready(file: int, add: Callable[..., Any], remove: Callable[[int], Any]) -> None:
    ready = asyncio.Event()
    try:
        add(file, ready.set)
    except OSError:
        # What cannot be waited for, a regular file, is always ready; and what is closed says so
        # by itself. Others get their turn all the same, also before a file without end.
        await asyncio.sleep(0)
        return
    try:
        await ready.wait()
    finally:
        remove(file)
