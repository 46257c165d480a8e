"""Long work: a bar, or a line now and then, while it goes on; and an end in good order where it is stopped."""

import time
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, TypeVar

from jsmemory.cli import screen
from jsmemory.cli.waiting import wait_for, when_stopped

if TYPE_CHECKING:
    from rich.progress import ProgressColumn

Progressed = Callable[[int, int], None]
"""Told how much is done, and of how much."""

_Answer = TypeVar("_Answer")

_EVERY_S: Final = 30.0
# Rare enough for a log, and often enough for whoever wonders whether it hangs.


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
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn

    reached = (0, 0)

    def say(how: str) -> str:
        one, many = counted
        after = f"after {reached[0]:,} of {reached[1]:,} {many}" if reached[1] else f"before the first {one}"
        return f"{how} {after}. {left()}"

    columns = (TextColumn(words), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with when_stopped(say), shown_on(columns) as show:

        def on_progress(done: int, total: int) -> None:
            nonlocal reached
            reached = done, total
            show(f"{words}: {done:,} of {total:,}", completed=done, total=total)

        return wait_for(work(on_progress))


@contextmanager
def shown_by_parts(words: str) -> Iterator[Callable[[str, float], None]]:
    """
    Show work of several steps: whom to tell which one is at work, and which part of it is done.

    Args:
        words: What comes before each step.
    """
    from rich.progress import BarColumn, TextColumn

    columns = (TextColumn(f"{words} {{task.description}}"), BarColumn())
    with shown_on(columns, total=1.0) as show:
        yield lambda step, part: show(f"{words} {step}: {part:.0%}", description=step, completed=part)


@contextmanager
def shown_on(
    columns: "Sequence[ProgressColumn]", total: float | None = None, **fields: Any
) -> Iterator[Callable[..., None]]:
    """
    Show long work on standard error: a bar on a terminal, and elsewhere a line every half a minute.

    Args:
        columns: What the bar consists of.
        total: How much there is to do, where it is known.
        fields: What the columns ask for besides.

    Returns:
        Whom to tell: the line, and by name what is to change on the bar.
    """
    from rich.progress import Progress

    console = screen.talking_console()
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task("", total=total, **fields)
        due = time.monotonic() + _EVERY_S

        def show(line: str, **changes: Any) -> None:
            nonlocal due
            progress.update(task, **changes)
            now = time.monotonic()
            if now >= due and not console.is_terminal:
                due = now + _EVERY_S
                screen.talk(line)

        yield show
