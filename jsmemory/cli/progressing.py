"""Long work: a bar, or a line now and then, while it goes on; and an end in good order where it is stopped."""

import time
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, Final, TypeVar

from jsmemory.cli import screen
from jsmemory.cli.waiting import CutShort, Terminated, wait_for

Progressed = Callable[[int, int], None]
"""Told how much is done, and of how much."""

_Answer = TypeVar("_Answer")

_EVERY_S: Final = 30.0
# Rare enough for a log, and often enough for whoever wonders whether it hangs.


class NowAndThen:
    """
    Says on standard error how far long work is, where no terminal shows a bar: a line every half a minute.

    Args:
        every_s: Seconds between two lines, and before the first.
    """

    def __init__(self, every_s: float = _EVERY_S) -> None:
        self._every_s = every_s
        self._is_shown = screen.talking_console().is_terminal
        self._due = time.monotonic() + every_s

    def say(self, text: str) -> None:
        """Say it where it is time for a line."""
        now = time.monotonic()
        if now >= self._due and not self._is_shown:
            self._due = now + self._every_s
            screen.talk(text)


def go_through(
    words: str,
    counted: tuple[str, str],
    left: Callable[[], str],
    work: Callable[[Progressed], Coroutine[Any, Any, _Answer]],
) -> _Answer:
    """
    Wait for long work, and show how far it is.

    Args:
        words: What the bar says.
        counted: What is counted, one and many of it.
        left: Asked where it is stopped: what is left, and how to go on.
        work: The work, given whom to tell of its progress.

    Raises:
        CutShort: after Ctrl-C or SIGTERM.
    """
    reached = (0, 0)
    with _bar(words) as show:

        def on_progress(done: int, total: int) -> None:
            nonlocal reached
            reached = done, total
            show(done, total)

        try:
            return wait_for(work(on_progress))
        except (KeyboardInterrupt, Terminated) as stop:
            is_terminated = isinstance(stop, Terminated)
    one, many = counted
    after = f"after {reached[0]:,} of {reached[1]:,} {many}" if reached[1] else f"before the first {one}"
    raise CutShort(f"{'Terminated' if is_terminated else 'Interrupted'} {after}. {left()}", is_terminated=is_terminated)


@contextmanager
def _bar(words: str) -> Iterator[Progressed]:
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    console = screen.talking_console()
    columns = (TextColumn(words), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task("", total=None)
        said = NowAndThen()

        def show(done: int, total: int) -> None:
            progress.update(task, completed=done, total=total)
            said.say(f"{words}: {done:,} of {total:,}")

        yield show


@contextmanager
def shown_by_parts(words: str, every_s: float = _EVERY_S) -> Iterator[Callable[[str, float], None]]:
    """
    Show work of several steps: whom to tell which one is at work, and which part of it is done.

    Args:
        words: What comes before each step.
        every_s: Seconds between two lines, where there is no terminal.
    """
    from rich.progress import BarColumn, Progress, TextColumn

    console = screen.talking_console()
    columns = (TextColumn(f"{words} {{task.description}}"), BarColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task("", total=1.0)
        said = NowAndThen(every_s)

        def show(step: str, part: float) -> None:
            progress.update(task, description=step, completed=part)
            said.say(f"{words} {step}: {part:.0%}")

        yield show
