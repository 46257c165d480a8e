"""What accounts, users and passwords are called, so that no two of them ever share a name."""

import hashlib
import re
from typing import Final

from jsmemory.errors import InvalidOptionsError

MEMORY: Final = "MEMORY"
"""The account of shared buckets; the names of other memories' accounts begin with it and `_`."""

RESERVED: Final = frozenset({MEMORY, "SYS", "sys", "operator"})
"""
What `cluster/memory.conf` calls accounts and users. Of two accounts with one name a server takes the
last, without a word, and the first is lost.
"""

_WORKER: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_=-]{0,99}")
# It becomes a user, an account, a file and a part of subjects: what passes needs no quoting
# in any of them, and no command takes it for an option.

_SIGNS: Final = {"-": "_2d", "=": "_3d"}
# In the name of a variable; everything else that a user's name can have is legal there.

_AMBIGUOUS: Final = re.compile("|".join(_SIGNS.values()))


def memory_of(bucket: str, prefix: str) -> str:
    """
    The account that holds an isolated memory, and its operator's user in it.

    A mark is added where the name does not tell where the bucket ends: two memories in one
    account would not be isolated from each other.
    """
    name = "_".join(filter(None, (MEMORY, bucket, prefix)))
    return f"{name}_{_mark(bucket, prefix)}" if "_" in bucket + prefix else name


def refuse_unless_free(worker: str) -> None:
    """
    Refuse what is no name of a worker, or is that of somebody else: of the cluster itself, or of a memory's account.

    Raises:
        InvalidOptionsError: it is one of these.
    """
    if not _WORKER.fullmatch(worker):
        raise InvalidOptionsError(
            "worker",
            "is no name of a user",
            "Use 1 to 100 characters out of A-Z a-z 0-9 _ = -, the first a letter, a digit or _.",
        )
    if worker in RESERVED or worker.startswith(f"{MEMORY}_"):
        raise InvalidOptionsError(
            "worker", f"is {worker}, which the servers or a memory are called", "Name the worker otherwise: --worker."
        )


def variable_of(user: str) -> str:
    """The password of a user, in a variable that servers and shells take from their environment."""
    name = user
    for sign, word in _SIGNS.items():
        name = name.replace(sign, word)
    # Otherwise a user could be called like the variable of another one, and know its password.
    return f"$PASSWORD_{name}_{_mark(user)}" if _AMBIGUOUS.search(user) else f"$PASSWORD_{name}"


def _mark(*parts: str) -> str:
    return hashlib.sha256(".".join(parts).encode()).hexdigest()[:8]
