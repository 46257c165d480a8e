"""The options that all commands share: before the command or after it, as one likes."""

import functools
import inspect
import os
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from jsmemory import JsMemoryError
from jsmemory.cli.blaming import IDENTITY_VARIABLE, in_typed_words
from jsmemory.cli.exits import UsageRefused

DEFAULT_IDENTITY: Final = "default"
_PANEL: Final = "Which store"


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """
    What was chosen on the command line; None and False where nothing was.

    Attributes:
        backend: The name of a backend.
        bucket: A JetStream bucket.
        prefix: The namespace in the bucket or the directory; ``""`` for all of it.
        identity: Who remembers.
        directory: Of the file backend; a prefix is a folder in it.
        config: A configuration file.
        context: A NATS context.
        server: NATS URLs, with commas between.
        no_preflight: Open a bucket without examining it.
        read_only: Refuse every write.
        as_json: Answer in JSON.
    """

    backend: str | None = None
    bucket: str | None = None
    prefix: str | None = None
    identity: str | None = None
    directory: Path | None = None
    config: Path | None = None
    context: str | None = None
    server: str | None = None
    no_preflight: bool = False
    read_only: bool = False
    as_json: bool = False

    def over(self, other: "Choice") -> "Choice":
        """This choice, and `other` where this one says nothing."""
        names = [field.name for field in fields(self)]
        return Choice(**{name: _first(getattr(self, name), getattr(other, name)) for name in names})

    def without_directory(self) -> "Choice":
        """The same, where the directory says something else than which store it is."""
        return replace(self, directory=None)

    @property
    def who(self) -> str:
        """Who remembers: the option, the variable, or the default."""
        if self.identity is not None:
            return self.identity
        return os.environ.get(IDENTITY_VARIABLE) or DEFAULT_IDENTITY


def _first(mine: Any, others: Any) -> Any:
    return others if mine is None or mine is False else mine


def _option(*names: str, kind: Any, words: str, metavar: str | None = None) -> Callable[[bool], Any]:
    def annotation(is_hidden: bool) -> Any:
        how: Any = {"help": words, "metavar": metavar, "rich_help_panel": _PANEL, "hidden": is_hidden}
        return Annotated[kind, typer.Option(*names, **how)]

    return annotation


_SHARED: Final[dict[str, Callable[[bool], Any]]] = {
    "backend": _option("--backend", kind=str | None, words="file, jetstream, or another that is installed."),
    "bucket": _option("--bucket", "-b", kind=str | None, words="The JetStream bucket; chooses that backend."),
    "prefix": _option("--prefix", kind=str | None, words="The namespace in it. Left out: the identity. Empty: none."),
    "identity": _option(
        "--identity", "-i", kind=str | None, words=f"Who remembers; else {IDENTITY_VARIABLE}, else {DEFAULT_IDENTITY}."
    ),
    "directory": _option(
        "--directory",
        kind=Path | None,
        words="Where files are kept, in a folder for each prefix; chooses that backend.",
    ),
    "config": _option("--config", kind=Path | None, words="A configuration; else ./jsmemory.yaml, if it is there."),
    "context": _option("--context", kind=str | None, words="A NATS context, as the nats command line keeps them."),
    "server": _option("--server", "-s", kind=str | None, words="NATS URLs, with commas between.", metavar="URL"),
    "no_preflight": _option(
        "--no-preflight", kind=bool, words="Do not examine the bucket: for rights that end at the own prefix."
    ),
    "read_only": _option("--read-only", kind=bool, words="Refuse every write."),
    "as_json": _option(
        "--json", kind=bool, words='Answer in JSON; a failure too: {"error": {"code", "message", ...}}.'
    ),
}
"""Each field of `Choice` as typer takes it: shown in the help, or hidden there."""

_TAKEN: Final = "_jsmemory_taken"
_WHY: Final = "_jsmemory_why"
# Attributes of a verb that does not take every shared option.


def takes(*fields: str, why: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """
    Say which of the shared options count for a verb; the others are refused, and not in its help.

    An option that is left aside silently lets people believe in what it says.

    Args:
        fields: Of `Choice`.
        why: One sentence that explains the refusal, and says what to do instead, if anything.
    """

    def mark(verb: Callable[..., None]) -> Callable[..., None]:
        setattr(verb, _TAKEN, frozenset(fields))
        setattr(verb, _WHY, why)
        return verb

    return mark


def _refuse_others(verb: Callable[..., None], name: str, chosen: Choice) -> None:
    taken = _taken(verb)
    for field in _SHARED:
        if field not in taken and getattr(chosen, field) not in (None, False):
            flag = "--" + field.replace("_", "-")
            raise UsageRefused(f"The command {name} takes no {flag}. {getattr(verb, _WHY)} Leave {flag} out.")


def _taken(verb: Callable[..., None]) -> frozenset[str]:
    taken: frozenset[str] = getattr(verb, _TAKEN, frozenset(_SHARED))
    return taken


def with_choice(verb: Callable[..., None]) -> Callable[..., None]:
    """
    Make a command of a verb: the shared options become its first argument, a `Choice`.

    Typer takes no groups of options, so the signature that it reads is put together here.
    """
    own = list(inspect.signature(verb).parameters.values())[1:]
    shared = [
        inspect.Parameter(
            name,
            inspect.Parameter.KEYWORD_ONLY,
            default=False if name in ("no_preflight", "read_only", "as_json") else None,
            annotation=annotation(name not in _taken(verb)),
        )
        for name, annotation in _SHARED.items()
    ]
    context = inspect.Parameter("ctx", inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context)

    @functools.wraps(verb)
    def command(*, ctx: typer.Context, **given: Any) -> None:
        chosen = Choice(**{name: given.pop(name) for name in _SHARED})
        if isinstance(ctx.obj, Choice):
            chosen = chosen.over(ctx.obj)
        _refuse_others(verb, ctx.info_name or "", chosen)
        ctx.obj = chosen
        try:
            verb(chosen, **given)
        except JsMemoryError as error:
            if (refusal := in_typed_words(error, chosen)) is not None:
                raise refusal from error
            raise

    # A paragraph is one line: what is broken here would be broken so on every terminal.
    command.__doc__ = "\n\n".join(" ".join(paragraph.split()) for paragraph in (verb.__doc__ or "").split("\n\n"))
    parameters = [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in own]
    signature = inspect.Signature([context, *parameters, *shared])
    command.__signature__ = signature  # type: ignore[attr-defined]
    command.__annotations__ = {name: parameter.annotation for name, parameter in signature.parameters.items()}
    return command
