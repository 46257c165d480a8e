"""Legal keys for names that people gave their files."""

import re
import unicodedata
from collections.abc import Iterable
from pathlib import PurePosixPath
from typing import Final

from jsmemory.keys import is_legal_key
from jsmemory.limits import MAX_KEY_LENGTH

_ILLEGAL: Final = re.compile(r"[^A-Za-z0-9._=-]+")
_DOTS: Final = re.compile(r"\.{2,}")
_WHOLE_LETTERS: Final = str.maketrans(
    {"ß": "ss", "æ": "ae", "Æ": "Ae", "œ": "oe", "Œ": "Oe", "ø": "o", "Ø": "O", "ł": "l", "Ł": "L", "đ": "d", "Đ": "D"}
)
# Letters that are none with an accent, and yet have a plain spelling.

_NAMELESS: Final = "note"
# For a name of which no character is left, as one in another script.


def keys_for(names: Iterable[str]) -> dict[str, str]:
    """
    Give each file a key of its own.

    A name that is a key already stays what it is. Otherwise a folder becomes what stands
    before a dot, accents go, and what no key has becomes a dash; what is too long is cut. Where
    two names come to the same key, the first in the order of the names has it, and the others
    get a number behind it.

    Args:
        names: Paths within a folder, with ``/`` between, each only once.

    Returns:
        The keys by the names; the same for the same names.
    """
    keys: dict[str, str] = {}
    taken: dict[str, int] = {}
    ordered = sorted(names, key=lambda name: (not _is_key(name), name))
    for name in ordered:
        wish = _wish(name)
        key = wish
        while key in taken:
            taken[wish] += 1
            number = f"-{taken[wish]}"
            key = wish[: MAX_KEY_LENGTH - len(number)].rstrip(".") + number
        taken[key] = 1
        keys[name] = key
    return keys


def _is_key(name: str) -> bool:
    return name.endswith(".md") and is_legal_key(name.removesuffix(".md"))


def _wish(name: str) -> str:
    path = PurePosixPath(name)
    words = [_word(part) for part in (*path.parts[:-1], path.stem)]
    key = ".".join(filter(None, words))[:MAX_KEY_LENGTH].rstrip(".")
    return key or _NAMELESS


def _word(part: str) -> str:
    if is_legal_key(part):
        return part
    spelt = part.translate(_WHOLE_LETTERS)
    # A letter with an accent is two characters then, and the second is no legal one.
    plain = "".join(each for each in unicodedata.normalize("NFKD", spelt) if not unicodedata.combining(each))
    return _DOTS.sub(".", _ILLEGAL.sub("-", plain)).strip(".-")
