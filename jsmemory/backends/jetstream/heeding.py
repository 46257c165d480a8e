"""
A cancellation that arrives together with an answer.

In Python 3.11 `asyncio.wait_for`, with which nats-py waits for an answer, drops such a
cancellation and returns the answer. A worker that is told to stop would go on.
"""

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

from anyio.lowlevel import checkpoint_if_cancelled

T = TypeVar("T")


async def heeded(waiting: Awaitable[T]) -> T:
    """
    Wait for what nats-py waits for, and stop where the task was told to meanwhile.

    Raises:
        CancelledError: it was told to, whatever came of the wait.
    """
    task = asyncio.current_task()
    before = 0 if task is None else task.cancelling()
    try:
        return await waiting
    finally:
        if task is not None and task.cancelling() > before:
            # A scope of anyio tells its own cancellation by what is in the error, so it gives it anew.
            await checkpoint_if_cancelled()
            raise asyncio.CancelledError
