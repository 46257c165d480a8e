"""``jsmemory write``: create an entry, or replace the one revision that is shown."""

from typing import Annotated, Any, Final

import typer

from jsmemory import Entry, EntryExistsError, EntryNotFoundError, Scope, StaleEntryError, Store
from jsmemory.cli import screen
from jsmemory.cli.choosing import choose, opened_store
from jsmemory.cli.contents import content_of, refuse_unread_input
from jsmemory.cli.exits import UsageRefused, in_words_of_the_command_line
from jsmemory.cli.options import Choice
from jsmemory.cli.waiting import wait_for

EXAMPLES: Final = (
    "jsmemory write build -d 'How to build' --content notes.md",
    "make help | jsmemory write build -d 'How to build' --content - --overwrite",
    "jsmemory write build --content notes.md --overwrite",
    "jsmemory write owner -d 'Ask Ada about releases'",
)

_IN_PROCESS: Final = "in_process"
_FASTER: Final = "Another process was faster, and nothing was written. Run the same command again, or leave it at that."


def write_entry(
    choice: Choice,
    key: Annotated[str, typer.Argument(metavar="KEY", help="1 to 200 characters of A-Z a-z 0-9 . _ = -")],
    description: Annotated[
        str | None,
        typer.Option(
            "--description",
            "-d",
            metavar="TEXT",
            help="One line: what a listing shows of it. Needed, but where --overwrite keeps the one that is there.",
        ),
    ] = None,
    content: Annotated[
        str | None,
        typer.Option(
            "--content", metavar="FILE|-", help="Where the content is, - for standard input. Left out: empty."
        ),
    ] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace an entry that is there, and show what it was.")
    ] = False,
) -> None:
    """
    Create an entry; with --overwrite, replace the one that is there.

    An overwrite reads the entry, shows on standard error what it replaces, and replaces that
    revision only: where another process was faster nothing is written. It needs --content;
    without --description the old one is kept.
    """
    if description is None and not overwrite:
        raise UsageRefused("A new entry needs a line that says what it holds. Give it: --description TEXT.")
    if content is None:
        if overwrite:
            raise UsageRefused("An overwrite replaces the content too. Say by what: --content FILE, or --content -.")
        refuse_unread_input()
    text = "" if content is None else content_of(content)
    try:
        replaced = wait_for(_write(choice, key, description, text, overwrite=overwrite))
    except EntryExistsError as error:
        words = f"An entry {key} exists already. Replace it: --overwrite. Or choose another key."
        raise in_words_of_the_command_line(error, _FASTER if overwrite else words) from None
    except StaleEntryError as error:
        raise in_words_of_the_command_line(error, _FASTER) from None
    if choice.as_json:
        screen.put_json({"key": key, "outcome": "created" if replaced is None else "replaced", "replaced": replaced})
    elif replaced is None:
        screen.talk(f"Created {key}.")
    else:
        screen.talk(f"Replaced {key}.")


async def _write(
    choice: Choice, key: str, description: str | None, content: str, *, overwrite: bool
) -> dict[str, Any] | None:
    chosen = choose(choice)
    if chosen.configuration.backend == _IN_PROCESS:
        raise UsageRefused("Nothing in the backend in_process outlives the command. Name another: --backend file.")
    async with opened_store(chosen, choice) as store:
        scope = Scope()
        old = await _old(store, key, scope) if overwrite else None
        if old is None:
            if description is None:
                raise UsageRefused(f"There is no entry {key} to keep the line of. Give one: --description TEXT.")
            await store.create(key, description, content, scope=scope)
            return None
        if not choice.as_json:
            # Before it is gone: also where the answer to the update is lost.
            _show(old)
        kept = old.description if description is None else description
        await store.update(key, kept, content, scope=scope)
        return {"description": old.description, "content": old.content, "revision": old.revision}


async def _old(store: Store, key: str, scope: Scope) -> Entry | None:
    try:
        return await store.read(key, scope=scope)
    except EntryNotFoundError:
        return None


def _show(old: Entry) -> None:
    screen.talk(f"Replacing: {old.description}")
    for line in old.content.removesuffix("\n").split("\n") if old.content else ():
        screen.talk(f"- {line}")
