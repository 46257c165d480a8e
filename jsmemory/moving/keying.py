"""Legal keys for names that people gave their files."""

import hashlib
import re
import unicodedata
from collections import Counter
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

_MARK_LENGTH: Final = 8
# Hexadecimal digits: of a thousand names in another script two have the same one once in ten thousand times.


def keys_for(names: Iterable[str]) -> dict[str, str]:
    """
    Give each file the key of its name, and none to those of which two come to one.

    Args:
        names: Paths within a folder, each only once.

    Returns:
        The keys by the names; no key twice.
    """
    keys = {name: key_for(name) for name in names}
    times = Counter(keys.values())
    return {name: key for name, key in keys.items() if times[key] == 1}


def key_for(name: str) -> str:
    """
    Make a legal key of the name of a file.

    It depends on the name alone: a neighbour that comes or goes must not make it the key of
    another note. What is called like a key keeps it, whatever it is. Otherwise a folder becomes
    what stands before a dot and a space a dash. A name that loses anything else on the way (an
    accent, a letter of another script, its end where it is too long) has a mark of the whole
    name behind it, which those that look the same by then do not share.

    Keys of two names are the same only where these differ by nothing else than spaces for dashes,
    folders for dots and their suffixes, or where one is called like the marked key of the other.

    Args:
        name: A path within a folder, with ``/`` between.
    """
    path = PurePosixPath(name)
    words = [_word(part) for part in (*path.parts[:-1], path.stem)]
    key = ".".join(filter(None, words))
    if key == name.removesuffix(path.suffix).replace("/", ".").replace(" ", "-") and is_legal_key(key):
        return key
    mark = hashlib.sha256(name.encode(errors="surrogatepass")).hexdigest()[:_MARK_LENGTH]
    legible = key[: MAX_KEY_LENGTH - _MARK_LENGTH - 1].rstrip(".-")
    return f"{legible or _NAMELESS}-{mark}"


def _word(part: str) -> str:
    if is_legal_key(part):
        return part
    spelt = part.translate(_WHOLE_LETTERS)
    # A letter with an accent is two characters then, and the second is no legal one.
    plain = "".join(each for each in unicodedata.normalize("NFKD", spelt) if not unicodedata.combining(each))
    return _DOTS.sub(".", _ILLEGAL.sub("-", plain)).strip(".-")
