"""The contract: six methods on one keyspace. Read this first."""

from abc import ABC, abstractmethod
from collections.abc import Hashable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass

from jsmemory.entries import Entry, Item
from jsmemory.live import Feed, LiveView, LookingFeed, Picture, shared_view
from jsmemory.scope import Scope


@dataclass(frozen=True, slots=True)
class Info:
    """
    What a store says of itself; safe to log and to put on a span.

    Attributes:
        backend: The registered name of the backend, e.g. ``jetstream``.
        location: An identifier that an operator chose (the bucket), ``""`` where there is
            none. Never a path, a URL with user information, or a credential.
    """

    backend: str
    location: str


@dataclass(frozen=True, slots=True)
class Terms:
    """
    What a store asks of the runs on it, so that no host has to repeat it.

    Attributes:
        read_only: Whether every write is refused, so that a model is offered none.
        no_index: Whether runs begin without an index of what is stored, unless their host
            asks for one.
    """

    read_only: bool = False
    no_index: bool = False


class Store(ABC):
    """
    Durable notes under keys, shared by many tasks and many independent processes at once.

    Methods that touch a key take the run's `scope` as a keyword on every call: one shared
    store serves many runs, each with its own authority. ``scope=None`` is valid and
    authorises no overwrite. There is no close: a store owns nothing to release.

    Six methods are to be written. `live` comes with them; `feed` is for stores that can do
    better than being listed again and again, `keyspace_names` for those of which two objects
    may be on one keyspace, and `terms` for those that ask something of runs.

    Every method may raise `BackendUnavailableError` (nothing written, safe to try again)
    and `AccessDeniedError`; every method that takes a key raises `InvalidKeyError` before
    any I/O where the key is outside the grammar.
    """

    @abstractmethod
    def info(self) -> Info:
        """Name the backend and its location. Does no I/O and never fails."""

    @abstractmethod
    async def list(self) -> tuple[Item, ...]:
        """
        List every key with its description, sorted by key in byte order.

        Complete: every entry that was stored before the call began and was not deleted
        since is in it, however busy the store. Moves no contents and grants no authority.

        Raises:
            IncompleteListingError: completeness could not be had in time.
        """

    @abstractmethod
    async def read(self, key: str, *, scope: Scope | None) -> Entry:
        """
        Read one entry, and let `scope` replace the value that was read.

        Never answers with a value older than this store object already read or wrote.

        Returns:
            The entry; unpacks as ``description, content``.

        Raises:
            EntryNotFoundError: nothing is stored under `key`.
            EntryTooLargeError: another program has stored more than is ever read.
        """

    @abstractmethod
    async def create(self, key: str, description: str, content: str, *, scope: Scope | None) -> None:
        """
        Store an entry under a key that holds none, and let `scope` replace it later.

        Atomic: of all processes that create one key at once, exactly one succeeds.

        Args:
            key: 1 to 200 characters of ``A-Z a-z 0-9 . _ = -``, no dot at either end, no two in a row.
            description: One line; controls become spaces, white space collapses, cut to 500 code points.
            content: Any text, at most 65,536 bytes of UTF-8; empty is legal. Comes back byte for byte.
            scope: The run's scope, or None.

        Raises:
            InvalidEntryError: the description is empty, or a text holds a lone surrogate.
            EntryTooLargeError: the content is over its limit.
            EntryExistsError: `key` holds an entry, also where the store is full.
            StoreFullError: the store holds its 1,024 entries.
            OutcomeUnknownError: sent, answer lost. Read before deciding anything.
        """

    @abstractmethod
    async def update(self, key: str, description: str, content: str, *, scope: Scope | None) -> None:
        """
        Replace the value of a key that this scope has read.

        The write lands only if nobody changed the entry since `scope` saw it; otherwise
        nothing is written and `scope` loses its authority over the key. A reader sees the
        old value or the new one, never a mixture. A store that was opened with
        ``require_read_before_update=False`` asks for no authority: there an update is one
        unconditional write, also of a key that holds nothing yet.

        Args and limits are those of `create`.

        Raises:
            StaleEntryError: `scope` has not read the current value. Read, then update.
            InvalidEntryError: the description is empty, or a text holds a lone surrogate.
            EntryTooLargeError: the content is over its limit.
            StoreFullError: only without the guard, where the key is new and the store full.
            OutcomeUnknownError: sent, answer lost. Read before deciding anything.
        """

    @abstractmethod
    async def delete(self, key: str, *, scope: Scope | None) -> bool:
        """
        Remove an entry, and the authority of `scope` over it.

        Returns:
            Whether this call removed it: of N concurrent deletes of one entry exactly one
            answers True. False for an absent key, and then nothing is written.

        Raises:
            OutcomeUnknownError: sent, answer lost. Read before deciding anything.
        """

    # -- What comes with the six ------------------------------------------------------------

    def terms(self) -> Terms:
        """
        Say what this store asks of runs. Does no I/O and never fails.

        By itself a store asks nothing. A layer passes on what the store underneath asks.
        """
        return Terms()

    def live(self) -> AbstractAsyncContextManager[LiveView]:
        """
        Keep what is stored in memory, for the length of a block.

            async with store.live() as view:
                items = await view.list()  # as `list`, for one round trip

        All who do so at a time share one view: one for the runs of a process, or of a host.
        Whoever lists out of it must be on the same keyspace: see `keyspace_names`.

        Raises:
            TooManyEntriesError: there is more in the keyspace than a view keeps.
            IncompleteListingError: a first look was not to be had in time.
        """

        def make() -> LiveView:
            picture = Picture()
            feed = self.feed(picture) or LookingFeed.at_listings(picture, self.list)
            return LiveView(feed, picture, self.list, self.keyspace_names)

        return shared_view(self, make)

    def feed(self, picture: Picture) -> Feed | None:
        """
        What keeps `picture` like this store, in a way of its own.

        Returns:
            None where there is no other way than to list: twice a second while somebody
            waits for changes. Updates that leave the description as it is are then not told.
        """
        return None

    def keyspace_names(self) -> frozenset[Hashable]:
        """
        Tell this keyspace from every other one. Does no I/O and never fails.

        A view of one agent's notes must not be shown to another agent, so that a run, and
        `jsmemory.layers.live`, take a view only from a store that has a name in common with
        their own.

        Returns:
            What the keyspace goes by: two stores have a name in common only where both have the
            same notes. By itself a store has nothing in common with any other object.
        """
        return frozenset({("store", id(self))})
