"""Opening the store that a configuration asks for."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jsmemory.errors import InvalidOptionsError
from jsmemory.layers.no_index import NoIndexStore
from jsmemory.layers.read_only import ReadOnlyStore
from jsmemory.opening.checking import checked, checked_against
from jsmemory.opening.configuration import Configuration
from jsmemory.registration import Surroundings
from jsmemory.store import Store

if TYPE_CHECKING:
    from jsmemory.backends.jetstream.wire import Connection


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
            if the configuration names its backend or none. The options were for whoever opened it;
            an unknown one is refused all the same, and another bucket or prefix than the store's.
        base_dir: What a relative ``directory`` counts from; the working directory if None.

    Returns:
        The store. With ``read_only`` one that refuses writes. A run on it heeds ``read_only``
        and ``no_index`` by itself: see `Store.terms`.

    Raises:
        UnknownBackendError: nobody registered the backend that is named; lists the known ones.
        InvalidOptionsError: an option is unknown or wrong, `nats` is missing, the identity
            cannot be a prefix, memory is disabled, or `store` is none, or not the one that is configured.
        BucketNotFoundError: there is no such bucket; with the command that makes it.
        BucketUnfitError: the bucket would lose or refuse entries; every finding with its cure.
        AccessDeniedError: the backend let nobody in.
        BackendUnavailableError: the backend did not answer in time.
    """
    configuration = Configuration.of(config)
    configuration.refuse_disabled()
    if store is None:
        opened = await _open(configuration, identity, nats, Path(base_dir or "."))
    else:
        check_injected(configuration, store)
        opened = store
    if configuration.no_index:
        opened = NoIndexStore(opened)
    return ReadOnlyStore(opened) if configuration.read_only else opened


def check_injected(configuration: Configuration, store: Store) -> None:
    """
    Refuse a store that is not of the backend that the operator named, nor as its options say.

    Raises:
        InvalidOptionsError: names both. Never where the configuration names nothing.
    """
    if not isinstance(store, Store):
        raise InvalidOptionsError(
            "store", "is no Store", "Pass one that was opened, and awaited, or let the configuration open one."
        )
    backend = store.info().backend
    if configuration.backend not in (None, backend):
        raise InvalidOptionsError(
            "backend",
            f"names {configuration.backend!r}, but the store that was passed is of {backend!r}",
            "Make them agree, or leave the option out.",
        )
    checked_against(store, configuration.options)


async def _open(configuration: Configuration, identity: str, nats: "Connection | None", base_dir: Path) -> Store:
    found = checked(configuration.backend, configuration.options, identity)
    if found.registration.needs_nats and nats is None:
        raise InvalidOptionsError(
            "nats",
            f"is missing, and the backend {found.registration.name!r} needs a connection",
            "Pass nats=, as jsmemory.connect() gives it.",
        )
    surroundings = Surroundings(prefix=found.prefix, base_dir=base_dir, nats=nats)
    try:
        return await found.registration.open(found.options, surroundings)
    except InvalidOptionsError as error:
        if error.option == "nats":
            # No operator's option, but what the host has passed.
            raise
        raise InvalidOptionsError(f"options.{error.option}", error.problem, error.remedy) from None
