"""
The names of stores, where a command has two: ``file:DIR``, ``jetstream:BUCKET[/PREFIX]``, or the
path of a configuration.
"""

import os
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import msgspec

from jsmemory import Configuration
from jsmemory.cli.choosing import FILE, JETSTREAM, Chosen, choose
from jsmemory.cli.exits import UsageRefused
from jsmemory.cli.options import Choice

HELP: Final = "file:DIR, jetstream:BUCKET[/PREFIX], or a configuration file"
_USE: Final = f"Use {HELP}."


def place_of(name: str, choice: Choice) -> Chosen:
    """
    Decide which store a name means.

    ``file:DIR`` is the directory in which the files of the entries lie. ``jetstream:BUCKET`` is
    the whole bucket, and with ``/PREFIX`` that namespace. What a configuration leaves open, as
    its prefix, is decided by the identity.

    Raises:
        UsageRefused: it means none.
        InvalidOptionsError: the configuration is wrong.
    """
    kind, _, rest = name.partition(":")
    if kind == FILE and rest:
        return _chosen(name, FILE, {"directory": os.fspath(_at_home(rest).absolute()), "prefix": ""})
    if kind == JETSTREAM:
        bucket, slash, prefix = rest.partition("/")
        if not bucket or (slash and not prefix):
            raise UsageRefused(f"The name {name} leaves something out. {_USE}")
        return _chosen(name, JETSTREAM, {"bucket": bucket, "prefix": prefix})
    if not Path(name).is_file():
        raise UsageRefused(f"The name {name} means no store. {_USE}")
    return choose(Choice(config=Path(name), identity=choice.identity))


def absent_directory(chosen: Chosen, choice: Choice) -> Path | None:
    """The directory of a file store that is not there yet; opening the store would make it."""
    options = chosen.configuration.options
    directory = options.get("directory")
    if chosen.configuration.backend not in (None, FILE) or not isinstance(directory, str):
        return None
    prefix = options.get("prefix", choice.who)
    path = chosen.base_dir / _at_home(directory) / (prefix if isinstance(prefix, str) else "")
    nearest = next(each for each in (path, *path.parents) if each.exists())
    # What is in the place of a directory, the store itself refuses.
    return path if nearest != path and nearest.is_dir() else None


def guarded(chosen: Chosen) -> Chosen:
    """The same store, opened so that an update replaces only what was read."""
    options = chosen.configuration.options
    if "require_read_before_update" not in options:
        return chosen
    changed: dict[str, Any] = {"options": {**options, "require_read_before_update": True}}
    return replace(chosen, configuration=msgspec.structs.replace(chosen.configuration, **changed))


def _chosen(name: str, backend: str, options: dict[str, Any]) -> Chosen:
    return Chosen(Configuration(backend=backend, options=options), Path(), name=name)


def _at_home(path: str) -> Path:
    # No shell looks behind a colon.
    try:
        return Path(path).expanduser()
    except RuntimeError:
        raise UsageRefused(f"The directory {path} begins with the home of nobody. Write it out.") from None
