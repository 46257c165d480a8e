"""The store that notes are taken out of: an empty one is refused, and one that would lose them is read all the same."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from typing import Annotated, Any, Final

import msgspec
import typer

from jsmemory import BucketUnfitError, InProcessStore, Store
from jsmemory.cli import screen
from jsmemory.cli.choosing import Chosen, check, opened_store
from jsmemory.cli.exits import ExitCode, Refused
from jsmemory.cli.options import Choice
from jsmemory.cli.places import absent_directory

AllowEmpty = Annotated[bool, typer.Option("--allow-empty", help="Go on where nothing is stored.")]

_HIDDEN: Final = frozenset({"bucket_mirror", "bucket_subjects", "bucket_transform"})
# Codes of buckets whose notes may lie where nobody finds them: what is saved would not be all.


@asynccontextmanager
async def source_store(chosen: Chosen, choice: Choice, name: str, *, allow_empty: bool) -> AsyncIterator[Store]:
    """
    Open a store to save what is in it. Makes no directory.

    A bucket that is unfit to keep notes is read with a warning: they are to be saved just then.

    Args:
        chosen: Which store it is.
        choice: Who remembers, and how to connect.
        name: What whoever typed it calls the place, after "Nothing is stored".
        allow_empty: Whether there may be nothing in it.

    Raises:
        Refused: nothing is stored there: more likely a wrong name than a memory that is empty.
        BucketUnfitError: not all that is in the bucket can be found; and what `opened_store` raises.
    """
    check(chosen, choice)
    async with AsyncExitStack() as stack:
        store: Store = InProcessStore()
        if absent_directory(chosen, choice) is None:
            try:
                store = await stack.enter_async_context(opened_store(chosen, choice))
            except BucketUnfitError as unfit:
                if _HIDDEN & {finding.code for finding in unfit.findings}:
                    raise
                screen.talk(f"Warning: its notes are only read, to save them. {unfit}")
                store = await stack.enter_async_context(opened_store(_unexamined(chosen), choice))
        if not allow_empty and not await store.list():
            raise Refused(
                f"Nothing is stored {name}, and nothing was written. Name another store, or use --allow-empty.",
                ExitCode.REFUSED,
                "nothing_stored",
            )
        yield store


def _unexamined(chosen: Chosen) -> Chosen:
    options: dict[str, Any] = {**chosen.configuration.options, "preflight": False}
    return replace(chosen, configuration=msgspec.structs.replace(chosen.configuration, options=options))
