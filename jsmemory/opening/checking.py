"""What a configuration tells its backend, checked before anything is opened."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

from jsmemory.errors import InvalidOptionsError
from jsmemory.keys import is_legal_key
from jsmemory.opening.decoding import decode
from jsmemory.opening.registry import find_backend
from jsmemory.registration import Registration

DEFAULT_BACKEND: Final = "file"
"""Needs nothing but a directory."""


@dataclass(frozen=True, slots=True)
class Checked:
    """
    A backend, and what it is told.

    Attributes:
        registration: The backend.
        options: Its own options, decoded.
        prefix: The namespace to open.
    """

    registration: Registration[Any]
    options: msgspec.Struct = field(repr=False)
    prefix: str


def checked(backend: str | None, options: Mapping[str, Any], identity: str) -> Checked:
    """
    Find the backend and decode its options, strictly.

    Args:
        backend: Its registered name; None is the default.
        options: As the operator wrote them.
        identity: Who remembers: the prefix where the options name none.

    Raises:
        UnknownBackendError: nobody registered the backend; lists the known ones.
        InvalidOptionsError: an option is unknown or wrong, or the identity cannot be a prefix.
    """
    registration = find_backend(backend or DEFAULT_BACKEND)
    decoded = decode(options, registration.options, at="options")
    return Checked(registration, decoded, _prefix(getattr(decoded, "prefix", None), identity))


def _prefix(written: str | None, identity: str) -> str:
    if written == "":
        return written
    # An identity of nothing is refused as any other that is no prefix: flat is what an operator asks for.
    option, token, else_ = (
        ("identity", identity, "set the option prefix")
        if written is None
        else ("options.prefix", written, "leave it empty")
    )
    if not is_legal_key(token) or "." in token:
        raise InvalidOptionsError(
            option, "cannot be a prefix", f"Use 1 to 200 characters out of A-Z a-z 0-9 _ = - with no dot, or {else_}."
        )
    return token
