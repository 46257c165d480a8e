"""The options that all commands share: before the command or after it, as one likes."""

import functools
import inspect
import os
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Annotated, Any, Final

import typer

DEFAULT_IDENTITY: Final = "default"
IDENTITY_VARIABLE: Final = "JSMEMORY_IDENTITY"
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
        directory: Of the file backend.
        config: A configuration file.
        context: A NATS context.
        server: NATS URLs, with commas between.
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


def _option(*names: str, kind: Any, words: str, metavar: str | None = None) -> Any:
    return Annotated[kind, typer.Option(*names, help=words, metavar=metavar, rich_help_panel=_PANEL)]


SHARED: Final[dict[str, Any]] = {
    "backend": _option("--backend", kind=str | None, words="file, jetstream, or another that is installed."),
    "bucket": _option("--bucket", "-b", kind=str | None, words="The JetStream bucket; chooses that backend."),
    "prefix": _option("--prefix", kind=str | None, words="The namespace in it. Left out: the identity. Empty: none."),
    "identity": _option(
        "--identity", "-i", kind=str | None, words=f"Who remembers; else {IDENTITY_VARIABLE}, else {DEFAULT_IDENTITY}."
    ),
    "directory": _option("--directory", kind=Path | None, words="Where files are kept; chooses that backend."),
    "config": _option("--config", kind=Path | None, words="A configuration; else ./jsmemory.yaml, if it is there."),
    "context": _option("--context", kind=str | None, words="A NATS context, as the nats command line keeps them."),
    "server": _option("--server", "-s", kind=str | None, words="NATS URLs, with commas between.", metavar="URL"),
    "read_only": _option("--read-only", kind=bool, words="Refuse every write."),
    "as_json": _option(
        "--json", kind=bool, words='Answer in JSON; a failure too: {"error": {"code", "message", ...}}.'
    ),
}
"""Each field of `Choice` as typer takes it."""


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
            default=False if name in ("read_only", "as_json") else None,
            annotation=annotation,
        )
        for name, annotation in SHARED.items()
    ]
    context = inspect.Parameter("ctx", inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context)

    @functools.wraps(verb)
    def command(*, ctx: typer.Context, **given: Any) -> None:
        chosen = Choice(**{name: given.pop(name) for name in SHARED})
        if isinstance(ctx.obj, Choice):
            chosen = chosen.over(ctx.obj)
        ctx.obj = chosen
        verb(chosen, **given)

    # A paragraph is one line: what is broken here would be broken so on every terminal.
    command.__doc__ = "\n\n".join(" ".join(paragraph.split()) for paragraph in (verb.__doc__ or "").split("\n\n"))
    parameters = [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in own]
    signature = inspect.Signature([context, *parameters, *shared])
    command.__signature__ = signature  # type: ignore[attr-defined]
    command.__annotations__ = {name: parameter.annotation for name, parameter in signature.parameters.items()}
    return command
