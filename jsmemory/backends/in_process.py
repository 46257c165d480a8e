"""A dict behind the driver's seam: the oracle that the twins are held against."""

import asyncio
import itertools
import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import msgspec

from jsmemory import frontmatter
from jsmemory.backed_store import BackedStore
from jsmemory.backend import Backend, Keyspace, Record, Stored
from jsmemory.entries import Item
from jsmemory.errors import EntryExistsError, StaleEntryError, StoreFullError, TooManyEntriesError
from jsmemory.live import Feed, Known, Picture
from jsmemory.registration import Registration, Surroundings


class InProcessBackend(Backend):
    """
    Keeps values for as long as the object lives. For tests, and for trying things out.

    A verb does not await anything, so one event loop cannot interleave two of them. It is
    not for threads.
    """

    def __init__(self) -> None:
        self._feeds: set[InProcessFeed] = set()
        self.begin_anew()

    def begin_anew(self) -> None:
        """Forget everything, as if the process had ended and another one had begun."""
        self._values: dict[str, Stored] = {}
        self._revisions = itertools.count(1)
        self._keyspace = Keyspace("in_process", "", f"in_process:{secrets.token_hex(16)}")
        for feed in self._feeds:
            feed.show_all()

    def describe(self) -> Keyspace:
        return self._keyspace

    async def scan(self) -> Sequence[Item]:
        return [Item(key, frontmatter.read_description(stored.value)) for key, stored in self._values.items()]

    async def load(self, key: str) -> Stored | None:
        return self._values.get(key)

    async def insert(self, key: str, record: Record, *, capacity: int) -> str:
        if key in self._values:
            raise EntryExistsError(key)
        if len(self._values) >= capacity:
            raise StoreFullError(capacity)
        return self._put(key, record)

    async def replace(self, key: str, record: Record, *, expected: str) -> str:
        stored = self._values.get(key)
        if stored is None or stored.revision != expected:
            raise StaleEntryError(key, "changed")
        return self._put(key, record)

    async def remove(self, key: str) -> bool:
        existed = self._values.pop(key, None) is not None
        self._show(key)
        return existed

    def feed(self, picture: Picture) -> Feed:
        return InProcessFeed(self, picture)

    def known(self, key: str) -> Known | None:
        """What a view knows of a key."""
        stored = self._values.get(key)
        if stored is None:
            return None
        return Known(Item(key, frontmatter.read_description(stored.value)), stored.revision, self._keyspace.realm)

    def all_known(self) -> list[Known]:
        """What a view knows of all of them."""
        return [known for key in self._values if (known := self.known(key)) is not None]

    @contextmanager
    def telling(self, feed: "InProcessFeed") -> Iterator[None]:
        """Tell a feed of every change while the block lasts."""
        self._feeds.add(feed)
        try:
            yield
        finally:
            self._feeds.discard(feed)

    def _put(self, key: str, record: Record) -> str:
        revision = str(next(self._revisions))
        self._values[key] = Stored(record.value, revision)
        self._show(key)
        return revision

    def _show(self, key: str) -> None:
        for feed in self._feeds:
            feed.show(key)


class InProcessFeed(Feed):
    """Is told of each change as it happens."""

    def __init__(self, backend: InProcessBackend, picture: Picture) -> None:
        self._backend = backend
        self._picture = picture

    async def follow(self) -> None:
        with self._backend.telling(self):
            self.show_all()
            await asyncio.Event().wait()

    async def catch_up(self) -> bool:
        return self._picture.is_complete

    def show_all(self) -> None:
        """Show what there is."""
        try:
            self._picture.replace(self._backend.all_known())
        except TooManyEntriesError as error:
            self._picture.lose(error)

    def show(self, key: str) -> None:
        """Show what has become of a key."""
        if not self._picture.is_complete:
            self.show_all()
            return
        try:
            self._picture.put(key, self._backend.known(key))
        except TooManyEntriesError as error:
            self._picture.lose(error)


class InProcessStore(BackedStore):
    """A store that lives and dies with this process."""

    def __init__(self, *, require_read_before_update: bool = True) -> None:
        super().__init__(InProcessBackend(), require_read_before_update=require_read_before_update)


class InProcessOptions(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """
    The options of the backend ``in_process``.

    Attributes:
        require_read_before_update: Whether an update needs a read of the current value first.
        prefix: As the other backends have it. Here every store is a keyspace of its own.
    """

    require_read_before_update: bool = True
    prefix: str | None = None


async def _open(options: InProcessOptions, _: Surroundings) -> InProcessStore:
    return InProcessStore(require_read_before_update=options.require_read_before_update)


registration = Registration(name="in_process", options=InProcessOptions, open=_open)
