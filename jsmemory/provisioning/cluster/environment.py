"""The secrets of a cluster: one file of variables, which shells, Docker Compose and this code read alike."""

import re
import secrets
import string
from collections.abc import Iterable, Mapping
from typing import Final

KEY: Final = "JETSTREAM_KEY"
PASSWORD: Final = "PASSWORD_"  # noqa: S105 - the beginning of a variable's name
SYSTEM: Final = "sys"
OPERATOR: Final = "operator"

HEAD: Final = (
    "# The secrets of the cluster. JETSTREAM_KEY encrypts the streams: without it they are lost.\n"
    "# The values are letters only, so that shells, Docker and nats-server read them alike.\n"
)

LETTERS: Final = 43
"""Some 245 bits. What begins with a digit or a dollar sign could be taken for something else than text."""

_LINE: Final = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)=(.*)")


class Unreadable(Exception):
    """A line is no variable."""


def read(text: str) -> dict[str, str]:
    """
    The variables of a file.

    Raises:
        Unreadable: a line is neither a variable, nor a comment, nor empty.
    """
    variables = {}
    for line in map(str.strip, text.splitlines()):
        if not line or line.startswith("#"):
            continue
        if (found := _LINE.fullmatch(line)) is None:
            raise Unreadable
        variables[found[1]] = found[2]
    return variables


def missing(variables: Mapping[str, str], passwords: Iterable[str]) -> dict[str, str]:
    """
    New values for what a cluster needs and does not have.

    Args:
        variables: What it has.
        passwords: The variables that its workers' files ask for.
    """
    needed = [KEY, f"{PASSWORD}{SYSTEM}", f"{PASSWORD}{OPERATOR}", *sorted(passwords)]
    return {name: _random() for name in needed if not variables.get(name)}


def _random() -> str:
    return "".join(secrets.choice(string.ascii_letters) for _ in range(LETTERS))
