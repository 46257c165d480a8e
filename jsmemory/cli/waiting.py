"""Waiting for the asynchronous part of a verb, which Ctrl-C, SIGTERM and SIGHUP end in good order."""

import asyncio
import signal
from collections.abc import Coroutine
from typing import Any, TypeVar

_Answer = TypeVar("_Answer")


class Terminated(BaseException):
    """The process was asked to end (SIGTERM, SIGHUP); what had to be tidied up was."""


class CutShort(BaseException):
    """
    A verb was stopped, and says itself what it has left.

    Args:
        message: One line that ends with how to go on.
        is_terminated: Whether it was asked to end by SIGTERM or SIGHUP, and not by Ctrl-C.
    """

    def __init__(self, message: str, *, is_terminated: bool) -> None:
        super().__init__(message)
        self.is_terminated = is_terminated


def wait_for(work: Coroutine[Any, Any, _Answer]) -> _Answer:
    """
    Run the asynchronous part of a verb; Ctrl-C, SIGTERM and SIGHUP end it in good order.

    Raises:
        Terminated: after SIGTERM, or SIGHUP.
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

        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGTERM, end)
        # A terminal that is closed asks for the same; under nohup it asks for nothing.
        if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
            loop.add_signal_handler(signal.SIGHUP, end)
        return await work

    try:
        return asyncio.run(interruptible())
    except asyncio.CancelledError:
        if is_terminated:
            raise Terminated from None
        raise
