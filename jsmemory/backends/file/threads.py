"""A call on the disk, in a worker thread, so that the event loop goes on meanwhile."""

import threading
from collections.abc import Callable
from functools import partial
from typing import TypeVar

from anyio import from_thread, to_thread

from jsmemory.backends.file.translate import Words, translating
from jsmemory.errors import BackendUnavailableError

_T = TypeVar("_T")

Waiting = Callable[[], None]
"""Called by who waits for a lock, between two tries; raises where nobody waits for the call any more."""


async def in_thread(words: Words, permission: str, work: Callable[[Waiting], _T]) -> _T:
    """
    Do `work` to its end: a cancelled write has landed whole, or not at all.

    Only the wait for a lock is cut short by a cancellation, so that a call that was given up
    does not write long afterwards.

    Args:
        words: What a refusal of the system calls the directory.
        permission: What is missing where access is denied.
        work: Gets what it is to call while it waits for a lock.

    Raises:
        JsMemoryError: what `work` raises, and what `translating` makes of the system's refusals.
    """
    called_off = threading.Event()

    def waiting() -> None:
        from_thread.check_cancelled()
        if called_off.is_set():
            raise BackendUnavailableError("The call was cancelled while it waited for another writer.")

    try:
        return await to_thread.run_sync(translating, words, permission, partial(work, waiting))
    except BaseException:
        # A task that asyncio itself cancels leaves at once, and its thread behind.
        called_off.set()
        raise
