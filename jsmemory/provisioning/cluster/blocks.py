"""As much of the grammar of a server's configuration as tells which names it defines."""

import re
from collections.abc import Iterator
from typing import Final

_PART: Final = re.compile(
    r"""
    (?P<remark>(?:\#|//)[^\n]*)
    | (?P<text>"(?:\\.|[^"\\])*" | '[^']*')
    | (?P<sign>[{}\[\]])
    | (?P<word>[^\s{}\[\]"',;=\#][^\s{}\[\]"',;=]*)
    """,
    re.VERBOSE,
)
_OPENING: Final = frozenset("{[")
_CLOSING: Final = frozenset("}]")
_QUOTES: Final = frozenset("\"'")


def blocks_of(text: str) -> list[tuple[str, str]]:
    """
    The outermost blocks, each ``name { ... }``, in their order.

    Args:
        text: A configuration, or what is in a block.

    Returns:
        The name of each, with what is in it; remarks and white space make no difference.
    """
    found, inside, name, depth = [], list[str](), "", 0
    for part in _parts(text):
        if part in _CLOSING:
            depth -= 1
            if depth == 0 and part == "}":
                found.append((name, " ".join(inside)))
        if depth > 0:
            inside.append(part)
        elif part in _OPENING:
            inside = []
        elif part[0] in _QUOTES:
            name = part[1:-1]
        elif part != ":":
            name = part.rstrip(":")
        if part in _OPENING:
            depth += 1
    return found


def _parts(text: str) -> Iterator[str]:
    return (part[0] for part in _PART.finditer(text) if part.lastgroup != "remark")
