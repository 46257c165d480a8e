"""
The one Store over any Backend: where the rules of the contract are kept.

A call goes one way: the key is checked, the text becomes a Draft and then bytes, the
driver commits them, and the scope learns what came of it.
"""

from collections.abc import Hashable
from typing import Final

from msgspec import Struct

from jsmemory import frontmatter
from jsmemory.backend import Backend, Record
from jsmemory.entries import Draft, Entry, Item
from jsmemory.errors import (
    BackendUnavailableError,
    EntryExistsError,
    EntryNotFoundError,
    OutcomeUnknownError,
    StaleEntryError,
)
from jsmemory.keys import validate_key
from jsmemory.limits import MAX_ENTRIES
from jsmemory.live import Feed, Picture
from jsmemory.scope import Scope
from jsmemory.store import Info, Store

_UNGUARDED_ATTEMPTS: Final = 64
# An unguarded update is lost to another writer at most once for each write of that writer,
# and somebody always gets on; this many in a row is no longer contention.


class BackedStore(Store):
    """
    The contract over a driver.

    Args:
        backend: The driver.
        require_read_before_update: Whether an update needs the authority of a scope. Off, it
            is one unconditional write.
    """

    def __init__(self, backend: Backend, *, require_read_before_update: bool = True) -> None:
        self._backend = backend
        self._guarded = require_read_before_update

    def info(self) -> Info:
        keyspace = self._backend.describe()
        return Info(keyspace.backend, keyspace.location)

    @property
    def realm(self) -> str:
        """What authority belongs to that is earned here now; changes when the keyspace was made anew."""
        return self._backend.describe().realm

    @property
    def prefix(self) -> str | None:
        """The namespace that it was opened with, ``""`` for the flat keyspace; None where its driver has none."""
        return self._backend.describe().prefix

    async def list(self) -> tuple[Item, ...]:
        return tuple(sorted(await self._backend.scan(), key=lambda item: item.key))

    async def read(self, key: str, *, scope: Scope | None) -> Entry:
        key = validate_key(key)
        authority, stored = self._authority(scope, key), await self._backend.load(key)
        while (realm := self._backend.describe().realm) != authority.realm:
            # It was found out meanwhile that the keyspace was made anew. What was read may be of
            # either, so that it is read again: else this run would have to be told to.
            authority = _Authority(scope, realm, key)
            stored = await self._backend.load(key)
        if stored is None:
            authority.drop()
            raise EntryNotFoundError(key)
        authority.gain(stored.revision)
        description, content = frontmatter.parse(stored.value)
        return Entry(key, description, content, stored.revision)

    async def create(self, key: str, description: str, content: str, *, scope: Scope | None) -> None:
        key = validate_key(key)
        record = _record(description, content)
        authority = self._authority(scope, key)
        try:
            authority.gain(await self._backend.insert(key, record, capacity=MAX_ENTRIES))
        except OutcomeUnknownError:
            authority.drop()
            raise

    async def update(self, key: str, description: str, content: str, *, scope: Scope | None) -> None:
        key = validate_key(key)
        record = _record(description, content)
        authority = self._authority(scope, key)
        if not self._guarded:
            await self._write_unguarded(key, record, authority)
            return
        expected = authority.revision
        if expected is None:
            raise StaleEntryError(key, "unread")
        try:
            authority.gain(await self._backend.replace(key, record, expected=expected))
        except (StaleEntryError, OutcomeUnknownError):
            authority.drop(expected)
            raise

    async def delete(self, key: str, *, scope: Scope | None) -> bool:
        key = validate_key(key)
        authority = self._authority(scope, key)
        try:
            return await self._backend.remove(key)
        finally:
            # Whatever came of it, what the scope saw is no ground any more to overwrite what
            # another run may create under this key.
            authority.drop()

    def feed(self, picture: Picture) -> Feed | None:
        return self._backend.feed(picture)

    def keyspace_names(self) -> frozenset[Hashable]:
        return self._backend.keyspace_names()

    async def _write_unguarded(self, key: str, record: Record, authority: "_Authority") -> None:
        """
        Write over whatever is there, in conditional steps.

        The condition is not the caller's but the driver's: a write whose answer was lost must
        not land later on top of a newer value, and a new key must pass the capacity check.
        """
        for _ in range(_UNGUARDED_ATTEMPTS):
            try:
                stored = await self._backend.load(key)
                if stored is None:
                    authority.gain(await self._backend.insert(key, record, capacity=MAX_ENTRIES))
                else:
                    authority.gain(await self._backend.replace(key, record, expected=stored.revision))
            except (EntryExistsError, StaleEntryError):
                continue
            except OutcomeUnknownError:
                authority.drop()
                raise
            return
        raise BackendUnavailableError("Other writers kept replacing the entry at the same time. Nothing was written.")

    def _authority(self, scope: Scope | None, key: str) -> "_Authority":
        if scope is not None and not isinstance(scope, Scope):
            # A mapping, or a snapshot, would fail only where the first value is remembered.
            raise TypeError("scope is neither a Scope nor None. Make one Scope() for each run, and pass that.")
        return _Authority(scope, self._backend.describe().realm, key)


class _Authority(Struct, frozen=True):
    """
    What one call may record about one key.

    The realm is the one that the call began in: should the bucket be made anew meanwhile, what
    the call learns is recorded for the old one, where it authorises nothing.
    """

    scope: Scope | None
    realm: str
    key: str

    @property
    def revision(self) -> str | None:
        return None if self.scope is None else self.scope.revision_of(self.realm, self.key)

    def gain(self, revision: str) -> None:
        if self.scope is not None:
            self.scope.remember(self.realm, self.key, revision)

    def drop(self, revision: str | None = None) -> None:
        if self.scope is not None:
            self.scope.forget(self.realm, self.key, revision)


def _record(description: str, content: str) -> Record:
    draft = Draft.of(description, content)
    return Record(frontmatter.serialise(draft), draft.description)
