"""Waiting for the asynchronous part of a verb, which Ctrl-C and SIGTERM end in good order."""

import asyncio
import signal
from collections.abc import Coroutine
from typing import Any, TypeVar

_Answer = TypeVar("_Answer")


class Terminated(BaseException):
    """The process was asked to end (SIGTERM); what had to be tidied up was."""


class CutShort(BaseException):
    """
    A verb was stopped, and says itself what it has left.

    Args:
        message: One line that ends with how to go on.
        is_terminated: Whether it was asked to end by SIGTERM, and not by Ctrl-C.
    """

    def __init__(self, message: str, *, is_terminated: bool) -> None:
        super().__init__(message)
        self.is_terminated = is_terminated


def wait_for(work: Coroutine[Any, Any, _Answer]) -> _Answer:
    """
    Run the asynchronous part of a verb; Ctrl-C and SIGTERM end it in good order.

    Raises:
        Terminated: after SIGTERM.
        KeyboardInterrupt: after Ctrl-C.
    """
    is_terminated = False

    async def interruptible() -> _Answer:
        nonlocal is_terminated
        task = asyncio.current_task()

        def end() -> None:
            nonlocal is_terminated
            is_terminated = True
            if task is not None:
                task.cancel()

        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, end)
        return await work

    try:
        return asyncio.run(interruptible())
    except asyncio.CancelledError:
        if is_terminated:
            raise Terminated from None
        raise
