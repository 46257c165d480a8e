"""
Values that name the write which stored them.

A value's name is its description, so that a listing shows it too, and its content follows
from the name: whoever reads a mixture of two values sees that it is one.
"""

from typing import Final

TORN: Final = "torn"
"""The code of a read whose content does not belong to its description."""


def name_value(worker: str, number: int, size: int) -> str:
    """
    The name of a value that no other write stores.

    Args:
        worker: Who writes it.
        number: Its call.
        size: Bytes of the content.
    """
    return f"{worker}.{number}.{size}"


def content_of(value: str) -> str:
    """The content that belongs to a name."""
    size = int(value.rpartition(".")[2])
    line = f"{value}\n"
    return (line * (size // len(line) + 1))[: max(size, 1)]


def is_whole(value: str, content: str) -> bool:
    """Whether a description and a content are those of one write."""
    try:
        return content == content_of(value)
    except ValueError:
        return False
