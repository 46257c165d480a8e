"""What a configuration tells its backend, checked before anything is opened."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

from jsmemory.backed_store import BackedStore
from jsmemory.errors import InvalidOptionsError, UnknownBackendError
from jsmemory.keys import is_legal_key
from jsmemory.layers.wrapping import WrappingStore
from jsmemory.opening.decoding import decode
from jsmemory.opening.registry import find_backend
from jsmemory.registration import Registration
from jsmemory.store import Store

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


def checked_against(store: Store, options: Mapping[str, Any]) -> None:
    """
    Hold options against a store that was opened already: they are to be known, and to say nothing else of it.

    Args:
        store: The store.
        options: As the operator wrote them.

    Raises:
        InvalidOptionsError: an option is unknown or wrong, or names another bucket or prefix than the store's.
    """
    if not options:
        return
    info = store.info()
    try:
        registration = find_backend(info.backend)
    except UnknownBackendError:
        problem = "cannot be checked, since nobody registered the backend of the store that was passed"
        raise InvalidOptionsError("options", problem, "Leave them out.") from None
    decoded = decode(options, registration.options, at="options")
    for name, theirs in (("bucket", info.location), ("prefix", _prefix_of(store))):
        ours = getattr(decoded, name, None)
        if ours is not None and theirs is not None and ours != theirs:
            raise InvalidOptionsError(
                f"options.{name}",
                f"names {ours!r}, but the store that was passed is of {theirs!r}",
                "Make them agree, or leave the option out.",
            )


def _prefix_of(store: Store) -> str | None:
    while isinstance(store, WrappingStore):
        store = store.inner
    return store.prefix if isinstance(store, BackedStore) else None


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
