"""
The headers of messages, as they come in and as they go out.

nats-py looks at every character of every name. Names are few and come again and again, and a
listing has a thousand messages: here each name is looked at once.
"""

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Final

import nats.errors

_LONGEST_KEPT: Final = 64
# Bytes of a name; longer ones, which somebody may have thought up, are not kept in memory.

_TOKEN: Final = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_NEWLINES: Final = str.maketrans("\r\n", "  ")
# A line break in a value would begin a header of its own.


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


def write_headers(headers: Mapping[str, str]) -> bytes:
    """
    The block that nats-py makes of headers, more quickly.

    Raises:
        nats.errors.BadHeaderError: a name is none.
    """
    lines = ["NATS/1.0"]
    for name, value in headers.items():
        key = _known_token(name) if len(name) <= _LONGEST_KEPT else _token(name)
        if key:
            lines.append(f"{key}: {value.strip().translate(_NEWLINES)}")
    return "\r\n".join([*lines, "", ""]).encode()


def _name(name: bytes) -> str | None:
    """A name as text; None for what is none: it is not ASCII, or has white space inside."""
    try:
        text = name.strip().decode("ascii")
    except UnicodeDecodeError:
        return None
    return None if any(map(str.isspace, text)) else text


def _token(name: str) -> str:
    """A name as it is sent, or "" where there is nothing of it."""
    key = name.strip()
    if key and not _TOKEN.fullmatch(key):
        raise nats.errors.BadHeaderError(key)
    return key


_known_name = lru_cache(maxsize=256)(_name)
_known_token = lru_cache(maxsize=256)(_token)
