"""The key grammar, and the prefix that gives a store its own part of a bucket."""

import re
from dataclasses import dataclass
from typing import Final

from jsmemory.errors import InvalidKeyError
from jsmemory.limits import MAX_KEY_LENGTH

_LEGAL_CHARACTERS: Final = re.compile(r"[A-Za-z0-9._=-]+")
# The characters that are legal both in a NATS subject token and in a file name, so that a
# key is one flat name in every backend. No slash: there is no path to climb out of.


_LEGAL_KEY: Final = re.compile(r"[A-Za-z0-9_=-]+(?:\.[A-Za-z0-9_=-]+)*")
# The whole grammar but for the length, for names that are only sorted out and not explained.


def is_legal_key(key: object) -> bool:
    """Whether `key` is one that every backend can store."""
    return isinstance(key, str) and len(key) <= MAX_KEY_LENGTH and _LEGAL_KEY.fullmatch(key) is not None


def validate_key(key: object) -> str:
    """
    Refuse a key outside the grammar. Every method calls it before any I/O.

    Returns:
        The key as plain text: a subclass of `str` could show itself as something else later.

    Raises:
        InvalidKeyError: names what is wrong, never the key itself.
    """
    if not isinstance(key, str):
        raise InvalidKeyError("A key is text")
    plain = str.__str__(key)
    if fault := _fault_of(plain):
        raise InvalidKeyError(fault)
    return plain


def _fault_of(name: object, what: str = "key") -> str | None:
    if not isinstance(name, str):
        return f"A {what} is text"
    if not name:
        return f"The {what} is empty"
    if len(name) > MAX_KEY_LENGTH:
        return f"The {what} has {len(name)} characters"
    if not _LEGAL_CHARACTERS.fullmatch(name):
        return f"The {what} has a character that is not allowed"
    if name[0] == "." or name[-1] == ".":
        return f"The {what} begins or ends with a dot"
    if ".." in name:
        return f"The {what} has two dots in a row"
    return None


_PREFIX_REMEDY: Final = f"Use 1 to {MAX_KEY_LENGTH} characters out of A-Z a-z 0-9 _ = - with no dot."


@dataclass(frozen=True, slots=True)
class Prefix:
    """
    The namespace of one agent in a bucket: one token, so that no prefix contains another.

    Args:
        token: A legal key without a dot; ``""`` is the flat keyspace of the whole bucket.

    Raises:
        InvalidKeyError: `token` is neither.
    """

    token: str

    def __post_init__(self) -> None:
        if self.token == "":
            return
        if fault := _fault_of(self.token, "prefix"):
            raise InvalidKeyError(fault, _PREFIX_REMEDY)
        if "." in self.token:
            raise InvalidKeyError("A prefix is one token, and this one has a dot", _PREFIX_REMEDY)

    def join(self, key: str) -> str:
        """The name of `key` in the bucket."""
        return f"{self.token}.{key}" if self.token else key

    def strip(self, name: str) -> str | None:
        """The key behind a name in the bucket; None for what is no legal key of this prefix."""
        key = name
        if self.token:
            if not name.startswith(f"{self.token}."):
                return None
            key = name[len(self.token) + 1 :]
        return key if is_legal_key(key) else None
