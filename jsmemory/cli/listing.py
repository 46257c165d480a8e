"""``jsmemory list``: every key with its description."""

from typing import Final

from rich.table import Table
from rich.text import Text

from jsmemory import Info, Item
from jsmemory.cli import screen
from jsmemory.cli.looking import existing_store
from jsmemory.cli.options import Choice
from jsmemory.cli.waiting import wait_for

EXAMPLES: Final = ("jsmemory list", "jsmemory list --json --bucket team --identity alice", "jsmemory list | cut -f1")


def list_entries(choice: Choice) -> None:
    """
    List every key with its description, sorted by key; contents are not read.

    Where the output is not a terminal, a line holds the key, a tab and the description.
    """
    info, items = wait_for(_list(choice))
    if choice.as_json:
        entries = [{"key": item.key, "description": item.description} for item in items]
        screen.put_json({"backend": info.backend, "location": info.location, "entries": entries})
    elif not screen.is_terminal():
        screen.put("".join(f"{item.key}\t{screen.one_line(item.description)}\n" for item in items))
    elif items:
        _draw(items)
    else:
        screen.talk("The store is empty. Store an entry with: jsmemory write KEY -d DESCRIPTION")


async def _list(choice: Choice) -> tuple[Info, tuple[Item, ...]]:
    async with existing_store(choice) as (store, info):
        return info, await store.list()


def _draw(items: tuple[Item, ...]) -> None:
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(overflow="fold", style="bold")
    table.add_column(overflow="fold", ratio=1)
    for item in items:
        # Text, not markup: a description may look like it.
        table.add_row(Text(item.key), Text(screen.one_line(item.description)))
    screen.draw(table)
