"""What a store holds and shows: Entry and Item; and Draft, text made fit to be stored."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, Literal

import msgspec

from jsmemory.errors import EntryTooLargeError, InvalidEntryError
from jsmemory.limits import MAX_CONTENT_BYTES, MAX_DESCRIPTION_LENGTH

_CONTROL_CHARACTERS: Final = re.compile(r"[\x00-\x1f\x7f]")
_WHITESPACE_RUN: Final = re.compile(r"\s+")


@dataclass(frozen=True, slots=True)
class Entry:
    """
    One stored memory, as a read returns it; unpacks as ``description, content``.

    Attributes:
        key: The key it is stored under.
        description: One line, at most 500 code points where jsmemory wrote it.
        content: The body, byte for byte as it was written.
        revision: An opaque token that changes with every stored value of the key.
    """

    key: str
    description: str
    content: str = field(repr=False)
    revision: str = field(repr=False)

    def __iter__(self) -> Iterator[str]:
        yield self.description
        yield self.content


class Item(msgspec.Struct, frozen=True):
    """One line of a listing: a key and its description, never the content."""

    key: str
    description: str


@dataclass(frozen=True, slots=True)
class Draft:
    """
    A description and a content that have been normalised and checked, made once a write.

    Attributes:
        description: One line without control characters, 1 to 500 code points.
        content: UTF-8, at most 65,536 bytes.
    """

    description: str
    content: bytes = field(repr=False)

    @classmethod
    def of(cls, description: object, content: object) -> "Draft":
        """
        Check what a caller wants to store.

        Raises:
            InvalidEntryError: not text, a lone surrogate, or a description of nothing but space.
            EntryTooLargeError: the content is over 65,536 bytes.
        """
        encoded = _encode("content", content)
        line = normalise_description(_encode("description", description).decode())
        if not line:
            raise InvalidEntryError("description", "is empty", "Say in one line what the entry is about.")
        if len(encoded) > MAX_CONTENT_BYTES:
            raise EntryTooLargeError(len(encoded), MAX_CONTENT_BYTES)
        return cls(line, encoded)


def normalise_description(text: str) -> str:
    """One line: controls become spaces, runs of white space one space, trimmed, cut to 500."""
    if text.isprintable() and len(text) <= MAX_DESCRIPTION_LENGTH and "  " not in text:
        # Mostly it is one line already: nothing in it is a control, or white space but the space.
        return text.strip()
    line = _WHITESPACE_RUN.sub(" ", _CONTROL_CHARACTERS.sub(" ", text)).strip()
    return line[:MAX_DESCRIPTION_LENGTH].strip()


def _encode(name: Literal["description", "content"], text: object) -> bytes:
    if not isinstance(text, str):
        raise InvalidEntryError(name, "is not text", "Give a string.")
    try:
        return str.encode(text)
    except UnicodeEncodeError:
        raise InvalidEntryError(
            name, "holds half of a surrogate pair, which is no character", "Remove it, or decode the text anew."
        ) from None
