"""Waiting for the asynchronous part of a verb, which Ctrl-C, SIGTERM and SIGHUP end in good order."""

import asyncio
import signal
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, Final, TypeVar

_Answer = TypeVar("_Answer")

_STOPS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
# A terminal that is closed asks for the same as who ends a process.

_AT_ONCE_S: Final = 1.0
# Who stops a process and its group, as `timeout` does, stops it twice within this time and means it once.


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


@contextmanager
def when_stopped(say: Callable[[str], str]) -> Iterator[None]:
    """
    Have a stop within the block told in words that fit it; else a verb is taken for one that writes.

    Args:
        say: Given ``Interrupted`` or ``Terminated``, the one line that ends with how to go on.

    Raises:
        CutShort: after Ctrl-C, SIGTERM or SIGHUP.
    """
    try:
        yield
    except (KeyboardInterrupt, Terminated) as stop:
        is_terminated = isinstance(stop, Terminated)
        raise CutShort(say("Terminated" if is_terminated else "Interrupted"), is_terminated=is_terminated) from None


def wait_for(work: Coroutine[Any, Any, _Answer]) -> _Answer:
    """
    Run the asynchronous part of a verb; Ctrl-C, SIGTERM and SIGHUP end it in good order.

    A second one, while it ends, cuts short what is being tidied up; it never breaks into the
    event loop, which would leave threads and signals in disorder. After a stop Ctrl-C counts
    for nothing more: the command is at its end.

    Raises:
        Terminated: after SIGTERM, or SIGHUP.
        KeyboardInterrupt: after Ctrl-C.
    """
    stops = _Stops()
    try:
        with asyncio.Runner() as runner:
            try:
                return runner.run(stops.heeded_by(work))
            finally:
                # Before the loop is closed: a signal would be written to what is closed already.
                stops.ignore(runner.get_loop())
    except asyncio.CancelledError:
        if stops.first is None:
            raise
        raise (KeyboardInterrupt if stops.first == signal.SIGINT else Terminated) from None
    finally:
        stops.restore()


def ignore_further_stops() -> None:
    """Let Ctrl-C count for nothing from now on: the command has heard it, or has come to its end without."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


class _Stops:
    """The signals that stop a verb: cancelling it, then nothing, then what they were before."""

    def __init__(self) -> None:
        # What is ignored stays so: under nohup the end of a terminal asks for nothing.
        self._before = {each: how for each in _STOPS if (how := signal.getsignal(each)) != signal.SIG_IGN}
        self._came_at = float("-inf")
        self.first: signal.Signals | None = None

    async def heeded_by(self, work: Coroutine[Any, Any, _Answer]) -> _Answer:
        task, loop = asyncio.current_task(), asyncio.get_running_loop()

        def stop(which: signal.Signals) -> None:
            self.first = self.first or which
            if task is not None and loop.time() - self._came_at > _AT_ONCE_S:
                self._came_at = loop.time()
                task.cancel()

        for each in self._before:
            loop.add_signal_handler(each, stop, each)
        return await work

    def ignore(self, loop: asyncio.AbstractEventLoop) -> None:
        for each in self._before:
            loop.remove_signal_handler(each)
            signal.signal(each, signal.SIG_IGN)

    def restore(self) -> None:
        for each, how in self._before.items():
            if self.first is None or each != signal.SIGINT:
                signal.signal(each, how)
