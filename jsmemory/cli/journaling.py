"""From ``--journal`` to a journal: a path is a directory, a bare name a stream."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated, Final

import typer

import jsmemory
from jsmemory import FileJournal, Journal
from jsmemory.cli.choosing import CONNECT_S
from jsmemory.cli.options import Choice

DEFAULT_JOURNAL: Final = "./journal"

JournalOption = Annotated[
    str,
    typer.Option(
        "--journal", "-j", metavar="DIR|STREAM", help="Where runs are recorded: ./a/path, or the name of a stream."
    ),
]


@asynccontextmanager
async def chosen_journal(choice: Choice, journal: str) -> AsyncIterator[Journal]:
    """
    Open the journal that was named, with a connection of its own where it needs one.

    Args:
        choice: How to connect.
        journal: A path has a slash, or is a dot; everything else is the name of a stream.

    Raises:
        StreamNotFoundError: there is no such stream; with the command that makes it.
        StreamUnfitError: it would lose or refuse records.
        InvalidOptionsError: it can be neither.
    """
    if os.sep in journal or journal in (os.curdir, os.pardir):
        yield await FileJournal.open(journal)
        return
    # Named here and not above: who keeps files has no need of NATS, nor the time to load it.
    async with jsmemory.connect(
        choice.context, choice.server, name="jsmemory journal", first_connect_timeout=CONNECT_S
    ) as nats:
        yield await jsmemory.JetStreamJournal.bind(nats, journal)
