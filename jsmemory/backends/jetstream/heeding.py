"""
A cancellation that arrives together with an answer.

In Python 3.11 `asyncio.wait_for`, with which nats-py waits for an answer, drops such a
cancellation and returns the answer. A worker that is told to stop would go on.
"""

import asyncio

from anyio.lowlevel import checkpoint_if_cancelled


def cancellations() -> int:
    """How often the current task was told to stop; remember it before a wait."""
    task = asyncio.current_task()
    return 0 if task is None else task.cancelling()


async def heed_cancellation(before: int) -> None:
    """
    Stop, if the task was told to since `cancellations` gave `before` and the wait returned nevertheless.

    Raises:
        CancelledError: it was.
    """
    if cancellations() > before:
        # A scope of anyio tells its own cancellation by what is in the error, so it gives it anew.
        await checkpoint_if_cancelled()
        raise asyncio.CancelledError
