"""``jsmemory prefixes``: whose notes a bucket holds, or a directory."""

from typing import Final

from rich.table import Table
from rich.text import Text

import jsmemory
from jsmemory import PrefixLine
from jsmemory.cli import screen
from jsmemory.cli.choosing import CONNECT_S, FILE, choose
from jsmemory.cli.exits import UsageRefused
from jsmemory.cli.options import Choice, takes
from jsmemory.cli.waiting import wait_for

EXAMPLES: Final = ("jsmemory prefixes --bucket team", "jsmemory prefixes --directory ./memory --json")


@takes(
    "bucket",
    "directory",
    "config",
    "context",
    "server",
    "as_json",
    why="It looks at all prefixes, whosesoever they are.",
)
def name_prefixes(choice: Choice) -> None:
    """
    Name every prefix that holds notes, with the number of its entries.

    An operator's question: a worker has no right to look at the whole bucket. Where the output
    is not a terminal, a line holds the prefix, a tab and the number; a prefix without a name is
    the flat keyspace.
    """
    lines = wait_for(_lines(choice))
    if choice.as_json:
        screen.put_json({"prefixes": [{"prefix": line.prefix, "entries": line.entries} for line in lines]})
    elif not screen.is_terminal():
        screen.put("".join(f"{line.prefix}\t{line.entries}\n" for line in lines))
    elif lines:
        table = Table(box=None, pad_edge=False, show_header=False)
        table.add_column(overflow="fold", style="bold")
        table.add_column(justify="right")
        for line in lines:
            table.add_row(Text(line.prefix or "(none)"), Text(f"{line.entries:,}"))
        screen.draw(table)
    else:
        screen.talk("There are no notes. Store one with: jsmemory write KEY -d DESCRIPTION")


async def _lines(choice: Choice) -> tuple[PrefixLine, ...]:
    chosen = choose(choice)
    options = chosen.configuration.options
    if chosen.is_jetstream:
        async with jsmemory.connect(
            choice.context, choice.server, name="jsmemory prefixes", first_connect_timeout=CONNECT_S
        ) as nats:
            return await jsmemory.list_prefixes(nats, chosen.bucket or "", api_prefix=options.get("api_prefix"))
    if chosen.configuration.backend not in (None, FILE):
        raise UsageRefused("Only buckets and directories have prefixes. Name one: --bucket NAME, --directory DIR.")
    return await jsmemory.list_directory_prefixes(chosen.directory)
