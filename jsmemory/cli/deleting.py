"""``jsmemory delete``: remove one entry."""

from typing import Annotated, Final

import typer

from jsmemory.cli import screen
from jsmemory.cli.looking import existing_store
from jsmemory.cli.options import Choice
from jsmemory.cli.waiting import wait_for

EXAMPLES: Final = ("jsmemory delete build", "jsmemory delete build --json")


def delete_entry(
    choice: Choice, key: Annotated[str, typer.Argument(metavar="KEY", help="The key of the entry.")]
) -> None:
    """
    Remove an entry.

    An entry that is not there is no failure: the exit code is 0, and --json answers
    {"existed": false}. Of several deletes at once exactly one answers true.
    """
    existed = wait_for(_delete(choice, key))
    if choice.as_json:
        screen.put_json({"key": key, "existed": existed})
    else:
        screen.talk(f"Deleted {key}." if existed else f"There was no entry {key}; nothing was written.")


async def _delete(choice: Choice, key: str) -> bool:
    async with existing_store(choice) as (store, _):
        return await store.delete(key, scope=None)
