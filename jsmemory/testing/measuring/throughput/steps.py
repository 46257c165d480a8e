"""What a run does, again and again, and the notes that it writes."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final, Literal

Step = Literal["read", "update", "create", "delete"]
"""An update, or a delete, is of what the same run has read or created."""

Mix = Literal["mixed", "reads", "writes"]

MIXES: Final[Mapping[Mix, Sequence[Step]]] = MappingProxyType(
    {
        # An agent reads about as often as it writes, and mends more than it makes.
        "mixed": ("read", "update", "read", "update", "read", "create", "read", "delete"),
        "reads": ("read",),
        "writes": ("update",),
    }
)
"""
The steps by name. No listing is among them: that is what a run begins with, once, and it is
measured by itself.
"""

NOTES: Final = 256
"""Different notes, made before the clock runs. None is written twice in a row."""


def notes(size: int) -> list[tuple[str, str]]:
    """
    Descriptions and contents.

    Args:
        size: Bytes of each content.
    """
    return [
        (f"Note {number}: what was learnt about cafés, 'quotes' and a colon", f"{number:08}".ljust(size, "x")[:size])
        for number in range(NOTES)
    ]
