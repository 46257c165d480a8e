"""Long work: a bar while it goes on, and an end in good order where it is stopped."""

from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from jsmemory.cli import screen
from jsmemory.cli.waiting import CutShort, Terminated, wait_for

Progressed = Callable[[int, int], None]
"""Told how much is done, and of how much."""

_Answer = TypeVar("_Answer")


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
        yield lambda done, total: progress.update(task, completed=done, total=total)
