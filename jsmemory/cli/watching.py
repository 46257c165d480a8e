"""``jsmemory watch``: what changes, as it changes."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import asdict
from typing import Annotated, Final

import typer

from jsmemory import Change, LiveView, Store
from jsmemory.cli import screen
from jsmemory.cli.choosing import check, choose, opened_store
from jsmemory.cli.options import Choice
from jsmemory.cli.output_lines import put_line, put_text
from jsmemory.cli.places import absent_directory
from jsmemory.cli.waiting import wait_for, when_stopped

EXAMPLES: Final = (
    "jsmemory watch",
    "jsmemory watch --no-initial --json --bucket team --identity alice",
    "jsmemory watch --bucket team --prefix ''",
)

_LOOKED_EVERY_S: Final = 0.25
# Seconds between two looks at what nobody tells: a directory that is awaited, trouble that comes or goes.


def watch(
    choice: Choice,
    initial: Annotated[bool, typer.Option("--initial/--no-initial", help="Begin with what is stored.")] = True,
) -> None:
    """
    Follow what is created, updated and deleted, until Ctrl-C; contents are not shown.

    A line has the change, the key and the description, with tabs between; with --json it is
    {"change", "key", "description", "revision"}. What is stored at the beginning is told as
    present. After an interruption it goes on by itself, and tells what differs. Whoever reads
    slowly is told each key's newest state, and not every step on the way there.
    """
    with when_stopped(lambda _: "Stopped watching."):
        wait_for(_watch(choice, initial=initial))


async def _watch(choice: Choice, *, initial: bool) -> None:
    async with _awaited_store(choice) as (store, is_new), store.live() as view:
        noting = asyncio.create_task(_note_trouble(view))
        try:
            async for change in view.changes(initial=initial or is_new):
                await _put(change, as_json=choice.as_json)
        finally:
            noting.cancel()


@asynccontextmanager
async def _awaited_store(choice: Choice) -> AsyncIterator[tuple[Store, bool]]:
    """The store that was chosen, and whether it had to be waited for: a directory is not made by who only looks."""
    chosen = choose(choice)
    check(chosen, choice)
    absent = absent_directory(chosen, choice)
    if absent is not None:
        screen.talk(f"There is no memory in {absent} yet; waiting for it.")
        while absent_directory(chosen, choice) is not None:  # noqa: ASYNC110 - a directory sets no event
            await asyncio.sleep(_LOOKED_EVERY_S)
    async with opened_store(chosen, choice) as store:
        yield store, absent is not None


async def _note_trouble(view: LiveView) -> None:
    """Say that nothing is told just now, and when that is over."""
    was_in_trouble = False
    while True:
        await asyncio.sleep(_LOOKED_EVERY_S)
        trouble = view.trouble
        if trouble is not None and not was_in_trouble:
            screen.talk(f"Interrupted, and trying again: {trouble}")
        if trouble is None and was_in_trouble:
            screen.talk("Following again.")
        was_in_trouble = trouble is not None


async def _put(change: Change, *, as_json: bool) -> None:
    if as_json:
        facts = asdict(change)
        await put_line({"change": facts.pop("kind"), **facts})
    else:
        await put_text(f"{change.kind}\t{change.key}\t{screen.one_line(change.description)}\n")
