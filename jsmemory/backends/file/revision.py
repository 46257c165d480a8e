"""The revision of a stored value: derived from its bytes, whoever wrote them."""

import hashlib
from typing import Final

_LENGTH: Final = 32
# Hex digits of a SHA-256: 128 bits, so that no two values of a key ever share one.


def revision_of(value: bytes) -> str:
    """The revision of these bytes."""
    return hashlib.sha256(value).hexdigest()[:_LENGTH]
