"""The commands, and the help that tells them apart."""

import sys
from collections.abc import Iterable, Sequence
from importlib import import_module
from typing import Annotated, Any, Final

import typer
import typer.main
from rich.markup import escape

import jsmemory
from jsmemory.cli import screen
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

_VERBS: Final = {
    "list": ("listing", "list_entries"),
    "read": ("reading", "read_entry"),
    "write": ("writing", "write_entry"),
    "delete": ("deleting", "delete_entry"),
    "watch": ("watching", "watch"),
    "copy": ("copying", "copy"),
    "export": ("exporting", "export"),
    "import": ("importing", "import_notes"),
    "run": ("driving", "drive"),
    "runs": ("surveying", "survey"),
    "server": ("serving", "serve"),
    "prefixes": ("naming", "name_prefixes"),
    "doctor": ("examining", "examine"),
    "compact": ("compacting", "compact"),
    "provision": ("provisioning", "provision"),
    "permissions": ("permitting", "permit"),
    "demo": ("demonstrating", "demonstrate"),
    "bench": ("benchmarking", "measure"),
    "scaling": ("planning", "plan"),
    "torture": ("torturing", "torture"),
}
"""Each verb: the module that it lives in, and the function that it is. In the order of the help."""


def _application(verbs: Iterable[str]) -> typer.Typer:
    app = typer.Typer(
        name="jsmemory",
        help=_HELP,
        epilog=_epilog(_EXAMPLES),
        pretty_exceptions_enable=False,
        rich_markup_mode="rich",
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback(help=_HELP, epilog=_epilog(_EXAMPLES))(with_choice(_before))
    for name in verbs:
        module, function = _VERBS[name]
        room = import_module(f"jsmemory.cli.{module}")
        app.command(name, epilog=_epilog(room.EXAMPLES))(with_choice(getattr(room, function)))
    return app


def command(arguments: Sequence[str] = ()) -> Any:
    """
    The command line, as one callable of its arguments.

    Args:
        arguments: What it will be called with: only the verbs in it are made ready, since the
            others take half of the time of a short command. Left out, all are.
    """
    named = [name for name in _VERBS if name in arguments]
    # The help that comes before any verb is that of all.
    before = arguments[: min(map(arguments.index, named), default=0)]
    is_for_one = named and not {"-h", "--help"} & set(before)
    return _plainly_worded(typer.main.get_command(_application(named if is_for_one else _VERBS)))


def _plainly_worded(root: Any) -> Any:
    """The same, where every word of help is shown as it is written: brackets in it are no markup."""
    for each in (root, *root.commands.values()):
        for part in (each, *each.params):
            for name in ("help", "short_help", "epilog"):
                if words := getattr(part, name, None):
                    setattr(part, name, escape(words))
    return root


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
