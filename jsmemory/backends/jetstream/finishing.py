"""Work that is finished although its caller is cancelled, because half of it would stay behind."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

import anyio

T = TypeVar("T")


async def finish(work: Coroutine[Any, Any, T]) -> T:
    """
    Await `work` to its end, whatever cancels the caller; then let the cancellation go on.

    A shielded scope of anyio holds off anyio's own cancellation, but not that of a task by
    asyncio, which a host is as likely to use; so the work runs in a task of its own.

    Args:
        work: Something short, with a timeout of its own.
    """
    task = asyncio.ensure_future(work)
    cancelled: asyncio.CancelledError | None = None
    with anyio.CancelScope(shield=True):
        while not task.done():
            try:
                await asyncio.wait([task])
            except asyncio.CancelledError as error:
                cancelled = error
    if cancelled is not None:
        if not task.cancelled():
            task.exception()  # Asked for, so that asyncio does not complain of it.
        raise cancelled
    return task.result()
