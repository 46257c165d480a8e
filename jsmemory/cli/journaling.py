"""From ``--journal`` to a journal: a path is a directory, a bare name a stream."""

import os
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Annotated, Final

import typer

import jsmemory
from jsmemory import BackendUnavailableError, FileJournal, InvalidOptionsError, Journal, StreamNotFoundError
from jsmemory.cli.choosing import CONNECT_S
from jsmemory.cli.exits import Refused, SetupRefused, in_words_of_the_command_line
from jsmemory.cli.options import Choice

DEFAULT_JOURNAL: Final = "./journal"

JournalOption = Annotated[
    str,
    typer.Option(
        "--journal", "-j", metavar="DIR|STREAM", help="Where runs are recorded: ./a/path, or the name of a stream."
    ),
]


@asynccontextmanager
async def chosen_journal(choice: Choice, journal: str, *, is_made: bool = True) -> AsyncIterator[Journal]:
    """
    Open the journal that was named, with a connection of its own where it needs one.

    Args:
        choice: How to connect.
        journal: A path has a slash, or is a dot; everything else is the name of a stream.
        is_made: Whether a directory that is not there is made.

    Raises:
        SetupRefused: there is no such directory, and none is made.
        StreamNotFoundError: there is no such stream; with the command that makes it.
        StreamUnfitError: it would lose or refuse records.
        Refused: it can be neither.
    """
    if os.sep in journal or journal in (os.curdir, os.pardir):
        if not is_made and not _is_folder(journal):
            raise SetupRefused(f"There is no journal in {journal}. Name the one that runs were recorded in: --journal.")
        try:
            records: Journal = await FileJournal.open(journal)
        except InvalidOptionsError as error:
            raise _refusal_of(error) from None
        yield records
        return
    # Named here and not above: who keeps files has no need of NATS, nor the time to load it.
    async with AsyncExitStack() as stack:
        try:
            nats = await stack.enter_async_context(
                jsmemory.connect(
                    choice.context, choice.server, name="jsmemory journal", first_connect_timeout=CONNECT_S
                )
            )
            records = await jsmemory.JetStreamJournal.bind(nats, journal)
        except (BackendUnavailableError, StreamNotFoundError) as error:
            if not _is_folder(journal):
                raise
            words = f"{error} Or, if the folder is meant: --journal .{os.sep}{journal}"
            raise in_words_of_the_command_line(error, words) from None
        except InvalidOptionsError as error:
            raise (_refusal_of(error) if error.option == "stream" else error) from None
        yield records


def _refusal_of(error: InvalidOptionsError) -> Refused:
    return in_words_of_the_command_line(error, f"--journal {error.problem}. {error.remedy}")


def _is_folder(journal: str) -> bool:
    # Path.is_dir raises where there cannot be one, as for a name that is too long.
    return os.path.isdir(journal)  # noqa: PTH112
