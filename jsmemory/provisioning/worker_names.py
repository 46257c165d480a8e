"""What accounts, users and passwords are called, so that no two of them ever share a name."""

import hashlib
import re
from typing import Final

_SIGNS: Final = {"-": "_2d", "=": "_3d"}
# In the name of a variable; everything else that a user's name can have is legal there.

_AMBIGUOUS: Final = re.compile("|".join(_SIGNS.values()))


def memory_of(bucket: str, prefix: str) -> str:
    """
    The account that holds an isolated memory, and its operator's user in it.

    A mark is added where the name does not tell where the bucket ends: two memories in one
    account would not be isolated from each other.
    """
    name = "_".join(filter(None, ("MEMORY", bucket, prefix)))
    return f"{name}_{_mark(bucket, prefix)}" if "_" in bucket + prefix else name


def variable_of(user: str) -> str:
    """The password of a user, in a variable that servers and shells take from their environment."""
    name = user
    for sign, word in _SIGNS.items():
        name = name.replace(sign, word)
    # Otherwise a user could be called like the variable of another one, and know its password.
    return f"$PASSWORD_{name}_{_mark(user)}" if _AMBIGUOUS.search(user) else f"$PASSWORD_{name}"


def _mark(*parts: str) -> str:
    return hashlib.sha256(".".join(parts).encode()).hexdigest()[:8]
