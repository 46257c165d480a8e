"""Opening a store to look into it: a directory that is not there is not made."""

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import msgspec

from jsmemory import Info, Store
from jsmemory.cli import screen
from jsmemory.cli.choosing import FILE, check, choose, opened_store
from jsmemory.cli.options import Choice
from jsmemory.cli.places import absent_directory

_EMPTY = "in_process"
# Answers as an empty directory does, and leaves nothing behind.


@asynccontextmanager
async def existing_store(choice: Choice) -> AsyncIterator[tuple[Store, Info]]:
    """
    Open the store that was chosen; an empty one in the place of a directory that is not there.

    Yields:
        The store, and what the one that was chosen is called.

    Raises:
        Refused: by `choose` and `check`; and what `open_store` and `connect` raise.
    """
    chosen = choose(choice)
    check(chosen, choice)
    absent = absent_directory(chosen, choice)
    if absent is not None:
        # Whoever has named it expects something there; who has not, begins.
        if not choice.as_json and (choice.directory is not None or sys.stderr.isatty()):
            screen.talk(f"There is no memory in {absent} yet.")
        empty = msgspec.structs.replace(chosen.configuration, backend=_EMPTY, options={})
        chosen, choice = replace(chosen, configuration=empty), replace(choice, backend=None)
    async with opened_store(chosen, choice) as store:
        info = store.info()
        yield store, info if absent is None else replace(info, backend=FILE)
