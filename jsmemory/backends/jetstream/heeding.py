"""
A cancellation that arrives together with an answer.

In Python 3.11 `asyncio.wait_for`, with which nats-py waits for an answer, drops such a
cancellation and returns the answer. A worker that is told to stop would go on.
"""

import asyncio
from typing import NoReturn

from anyio.lowlevel import checkpoint_if_cancelled


class Heed:
    """Remembers, before a wait, how often the current task was told to stop."""

    __slots__ = ("_before", "_task")

    def __init__(self) -> None:
        self._task = asyncio.current_task()
        self._before = 0 if self._task is None else self._task.cancelling()

    @property
    def is_due(self) -> bool:
        """Whether the task was told to since, and the wait returned nevertheless."""
        return self._task is not None and self._task.cancelling() > self._before

    async def stop(self) -> NoReturn:
        """
        Do as was told.

        Raises:
            CancelledError: always.
        """
        # A scope of anyio tells its own cancellation by what is in the error, so it gives it anew.
        await checkpoint_if_cancelled()
        raise asyncio.CancelledError
