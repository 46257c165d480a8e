"""
How a backend makes itself known, so that a configuration can open it by name.

A distribution names a `Registration` under the entry-point group ``jsmemory.backends``:

    [project.entry-points."jsmemory.backends"]
    postgres = "acme_memory.postgres:registration"

It is loaded when a configuration asks for that backend, and not before.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Generic, TypeVar

import msgspec

from jsmemory.store import Store

ENTRY_POINT_GROUP: Final = "jsmemory.backends"
"""Where distributions name their registrations, each under the name of its backend."""

OptionsT = TypeVar("OptionsT", bound=msgspec.Struct)


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """
    What a host lends to a backend that is being opened.

    Attributes:
        prefix: The namespace to open: one legal token, or ``""`` for the flat keyspace. It is
            decided already, from the option ``prefix`` or else from the identity.
        base_dir: What relative paths in options count from.
        nats: A connection to NATS, never None for a backend that needs one. It stays the
            host's: a backend never closes it.
    """

    prefix: str
    base_dir: Path = field(repr=False)
    nats: Any = field(default=None, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Registration(Generic[OptionsT]):
    """
    One backend, under its name.

    Attributes:
        name: What a configuration calls it, and what the `Info` of its stores says.
        options: The struct that the configuration's ``options`` are decoded into, strictly. A
            field ``prefix: str | None = None`` lets an operator choose the namespace.
        open: Opens a store. Names an option in an `InvalidOptionsError` as the struct does.
        needs_nats: Whether it cannot be opened without a connection to NATS.
    """

    name: str
    options: type[OptionsT]
    open: Callable[[OptionsT, Surroundings], Awaitable[Store]]
    needs_nats: bool = False
