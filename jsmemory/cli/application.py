"""The commands, and the help that tells them apart."""

import sys
from typing import Annotated, Any, Final

import typer
import typer.main

import jsmemory
from jsmemory.cli import (
    benchmarking,
    compacting,
    copying,
    deleting,
    demonstrating,
    driving,
    examining,
    exporting,
    importing,
    listing,
    naming,
    permitting,
    provisioning,
    reading,
    screen,
    serving,
    surveying,
    watching,
    writing,
)
from jsmemory.cli.exits import MEANINGS
from jsmemory.cli.options import Choice, with_choice

_HELP: Final = """\
Durable notes for fleets of agents: nothing is overwritten unread, nothing is lost silently.

Notes are kept in a JetStream bucket (--bucket) or in files (--directory). \
With neither, and no jsmemory.yaml here, they are files under ./memory/<identity>.
"""

_EXAMPLES: Final = (
    "jsmemory write build -d 'How to build' --content notes.md",
    "jsmemory list",
    "jsmemory read build",
    "jsmemory --bucket team --identity alice list --json",
    "jsmemory demo",
)
EXIT_CODES: Final = "Exit codes: " + "; ".join(f"{code.value} {words}" for code, words in MEANINGS.items()) + "."


def _application() -> typer.Typer:
    app = typer.Typer(
        name="jsmemory",
        help=_HELP,
        epilog=_epilog(_EXAMPLES),
        pretty_exceptions_enable=False,
        rich_markup_mode="rich",
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback(help=_HELP, epilog=_epilog(_EXAMPLES))(with_choice(_before))
    for name, verb, examples in (
        ("list", listing.list_entries, listing.EXAMPLES),
        ("read", reading.read_entry, reading.EXAMPLES),
        ("write", writing.write_entry, writing.EXAMPLES),
        ("delete", deleting.delete_entry, deleting.EXAMPLES),
        ("watch", watching.watch, watching.EXAMPLES),
        ("copy", copying.copy, copying.EXAMPLES),
        ("export", exporting.export, exporting.EXAMPLES),
        ("import", importing.import_notes, importing.EXAMPLES),
        ("run", driving.drive, driving.EXAMPLES),
        ("runs", surveying.survey, surveying.EXAMPLES),
        ("server", serving.serve, serving.EXAMPLES),
        ("prefixes", naming.name_prefixes, naming.EXAMPLES),
        ("doctor", examining.examine, examining.EXAMPLES),
        ("compact", compacting.compact, compacting.EXAMPLES),
        ("provision", provisioning.provision, provisioning.EXAMPLES),
        ("permissions", permitting.permit, permitting.EXAMPLES),
        ("demo", demonstrating.demonstrate, demonstrating.EXAMPLES),
        ("bench", benchmarking.measure, benchmarking.EXAMPLES),
    ):
        app.command(name, epilog=_epilog(examples))(with_choice(verb))
    return app


def command() -> Any:
    """The whole command line, as one callable of its arguments."""
    return typer.main.get_command(_application())


def _show_version(is_asked: bool) -> None:
    if is_asked:
        # The version is asked for before any other option is read.
        if "--json" in sys.argv:
            screen.put_json({"version": jsmemory.__version__})
        else:
            screen.put(f"jsmemory {jsmemory.__version__}\n")
        raise typer.Exit


def _before(
    choice: Choice,
    version: Annotated[
        bool, typer.Option("--version", is_eager=True, callback=_show_version, help="Show the version and exit.")
    ] = False,
) -> None:
    """Nothing to do: what was chosen before the verb reaches it through the context."""


def _epilog(examples: tuple[str, ...]) -> str:
    return "\n\n".join(["Examples:", *(f"  {example}" for example in examples), EXIT_CODES])
