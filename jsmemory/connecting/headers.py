"""
The headers of a message that came in.

nats-py looks at every character of every name. Names are few and come again and again, and a
listing has a thousand messages: each name is looked at once.
"""

from functools import lru_cache
from typing import Final

_LONGEST_KEPT: Final = 64
# Bytes of a name; longer ones, which somebody may have thought up, are not kept in memory.


def parse_headers(block: bytes) -> dict[str, str]:
    """What nats-py makes of a block of headers, more quickly."""
    headers = {}
    for line in block.split(b"\r\n"):
        name, colon, value = line.partition(b":")
        if colon:
            key = _known_name(name) if len(name) <= _LONGEST_KEPT else _name(name)
            if key is not None:
                headers[key] = value.strip().decode("utf-8", "replace")
    return headers


def _name(name: bytes) -> str | None:
    """A name as text; None for what is none: it is not ASCII, or has white space inside."""
    try:
        text = name.strip().decode("ascii")
    except UnicodeDecodeError:
        return None
    return None if any(map(str.isspace, text)) else text


_known_name = lru_cache(maxsize=256)(_name)
