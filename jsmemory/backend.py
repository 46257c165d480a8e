"""
The seam between a store and what holds its bytes: six verbs for a driver to implement.

A driver moves bytes and commits them atomically. The rules of the contract (key grammar,
limits, guard, scope, format) are above it, in `backed_store`, and are met by every driver
alike. Keys that reach a driver are legal. What it finds under a name that is no legal key
it neither scans, counts nor loads.
"""

from abc import ABC, abstractmethod
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from msgspec import Struct

from jsmemory.entries import Item
from jsmemory.live import Feed, Picture


@dataclass(frozen=True, slots=True)
class Keyspace:
    """
    Which keyspace a driver drives.

    Attributes:
        backend: The registered name, for `Info`.
        location: The operator's identifier, for `Info`; never a path, URL or credential.
        realm: The identity that revisions belong to: it differs for another bucket, another
            prefix, and for a bucket that was deleted and made anew.
        prefix: The namespace in it, ``""`` for the flat keyspace; None for a driver that has none.
    """

    backend: str
    location: str
    realm: str
    prefix: str | None = None


class Record(Struct, frozen=True):
    """
    A value on its way in.

    Attributes:
        value: The stored format, at most 69,600 bytes; it is stored as it is.
        description: The line that a scan will show, for drivers that can keep it beside the value.
    """

    value: bytes
    description: str

    def __repr__(self) -> str:
        return f"<Record of {len(self.value)} bytes>"


class Stored(Struct, frozen=True):
    """A value on its way out, and the token that names it."""

    value: bytes
    revision: str

    def __repr__(self) -> str:
        return f"<Stored of {len(self.value)} bytes, {self.revision}>"


class Backend(ABC):
    """
    The driver under a store; safe for many tasks and many independent processes at once.

    Every verb may raise `BackendUnavailableError` (nothing was written) and
    `AccessDeniedError`; the three that write may raise `OutcomeUnknownError`. Cancelled at
    any point, a verb leaves the old value or the new one, and nothing else behind.
    """

    @abstractmethod
    def describe(self) -> Keyspace:
        """Name the keyspace. Does no I/O; the realm may change when the keyspace was made anew."""

    @abstractmethod
    async def scan(self) -> Sequence[Item]:
        """
        Every key with its description, in any order: all that were stored before the call
        and not deleted since.

        Raises:
            IncompleteListingError: that could not be had in time.
        """

    @abstractmethod
    async def load(self, key: str) -> Stored | None:
        """The value of `key`, never one older than this object has loaded or written; None where there is none."""

    @abstractmethod
    async def insert(self, key: str, record: Record, *, capacity: int) -> str:
        """
        Store the first value of `key`, where fewer than `capacity` keys hold one.

        At rest there are never more than `capacity` keys, however many processes race.

        Returns:
            The new revision.

        Raises:
            EntryExistsError: `key` holds a value; said also where the keyspace is full.
            StoreFullError: `capacity` keys hold values.
        """

    @abstractmethod
    async def replace(self, key: str, record: Record, *, expected: str) -> str:
        """
        Store a value in the place of the revision `expected`, and only of that.

        Returns:
            The new revision.

        Raises:
            StaleEntryError: `key` holds another revision, or nothing; the reason is ``changed``.
        """

    @abstractmethod
    async def remove(self, key: str) -> bool:
        """Remove the value of `key`; True for exactly one of all calls that race for one value."""

    def feed(self, picture: Picture) -> Feed | None:
        """What keeps `picture` like the keyspace; None, unless a driver says otherwise, where only a scan can."""
        return None

    def keyspace_names(self) -> frozenset[Hashable]:
        """
        What tells the keyspace from every other one: see `Store.keyspace_names`.

        Returns:
            Its realm; a driver says more where two objects on one keyspace may differ in that,
            and less where a realm can be copied.
        """
        return frozenset({self.describe().realm})
