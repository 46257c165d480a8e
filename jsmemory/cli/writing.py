"""``jsmemory write``: create an entry, or replace the one revision that is shown."""

from typing import Annotated, Any, Final

import typer

from jsmemory import Entry, EntryNotFoundError, Scope, Store
from jsmemory.cli import screen
from jsmemory.cli.choosing import chosen_store
from jsmemory.cli.contents import content_of, refuse_unread_input
from jsmemory.cli.exits import UsageRefused
from jsmemory.cli.options import Choice
from jsmemory.cli.waiting import wait_for

EXAMPLES: Final = (
    "jsmemory write build -d 'How to build' --content notes.md",
    "make help | jsmemory write build -d 'How to build' --content - --overwrite",
    "jsmemory write owner -d 'Ask Ada about releases'",
)


def write_entry(
    choice: Choice,
    key: Annotated[str, typer.Argument(metavar="KEY", help="1 to 200 characters of A-Z a-z 0-9 . _ = -")],
    description: Annotated[
        str, typer.Option("--description", "-d", metavar="TEXT", help="One line: what a listing shows of it.")
    ],
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
    revision only: where another process was faster nothing is written. It needs --content.
    """
    if content is None:
        if overwrite:
            raise UsageRefused("An overwrite replaces the content too. Say by what: --content FILE, or --content -.")
        refuse_unread_input()
    text = "" if content is None else content_of(content)
    replaced = wait_for(_write(choice, key, description, text, overwrite=overwrite))
    if choice.as_json:
        screen.put_json({"key": key, "outcome": "created" if replaced is None else "replaced", "replaced": replaced})
    elif replaced is None:
        screen.talk(f"Created {key}.")
    else:
        screen.talk(f"Replaced {key}.")


async def _write(choice: Choice, key: str, description: str, content: str, *, overwrite: bool) -> dict[str, Any] | None:
    async with chosen_store(choice) as store:
        scope = Scope()
        old = await _old(store, key, scope) if overwrite else None
        if old is None:
            await store.create(key, description, content, scope=scope)
            return None
        if not choice.as_json:
            # Before it is gone: also where the answer to the update is lost.
            _show(old)
        await store.update(key, description, content, scope=scope)
        return {"description": old.description, "content": old.content, "revision": old.revision}


async def _old(store: Store, key: str, scope: Scope) -> Entry | None:
    try:
        return await store.read(key, scope=scope)
    except EntryNotFoundError:
        return None


def _show(old: Entry) -> None:
    screen.talk(f"Replacing: {old.description}")
    for line in old.content.split("\n"):
        screen.talk(f"- {line}")
