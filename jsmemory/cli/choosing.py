"""From what was chosen to a store: options over a configuration over the file twin."""

import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import msgspec

import jsmemory
from jsmemory import Configuration, InvalidOptionsError, Store, UnknownBackendError, open_store
from jsmemory.cli.blaming import blamed, blaming
from jsmemory.cli.exits import SetupRefused, UsageRefused
from jsmemory.cli.options import Choice

CONFIGURATION_FILE: Final = "jsmemory.yaml"
DEFAULT_DIRECTORY: Final = "memory"
_MAX_BYTES: Final = 65_536
"""More than a configuration may have; a wrong file is not read to its end."""

CONNECT_S: Final = 5.0
"""Somebody sits there and waits."""

_UNKNOWN: Final = "is not known"
"""How an option is refused that the backend does not have."""

FILE: Final = "file"
JETSTREAM: Final = "jetstream"


@dataclass(frozen=True, slots=True)
class Chosen:
    """
    Which store it is.

    Attributes:
        configuration: For `open_store`.
        base_dir: What a relative directory in it counts from.
        file: Where the configuration was read from, if it was.
        name: What the store was named by, if one word was to say it all.
    """

    configuration: Configuration
    base_dir: Path
    file: Path | None = None
    name: str = ""

    @property
    def is_jetstream(self) -> bool:
        """Whether it lies in a bucket."""
        return self.configuration.backend == JETSTREAM

    @property
    def bucket(self) -> str | None:
        """The bucket that is named."""
        bucket = self.configuration.options.get("bucket")
        return bucket if isinstance(bucket, str) else None

    @property
    def directory(self) -> Path:
        """
        The directory that is named; for the file backend.

        Raises:
            UsageRefused: it begins with the home of nobody.
        """
        try:
            return self.base_dir / Path(str(self.configuration.options.get("directory", ""))).expanduser()
        except RuntimeError:
            raise UsageRefused("The directory begins with the home of nobody. Write it out.") from None


def choose(choice: Choice) -> Chosen:
    """
    Decide which store is meant.

    Raises:
        UsageRefused: the configuration file that was named cannot be read, or two options exclude each other.
        SetupRefused: the configuration is wrong; names its file.
    """
    configured, file = _configured(choice)
    backend = choice.backend or _implied(choice) or configured.backend
    if backend is None and not configured.options:
        backend = FILE
    # The options of a backend say nothing about another one.
    is_configured = backend in (None, configured.backend or FILE)
    options: dict[str, Any] = dict(configured.options) if is_configured else {}
    if choice.bucket is not None:
        options["bucket"] = choice.bucket
    if choice.prefix is not None:
        options["prefix"] = choice.prefix
    if choice.directory is not None:
        # What is typed counts from where it is typed, wherever the configuration is.
        options["directory"] = os.fspath(choice.directory.absolute())
    elif backend in (None, FILE) and "directory" not in options:
        options["directory"] = os.fspath(Path(DEFAULT_DIRECTORY).absolute())
    if backend == JETSTREAM and "bucket" not in options:
        _refuse_unknown(msgspec.structs.replace(configured, backend=backend, options=options), file, choice)
        raise UsageRefused("No bucket is named. Name one: --bucket NAME.")
    if choice.no_preflight:
        if backend in (None, FILE):
            raise UsageRefused("Files have no preflight. Name a bucket, --bucket NAME, or leave --no-preflight out.")
        options["preflight"] = False
    read_only = configured.read_only or choice.read_only
    changes: dict[str, Any] = {"backend": backend, "options": options, "read_only": read_only}
    return Chosen(msgspec.structs.replace(configured, **changes), file.parent if file else Path(), file)


def _refuse_unknown(configuration: Configuration, file: Path | None, choice: Choice) -> None:
    """What is missing may be there, under a name with a letter too many."""
    try:
        configuration.check(choice.who)
    except InvalidOptionsError as error:
        if error.problem == _UNKNOWN:
            raise SetupRefused(f"{_of(file)}{error}", error.code) from None


def check(chosen: Chosen, choice: Choice) -> None:
    """
    Check what the backend is told, before anything is connected to, opened or made.

    Raises:
        SetupRefused: an option is wrong; names the flag or the file that it comes from.
    """
    try:
        chosen.configuration.check(choice.who)
    except InvalidOptionsError as error:
        raise _refusal_of(error, chosen, choice) from None
    except UnknownBackendError as error:
        raise SetupRefused(f"{_of(None if choice.backend else chosen.file)}{error}", error.code) from None


def _refusal_of(error: InvalidOptionsError, chosen: Chosen, choice: Choice) -> SetupRefused:
    """The same refusal, blamed on what says the option: the flag, the variable, the file or the name."""
    called = blamed(error.option, choice)
    if called and error.problem == _UNKNOWN:
        words = f"The backend {chosen.configuration.backend or FILE} takes no {called}. Leave out one of the two."
    elif called:
        words = blaming(called, error)
    elif error.option == "options.directory" and not (chosen.file or chosen.name):
        words = f"The directory {DEFAULT_DIRECTORY} {error.problem}. Name another one: --directory DIR."
    else:
        words = f"{_of(chosen.file or chosen.name)}{error}"
    return SetupRefused(words, error.code)


@asynccontextmanager
async def chosen_store(choice: Choice) -> AsyncIterator[Store]:
    """
    Open the store that was chosen, with a connection where it needs one.

    Raises:
        Refused: by `choose` and `check`; and what `open_store` and `connect` raise.
    """
    async with opened_store(choose(choice), choice) as store:
        yield store


@asynccontextmanager
async def opened_store(chosen: Chosen, choice: Choice) -> AsyncIterator[Store]:
    """
    Open a store that was decided on, with a connection where it needs one.

    Args:
        chosen: Which store it is.
        choice: Who remembers, and how to connect.

    Raises:
        SetupRefused: an option is wrong; and what `open_store` and `connect` raise.
    """
    check(chosen, choice)
    where: Mapping[str, Any] = {"identity": choice.who, "base_dir": chosen.base_dir}
    if chosen.is_jetstream or (choice.backend not in (None, FILE) and (choice.server or choice.context)):
        # Named here and not above: who keeps files has no need of NATS, nor the time to load it.
        async with jsmemory.connect(
            choice.context, choice.server, name="jsmemory command line", first_connect_timeout=CONNECT_S
        ) as nats:
            yield await _opened(chosen, choice, nats=nats, **where)
    else:
        yield await _opened(chosen, choice, **where)


async def _opened(chosen: Chosen, choice: Choice, **where: Any) -> Store:
    try:
        return await open_store(chosen.configuration, **where)
    except InvalidOptionsError as error:
        raise _refusal_of(error, chosen, choice) from None


def _implied(choice: Choice) -> str | None:
    wants_jetstream = any(value is not None for value in (choice.bucket, choice.server, choice.context))
    if wants_jetstream and choice.directory is not None:
        raise UsageRefused("A bucket and a directory are two stores. Leave one of the options out.")
    if wants_jetstream:
        return JETSTREAM
    return FILE if choice.directory is not None else None


def _configured(choice: Choice) -> tuple[Configuration, Path | None]:
    path = choice.config or Path(CONFIGURATION_FILE)
    try:
        with path.open("rb") as file:
            text = file.read(_MAX_BYTES + 1).decode()
    except FileNotFoundError:
        if choice.config is not None:
            raise UsageRefused(f"There is no file {path}. Name one that exists: --config FILE.") from None
        return Configuration(), None
    except (OSError, UnicodeDecodeError):
        raise UsageRefused(f"The file {path} cannot be read as text. Name another: --config FILE.") from None
    if all(line.lstrip().startswith("#") for line in text.splitlines() if line.strip()):
        raise SetupRefused(f"The configuration file {path} is empty. Say in it what it configures, or remove it.")
    try:
        return Configuration.of(text), path
    except InvalidOptionsError as error:
        raise SetupRefused(f"{_of(path)}{error}", error.code) from None


def _of(source: Path | str | None) -> str:
    return f"In {source}: " if source else ""
