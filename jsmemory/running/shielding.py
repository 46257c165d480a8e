"""Last words: work that is done although the host is cancelled, within a bound."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

import anyio

T = TypeVar("T")


async def see_through(work: Coroutine[Any, Any, T], *, seconds: float) -> T:
    """
    Await `work` to its end, whatever cancels the caller meanwhile; then let the cancellation go on.

    It runs in a task of its own, since a shielded scope of anyio does not hold off a task that
    asyncio itself cancels.

    Args:
        work: What is to be done.
        seconds: After so many it is given up.

    Raises:
        TimeoutError: it was given up; how far it came is not known.
        CancelledError: the caller was cancelled, and the work was done, or failed.
    """
    task = asyncio.ensure_future(work)
    end = asyncio.get_running_loop().time() + seconds
    cancelled: asyncio.CancelledError | None = None
    with anyio.CancelScope(shield=True):
        while not task.done():
            left = end - asyncio.get_running_loop().time()
            if left <= 0:
                task.cancel()
            try:
                await asyncio.wait([task], timeout=max(left, 1.0))
            except asyncio.CancelledError as error:
                cancelled = error
    if cancelled is not None:
        if not task.cancelled():
            task.exception()  # Asked for, so that asyncio does not complain of it.
        raise cancelled
    if task.cancelled():
        raise TimeoutError
    return task.result()
