"""``jsmemory read``: the content of one entry."""

from typing import Annotated, Final

import typer

from jsmemory import Entry
from jsmemory.cli import screen
from jsmemory.cli.looking import existing_store
from jsmemory.cli.options import Choice
from jsmemory.cli.waiting import wait_for

EXAMPLES: Final = ("jsmemory read build", "jsmemory read build >build.md", "jsmemory read build --json")


def read_entry(
    choice: Choice, key: Annotated[str, typer.Argument(metavar="KEY", help="The key of the entry.")]
) -> None:
    """
    Print the content of an entry.

    Into a file or a pipe it is written byte for byte. On a terminal control characters are
    written out, so that no note can play tricks with it, and its description is shown before
    it, behind a "#" (on standard error).
    """
    entry = wait_for(_read(choice, key))
    if choice.as_json:
        screen.put_json(
            {
                "key": entry.key,
                "description": entry.description,
                "content": entry.content,
                "revision": entry.revision,
            }
        )
    elif screen.is_terminal():
        screen.talk(f"# {entry.description}")
        screen.put(screen.harmless(entry.content))
        if not entry.content.endswith("\n"):
            screen.put("\n")
    else:
        screen.put_bytes(entry.content.encode())


async def _read(choice: Choice, key: str) -> Entry:
    async with existing_store(choice) as (store, _):
        return await store.read(key, scope=None)
