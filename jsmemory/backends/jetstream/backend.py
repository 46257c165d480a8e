"""The driver over one prefix of one JetStream key-value bucket."""

from collections.abc import Sequence
from typing import Final

import anyio

from jsmemory import frontmatter
from jsmemory.backend import Backend, Keyspace, Record, Stored
from jsmemory.backends.jetstream.binding import Binding, Bound
from jsmemory.backends.jetstream.capacity import Places
from jsmemory.backends.jetstream.committing import Committing, Landed
from jsmemory.backends.jetstream.deadline import Deadline
from jsmemory.backends.jetstream.listing import Listings
from jsmemory.backends.jetstream.marks import Marks
from jsmemory.backends.jetstream.reading import Reading
from jsmemory.backends.jetstream.wire import Wire
from jsmemory.entries import Item
from jsmemory.errors import (
    BackendError,
    BackendUnavailableError,
    BucketNotFoundError,
    EntryExistsError,
    OutcomeUnknownError,
    StaleEntryError,
)
from jsmemory.keys import Prefix

_BODIES_AT_ONCE: Final = 32
# Values of other programs whose body a listing has to fetch, side by side.


class JetStreamBackend(Backend):
    """
    Bytes in a bucket. Made by `JetStreamBackend.bind`.

    A revision is the stream sequence. Every write is conditional on the sequence that it
    replaces, and its outcome is found out within `write_budget` seconds.
    """

    def __init__(
        self, wire: Wire, bucket: str, prefix: Prefix, binding: Binding, bound: Bound, *, preflight: bool, budget: float
    ) -> None:
        self._wire = wire
        self._bucket = bucket
        self._prefix = prefix
        self.binding = binding
        self._asks_leader = preflight
        self.budget = budget
        self._furnish(bound)

    @classmethod
    async def bind(
        cls, wire: Wire, bucket: str, prefix: str, *, preflight: bool, bind_timeout: float, budget: float
    ) -> "JetStreamBackend":
        """
        Bind to a bucket that exists.

        Args:
            wire: The connection.
            bucket: Its name, without ``KV_``.
            prefix: One token, or ``""`` for the whole bucket.
            preflight: Whether to examine the bucket, now and while it is in use.
            bind_timeout: Seconds for finding and examining it.
            budget: Seconds for a write, a read or a listing, whatever happens on the way.

        Raises:
            BucketNotFoundError, BucketUnfitError, BackendUnavailableError, AccessDeniedError
        """
        binding = Binding(wire, bucket, preflight=preflight)
        bound = await binding.bind(Deadline(bind_timeout))
        return cls(wire, bucket, Prefix(prefix), binding, bound, preflight=preflight, budget=budget)

    def _furnish(self, bound: Bound) -> None:
        """Set up everything that belongs to one incarnation of the bucket."""
        self._bound = bound
        self._marks = Marks()
        self._listings = Listings(self._wire, self._bucket, self._prefix.token)
        self._reading = Reading(
            self._wire,
            self._bucket,
            self._marks,
            asks_leader=self._asks_leader,
            is_replicated=bound.is_replicated,
            allows_direct=bound.allows_direct,
        )
        self._committing = Committing(self._wire, self._bucket, self._marks, self._reading, bound.value_cap)
        self._places = Places(
            self._listings, self._committing, self._marks, self._prefix, is_replicated=bound.is_replicated
        )
        realm = f"jetstream:{self._bucket}:{self._prefix.token}:{bound.incarnation}"
        self._keyspace = Keyspace("jetstream", self._bucket, realm)

    def describe(self) -> Keyspace:
        return self._keyspace

    async def scan(self) -> Sequence[Item]:
        async with self._operation() as deadline:
            known_before = self._marks.latest
            listing = await self._listings.take(deadline)
            items: list[Item] = []
            taken: set[str] = set()
            foreign: list[tuple[str, str]] = []
            for name, row in listing.rows.items():
                if not row.is_value or (key := self._prefix.strip(name)) is None:
                    continue
                taken.add(name)
                if row.description is None:
                    foreign.append((name, key))
                else:
                    items.append(Item(key, row.description))
            self._places.learn(taken, listing.last, known_before)
            return items + await self._describe_foreign(foreign, deadline)

    async def load(self, key: str) -> Stored | None:
        async with self._operation() as deadline:
            message = await self._reading.newest(self._prefix.join(key), deadline)
            if message is None or message.value is None:
                return None
            return Stored(message.value, str(message.sequence))

    async def insert(self, key: str, record: Record, *, capacity: int) -> str:
        async with self._operation(key) as deadline:
            return str(await self._places.insert(self._prefix.join(key), record, capacity=capacity, deadline=deadline))

    async def replace(self, key: str, record: Record, *, expected: str) -> str:
        realm = self._keyspace.realm
        async with self._operation(key) as deadline:
            if realm != self._keyspace.realm or not expected.isdecimal():
                # The bucket was made anew: the sequence is one of the old bucket.
                raise StaleEntryError(key, "changed")
            outcome = await self._committing.put(
                self._prefix.join(key), record, expected=int(expected), deadline=deadline
            )
            if isinstance(outcome, Landed):
                return str(outcome.sequence)
            raise StaleEntryError(key, "changed")

    async def remove(self, key: str) -> bool:
        name = self._prefix.join(key)
        async with self._operation(key) as deadline:
            message = await self._reading.newest(name, deadline)
            while message is not None and message.value is not None:
                outcome = await self._committing.mark_deleted(name, expected=message.sequence, deadline=deadline)
                if isinstance(outcome, Landed):
                    return True
                message = outcome.current
            return False

    def _operation(self, key: str = "") -> "_Operation":
        return _Operation(self, key)

    async def examine(self, deadline: Deadline) -> None:
        """Make sure that the bucket is still the one that was bound, and still fit."""
        try:
            bound = await self.binding.examine(deadline)
        except BucketNotFoundError:
            raise BackendUnavailableError("The bucket is gone.", "Ask its operator to make or restore it.") from None
        if bound != self._bound:
            self._furnish(bound)

    async def _describe_foreign(self, foreign: list[tuple[str, str]], deadline: Deadline) -> list[Item]:
        """Descriptions out of the bodies of values that another program wrote; what is gone since is left out."""
        found: list[Item] = []
        some_at_once = anyio.CapacityLimiter(_BODIES_AT_ONCE)

        async def describe(name: str, key: str) -> None:
            async with some_at_once:
                message = await self._reading.newest(name, deadline)
            if message is not None and message.value is not None:
                found.append(Item(key, frontmatter.read_description(message.value)))

        try:
            async with anyio.create_task_group() as tasks:
                for name, key in foreign:
                    tasks.start_soon(describe, name, key)
        except* BackendError as group:
            raise group.exceptions[0] from None
        return found


class _Operation:
    """
    The budget of one verb, over a bucket that is still the one that was bound, and still fit.

    Errors that leave it name the caller's key, not the name in the bucket. A class and not a
    generator: it is on the way of every call, and half as dear.
    """

    __slots__ = ("_backend", "_key")

    def __init__(self, backend: JetStreamBackend, key: str) -> None:
        self._backend = backend
        self._key = key

    async def __aenter__(self) -> Deadline:
        deadline = Deadline(self._backend.budget)
        if self._backend.binding.is_due:
            await self._backend.examine(deadline)
        return deadline

    async def __aexit__(self, _: object, error: BaseException | None, __: object) -> None:
        if error is None:
            return
        if isinstance(error, EntryExistsError):
            raise EntryExistsError(self._key) from None
        if isinstance(error, BackendError):
            self._backend.binding.suspect()
        if isinstance(error, OutcomeUnknownError):
            raise OutcomeUnknownError(self._key) from None
