"""The driver over one prefix of one JetStream key-value bucket."""

import re
import time
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Final, TypeVar

from jsmemory.backend import Backend, Keyspace, Record, Stored
from jsmemory.backends.jetstream.binding import Binding, Bound, MadeAnew
from jsmemory.backends.jetstream.capacity import Places
from jsmemory.backends.jetstream.committing import Committing
from jsmemory.backends.jetstream.counting import Counting
from jsmemory.backends.jetstream.deadline import Deadline
from jsmemory.backends.jetstream.describing import describe
from jsmemory.backends.jetstream.following import Following
from jsmemory.backends.jetstream.inbox import Row
from jsmemory.backends.jetstream.listing import Listings
from jsmemory.backends.jetstream.marks import Marks
from jsmemory.backends.jetstream.reading import Reading
from jsmemory.backends.jetstream.settling import Landed
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
from jsmemory.live import Feed, Picture

_REVISION: Final = re.compile(r"[1-9][0-9]{0,18}")
# A sequence as this driver writes it; a snapshot comes from where others can write.

T = TypeVar("T")


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
        self._binding = binding
        self._asks_leader = preflight
        self._budget = budget
        self._furnish(bound, Marks())

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

    def _furnish(self, bound: Bound, marks: Marks) -> None:
        """Set up everything that depends on what is known of the bucket; `marks` are of this incarnation."""
        self._bound = bound
        self._marks = marks
        make_sure, examined = partial(self._make_sure, bound), partial(self._examined, bound)
        asked = examined if self._asks_leader else None
        self._listings = Listings(
            self._wire, self._bucket, self._prefix.token, is_replicated=bound.is_replicated, examined=asked
        )
        self._reading = Reading(
            self._wire,
            self._bucket,
            self._marks,
            asks_leader=self._asks_leader,
            is_replicated=bound.is_replicated,
            allows_direct=bound.allows_direct,
            doubt=partial(self._doubt, bound),
        )
        self._committing = Committing(
            self._wire,
            self._bucket,
            self._marks,
            self._reading,
            value_cap=bound.value_cap,
            markers_expire=bound.allows_ttl,
            make_sure=partial(self._make_sure_again, bound),
        )
        self._counting = Counting(self._listings, self._prefix, examined)
        self._places = Places(self._counting, self._committing, self._marks, make_sure=make_sure)
        realm = f"jetstream:{self._bucket}:{self._prefix.token}:{bound.incarnation}"
        self._keyspace = Keyspace("jetstream", self._bucket, realm, self._prefix.token)

    def describe(self) -> Keyspace:
        return self._keyspace

    async def scan(self) -> Sequence[Item]:
        return await self._carry_out(self._scan)

    async def load(self, key: str) -> Stored | None:
        async def load(deadline: Deadline) -> Stored | None:
            found = await self._reading.newest(self._prefix.join(key), deadline, confirm=True)
            return Stored(found.value, str(found.sequence)) if found is not None and found.value is not None else None

        return await self._carry_out(load, key)

    async def insert(self, key: str, record: Record, *, capacity: int) -> str:
        async def insert(deadline: Deadline) -> str:
            return str(await self._places.insert(self._prefix.join(key), record, capacity=capacity, deadline=deadline))

        return await self._carry_out(insert, key)

    async def replace(self, key: str, record: Record, *, expected: str) -> str:
        realm, count = self._keyspace.realm, self._counting.count

        async def replace(deadline: Deadline) -> str:
            if not _REVISION.fullmatch(expected):
                raise StaleEntryError(key, "changed")
            name, sequence = self._prefix.join(key), int(expected)
            mark = self._marks.of(name)
            is_known = mark.sequence == sequence and mark.is_value
            is_sure = await self._make_sure(self._bound, mark.at if is_known else 0.0, deadline)
            if not (is_known and is_sure):
                # Seen by another process; or by this one, which may not ask for the bucket. The
                # value itself is asked for, and known by its write.
                found = await self._reading.newest(name, deadline)
                if found is None or found.sequence < sequence:
                    # Less than was seen there: a replica that lags, or a number that is nobody's.
                    found = await self._reading.newest(name, deadline, ask_leader=True)
                if found is None or found.value is None or found.sequence != sequence:
                    raise StaleEntryError(key, "changed")
            if realm != self._keyspace.realm:
                # The sequence is one of a bucket that is no more.
                raise StaleEntryError(key, "changed")
            outcome = await self._committing.put(name, record, expected=sequence, deadline=deadline)
            if isinstance(outcome, Landed):
                count.spare(outcome.sequence)
                return str(outcome.sequence)
            raise StaleEntryError(key, "changed")

        return await self._carry_out(replace, key)

    async def remove(self, key: str) -> bool:
        async def remove(deadline: Deadline) -> bool:
            name, count = self._prefix.join(key), self._counting.count
            message = await self._reading.newest(name, deadline, confirm=True)
            while message is not None and message.value is not None:
                outcome = await self._committing.mark_deleted(name, expected=message.sequence, deadline=deadline)
                if isinstance(outcome, Landed):
                    count.spare(outcome.sequence)
                    return True
                message = outcome.current
            return False

        return await self._carry_out(remove, key)

    def feed(self, picture: Picture) -> Feed:
        return Following(
            picture,
            self._wire,
            self._prefix,
            listings=lambda: self._listings,
            describe=lambda foreign, deadline: describe(self._reading, foreign, deadline),
            examine=self._examine_if_due,
            budget=self._budget,
        )

    async def _carry_out(self, verb: Callable[[Deadline], Awaitable[T]], key: str = "") -> T:
        """
        Run one verb within its budget, over a bucket that is still the one it knows, and still fit.

        Begun anew where the bucket was made anew. Errors that leave it name the caller's key,
        not the name in the bucket.
        """
        deadline = Deadline(self._budget)
        while True:
            asked_at = time.monotonic()
            try:
                await self._examine_if_due(deadline)
                try:
                    answer = await verb(deadline)
                except (EntryExistsError, StaleEntryError):
                    if await self._listings.may_be_outdated(asked_at, deadline):
                        continue
                    raise
                if answer or not await self._listings.may_be_outdated(asked_at, deadline):
                    return answer
            except MadeAnew:
                continue
            except EntryExistsError:
                raise EntryExistsError(key) from None
            except OutcomeUnknownError:
                self._binding.suspect()
                raise OutcomeUnknownError(key) from None
            except BackendError:
                self._binding.suspect()
                raise

    async def _examine_if_due(self, deadline: Deadline) -> None:
        if self._binding.is_due:
            await self._examine(self._bound, deadline)

    async def _make_sure(self, bound: Bound, seen_at: float, deadline: Deadline) -> bool:
        """
        Make sure that a sequence of `bound`, seen at a monotonic time, is one of the bucket as it is.

        Returns:
            False where the credentials may not ask, and it was seen too long ago to go without.

        Raises:
            MadeAnew: it is not.
        """
        if self._binding.is_sure(seen_at):
            if bound.incarnation != self._bound.incarnation:
                raise MadeAnew
            return True
        await self._examine(bound, deadline)
        return self._asks_leader

    async def _make_sure_again(self, bound: Bound, name: str, expected: int, deadline: Deadline) -> None:
        """Before a conditional write is sent again; `expected` is 0 where it follows nothing."""
        if await self._make_sure(bound, 0.0, deadline) or expected == 0:
            return
        # Shows a value of another bucket under the same sequence for what it is.
        await self._reading.newest(name, deadline)

    async def _doubt(self, bound: Bound, deadline: Deadline, *, certain: bool = False) -> None:
        """Something contradicts what is known of the bucket; see `Doubt`."""
        if self._asks_leader:
            await self._examine(bound, deadline)
        elif certain:
            if bound is self._bound:
                self._furnish(await self._binding.bind(deadline), Marks())
            raise MadeAnew

    async def _examine(self, bound: Bound, deadline: Deadline) -> None:
        """
        Examine the bucket.

        Raises:
            MadeAnew: it is another one than `bound`; everything known of that has been forgotten.
        """
        if not self._asks_leader:
            return
        try:
            found = await self._binding.examine(deadline)
        except BucketNotFoundError:
            raise BackendUnavailableError("The bucket is gone.", "Ask its operator to make or restore it.") from None
        if found != self._bound:
            # An operator may also have edited it: then what was seen in it holds.
            is_same = found.incarnation == self._bound.incarnation
            self._furnish(found, self._marks if is_same else Marks())
        if bound.incarnation != self._bound.incarnation:
            raise MadeAnew

    async def _examined(self, bound: Bound, deadline: Deadline) -> Binding:
        """The binding, when `bound` has been examined, if the credentials may; raises as `_examine` does."""
        await self._examine(bound, deadline)
        return self._binding

    async def _scan(self, deadline: Deadline) -> Sequence[Item]:
        counting, begun = self._counting, self._counting.begin()
        listing = await self._listings.take(deadline)
        items: list[Item] = []
        counted: list[tuple[str, Row]] = []
        foreign: dict[str, str] = {}
        for name, row in listing.rows.items():
            if (key := self._prefix.strip(name)) is None:
                continue
            counted.append((name, row))
            if row.is_value and row.description is not None:
                items.append(Item(key, row.description))
            elif row.is_value:
                foreign[name] = key
        counting.learn(counted, listing.last, begun)
        found = await describe(self._reading, {name: listing.rows[name].sequence for name in foreign}, deadline)
        return items + [Item(foreign[name], description) for name, description in found.items()]
