"""``jsmemory copy``: from one store to another, each entry read back."""

from contextlib import AsyncExitStack
from dataclasses import replace
from typing import Annotated, Final

import typer

from jsmemory import InProcessStore, InvalidOptionsError, MovingReport, ReadOnlyStoreError, Store, copy_entries
from jsmemory.cli.blaming import blamed, blaming
from jsmemory.cli.choosing import Chosen, opened_store
from jsmemory.cli.exits import UsageRefused, in_words_of_the_command_line
from jsmemory.cli.moves import ENTRIES_LEFT, move, tell
from jsmemory.cli.options import Choice, takes
from jsmemory.cli.places import HELP, absent_directory, guarded, place_of
from jsmemory.cli.progressing import Progressed
from jsmemory.cli.sources import AllowEmpty, source_store

EXAMPLES: Final = (
    "jsmemory copy file:memory/default jetstream:team/alice",
    "jsmemory copy jetstream:team jetstream:team --dst-server nats://new.example:4222 --dry-run",
    "jsmemory copy old.yaml new.yaml --identity alice --overwrite --json",
)


@takes(
    "identity",
    "context",
    "server",
    "as_json",
    why=f"It writes to a store, and both are named by its arguments: {HELP}.",
)
def copy(
    choice: Choice,
    source: Annotated[str, typer.Argument(metavar="SRC", help=f"Where from: {HELP}.")],
    destination: Annotated[str, typer.Argument(metavar="DST", help="Where to, named likewise.")],
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace other values under the same keys, if nobody changes them.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Compare only, and tell what would be done.")] = False,
    allow_empty: AllowEmpty = False,
    at_once: Annotated[int, typer.Option(min=1, max=256, help="How many entries are on their way at once.")] = 32,
    dst_context: Annotated[
        str | None, typer.Option("--dst-context", help="The NATS context of DST; else the same as of SRC.")
    ] = None,
    dst_server: Annotated[
        str | None, typer.Option("--dst-server", metavar="URL", help="The NATS URLs of DST; else the same as of SRC.")
    ] = None,
) -> None:
    """
    Copy every entry to another store, and read each back to compare it.

    file:DIR is the directory in which the files lie (./memory/default, where nothing was
    chosen); jetstream:BUCKET is the whole bucket, and with /PREFIX the entries of one agent. A
    configuration is opened for --identity. A whole bucket is one store, of 1,024 entries and of
    names of 200 characters, prefix and all: copy prefix by prefix where there are more.

    Nothing is overwritten unless told, and nothing is ever deleted. A source in which nothing
    is stored is refused with code 1, unless --allow-empty is given. A bucket that is unfit to
    keep notes, as one with a TTL, is a source with a warning, and no destination.

    Stopped at any point, it goes on when it is run again; what is equal is passed over. Each
    entry that cannot be carried is told with the reason, and keeps none of the others back. It
    is no snapshot of a store that is written to meanwhile.
    """
    origin, target = place_of(source, choice), guarded(place_of(destination, choice))
    if absent_directory(origin, choice) is not None:
        raise UsageRefused(f"There is no directory behind {source}. Name one that exists.")
    if target.configuration.read_only:
        raise ReadOnlyStoreError
    theirs = choice
    if dst_context is not None or dst_server is not None:
        theirs = replace(choice, context=dst_context, server=dst_server)

    async def work(on_progress: Progressed) -> MovingReport:
        async with AsyncExitStack() as stack:
            reading = await stack.enter_async_context(
                source_store(origin, choice, f"in {source}", allow_empty=allow_empty)
            )
            writing = await _destination(stack, target, theirs, is_elsewhere=theirs is not choice, dry_run=dry_run)
            return await copy_entries(
                reading, writing, overwrite=overwrite, dry_run=dry_run, at_once=at_once, on_progress=on_progress
            )

    tell(choice, move("Copying", ENTRIES_LEFT, work))


async def _destination(
    stack: AsyncExitStack, chosen: Chosen, choice: Choice, *, is_elsewhere: bool, dry_run: bool
) -> Store:
    if dry_run and absent_directory(chosen, choice) is not None:
        # To look is not to make a directory.
        return InProcessStore()
    try:
        return await stack.enter_async_context(opened_store(chosen, choice))
    except InvalidOptionsError as error:
        called = blamed(error.option, choice) or ""
        if not is_elsewhere or not called.startswith("--"):
            raise
        words = blaming(called.replace("--", "--dst-"), error)
        raise in_words_of_the_command_line(error, words) from None
