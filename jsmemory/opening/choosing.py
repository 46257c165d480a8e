"""Opening the store that a configuration asks for."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from jsmemory.errors import InvalidOptionsError
from jsmemory.keys import is_legal_key
from jsmemory.layers.read_only import ReadOnlyStore
from jsmemory.opening.configuration import Configuration
from jsmemory.opening.decoding import decode
from jsmemory.opening.registry import find_backend
from jsmemory.registration import Surroundings
from jsmemory.store import Store

if TYPE_CHECKING:
    from jsmemory.backends.jetstream.wire import Connection

DEFAULT_BACKEND: Final = "file"
"""Needs nothing but a directory."""


async def open_store(
    config: Configuration | Mapping[str, Any] | str,
    *,
    identity: str,
    nats: "Connection | None" = None,
    store: Store | None = None,
    base_dir: str | os.PathLike[str] | None = None,
) -> Store:
    """
    Open the store that a configuration asks for.

    A configuration with ``enabled: false`` asks for none, and is refused, so that whoever
    gets a store has one. A host that may be configured so asks first:

        configuration = Configuration.of(text)
        store = await open_store(configuration, identity="alice") if configuration.enabled else None

    Args:
        config: A mapping, YAML text, or a Configuration.
        identity: Who remembers. Its entries are its own: where the option ``prefix`` is left
            out, the identity is the prefix. ``prefix: ""`` is the flat keyspace of all.
        nats: A connection for backends that need one, of nats-py or of `jsmemory.connect`. It
            stays the caller's and is never closed here.
        store: A store that the caller has opened already. It is taken instead of opening one,
            if the configuration names its backend or none; the options were for whoever opened it.
        base_dir: What a relative ``directory`` counts from; the working directory if None.

    Returns:
        The store. With ``read_only`` one that refuses writes.

    Raises:
        UnknownBackendError: nobody registered the backend that is named; lists the known ones.
        InvalidOptionsError: an option is unknown or wrong, `nats` is missing, the identity
            cannot be a prefix, memory is disabled, or `store` is of another backend.
        BucketNotFoundError: there is no such bucket; with the command that makes it.
        BucketUnfitError: the bucket would lose or refuse entries; every finding with its cure.
        AccessDeniedError: the backend let nobody in.
        BackendUnavailableError: the backend did not answer in time.
    """
    configuration = Configuration.of(config)
    if not configuration.enabled:
        raise InvalidOptionsError(
            "enabled", "is false, so there is no store to open", "Set it to true, or ask for it before opening."
        )
    if store is None:
        opened = await _open(configuration, identity, nats, Path(base_dir or "."))
    else:
        check_injected(configuration, store)
        opened = store
    return ReadOnlyStore(opened) if configuration.read_only else opened


def check_injected(configuration: Configuration, store: Store) -> None:
    """
    Refuse a store that is not of the backend that the operator named.

    Raises:
        InvalidOptionsError: names both. Never where the configuration names no backend.
    """
    backend = store.info().backend
    if configuration.backend not in (None, backend):
        raise InvalidOptionsError(
            "backend",
            f"names {configuration.backend!r}, but the store that was passed is of {backend!r}",
            "Make them agree, or leave the option out.",
        )


async def _open(configuration: Configuration, identity: str, nats: "Connection | None", base_dir: Path) -> Store:
    registration = find_backend(configuration.backend or DEFAULT_BACKEND)
    options = decode(configuration.options, registration.options, at="options")
    prefix = _prefix(getattr(options, "prefix", None), identity)
    if registration.needs_nats and nats is None:
        raise InvalidOptionsError(
            "nats",
            f"is missing, and the backend {registration.name!r} needs a connection",
            "Pass nats=, as jsmemory.connect() gives it.",
        )
    try:
        return await registration.open(options, Surroundings(prefix=prefix, base_dir=base_dir, nats=nats))
    except InvalidOptionsError as error:
        raise InvalidOptionsError(f"options.{error.option}", error.problem, error.remedy) from None


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
