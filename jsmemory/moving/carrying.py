"""Carrying one entry into a store: what is equal stays, what is new is written and read back."""

from collections.abc import Collection
from typing import Final

from jsmemory.entries import Draft, Entry
from jsmemory.errors import (
    EntryExistsError,
    EntryNotFoundError,
    InvalidEntryError,
    JsMemoryError,
    OutcomeUnknownError,
    ReadOnlyStoreError,
    StoreFullError,
)
from jsmemory.limits import MAX_ENTRIES
from jsmemory.moving.parcels import Parcel, Text
from jsmemory.moving.report import Moved, Outcome
from jsmemory.scope import Scope
from jsmemory.store import Store

DIFFERS: Final = "differs"
NOT_VERIFIED: Final = "not_verified"

_DIFFERS: Final = (
    "The destination holds another value under this key. Compare the two; then allow overwriting, or leave it."
)
_UNREAD: Final = "It was written, and could not be read back to be compared. Do the same again: what is equal is kept."
_UNLIKE: Final = (
    "The destination holds another value than was just written: somebody else wrote at the same moment, "
    "or it was damaged. Read it before deciding anything."
)


class Carrier:
    """
    Puts entries into one store, any number of them at once.

    Args:
        destination: Where to. It has to keep the guard (``require_read_before_update``): then
            what is replaced is what was read.
        taken: The keys that it holds, as far as is known.
        overwrite: Whether another value under the same key is replaced.
        dry_run: Whether nothing is written, and only told what would be.
    """

    def __init__(self, destination: Store, taken: Collection[str], *, overwrite: bool, dry_run: bool) -> None:
        self._destination = destination
        self._taken = frozenset(taken)
        self._free = MAX_ENTRIES - len(self._taken)
        self._overwrites = overwrite
        self._is_dry_run = dry_run

    async def carry(self, parcel: Parcel) -> Moved:
        """
        Carry one entry, and tell what became of it.

        Raises:
            ReadOnlyStoreError: the destination takes none at all.
        """
        try:
            text = await parcel.load()
        except EntryNotFoundError:
            return parcel.moved(Outcome.GONE)
        except JsMemoryError as error:
            return parcel.kept_back_by(error)
        try:
            return await self._put(parcel, text)
        except ReadOnlyStoreError:
            raise
        except JsMemoryError as error:
            return parcel.kept_back_by(error)

    async def _put(self, parcel: Parcel, text: Text) -> Moved:
        fit(text)
        scope = Scope()
        found = await self._find(parcel.key, scope) if parcel.key in self._taken else None
        if found is None:
            if self._is_dry_run:
                return self._would_create(parcel)
            try:
                return await self._create(parcel, text, scope)
            except EntryExistsError:
                found = await self._find(parcel.key, scope)
                if found is None:
                    raise
        if tuple(found) == text:
            return parcel.moved(Outcome.EQUAL)
        if not self._overwrites:
            return parcel.moved(Outcome.REFUSED, DIFFERS, _DIFFERS)
        return await self._replace(parcel, text, scope)

    def _would_create(self, parcel: Parcel) -> Moved:
        self._free -= 1
        return parcel.moved(Outcome.CREATED) if self._free >= 0 else parcel.kept_back_by(StoreFullError())

    async def _create(self, parcel: Parcel, text: Text, scope: Scope) -> Moved:
        try:
            await self._destination.create(parcel.key, *text, scope=scope)
        except OutcomeUnknownError as unknown:
            return await self._verified(parcel, text, Outcome.CREATED, unknown)
        return await self._verified(parcel, text, Outcome.CREATED)

    async def _replace(self, parcel: Parcel, text: Text, scope: Scope) -> Moved:
        if self._is_dry_run:
            return parcel.moved(Outcome.REPLACED)
        try:
            await self._destination.update(parcel.key, *text, scope=scope)
        except OutcomeUnknownError as unknown:
            return await self._verified(parcel, text, Outcome.REPLACED, unknown)
        return await self._verified(parcel, text, Outcome.REPLACED)

    async def _verified(
        self, parcel: Parcel, text: Text, outcome: Outcome, unknown: OutcomeUnknownError | None = None
    ) -> Moved:
        """The outcome of a write, once what is stored was read back and compared."""
        try:
            found = await self._find(parcel.key, None)
        except JsMemoryError:
            code, reason = NOT_VERIFIED, _UNREAD
        else:
            if found is not None and tuple(found) == text:
                return parcel.moved(outcome)
            code, reason = NOT_VERIFIED, _UNLIKE
        if unknown is not None:
            code, reason = unknown.code, str(unknown)
        return parcel.moved(Outcome.UNKNOWN, code, reason)

    async def _find(self, key: str, scope: Scope | None) -> Entry | None:
        try:
            return await self._destination.read(key, scope=scope)
        except EntryNotFoundError:
            return None


def fit(text: Text) -> Draft:
    """
    The text as a store keeps it.

    Raises:
        InvalidEntryError: a store would not take it, or would not keep it as it is.
        EntryTooLargeError: the content is too long.
    """
    description, content = text
    draft = Draft.of(description, content)
    if draft.description != description:
        raise InvalidEntryError(
            "description",
            "is not one line of at most 500 code points, so another program wrote it",
            "Update the entry with one that is, then move it again.",
        )
    return draft
