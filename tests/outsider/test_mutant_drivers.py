"""Drivers with one fault each: below the rules of the contract, where only a race or another process shows it."""

import asyncio
from collections.abc import Callable, Sequence

import pytest

from jsmemory import (
    BackendUnavailableError,
    EntryExistsError,
    Item,
    StaleEntryError,
    Store,
    StoreFullError,
)
from jsmemory.backed_store import BackedStore
from jsmemory.backend import Backend, Keyspace, Record, Stored
from jsmemory.backends.in_process import InProcessBackend
from jsmemory.testing import BACKEND_CASES, STORE_CASES, BackendHarness, run_case
from jsmemory.testing.case import named
from jsmemory.testing.harnesses.in_process import InProcessHarness

MUTANTS: list[tuple[type[BackendHarness], str]] = []


class Forwarding(Backend):
    """What the mutants are made of: an honest driver, and one verb that is not."""

    def __init__(self, inner: InProcessBackend) -> None:
        self.inner = inner

    def describe(self) -> Keyspace:
        return self.inner.describe()

    async def scan(self) -> Sequence[Item]:
        return await self.inner.scan()

    async def load(self, key: str) -> Stored | None:
        return await self.inner.load(key)

    async def insert(self, key: str, record: Record, *, capacity: int) -> str:
        return await self.inner.insert(key, record, capacity=capacity)

    async def replace(self, key: str, record: Record, *, expected: str) -> str:
        return await self.inner.replace(key, record, expected=expected)

    async def remove(self, key: str) -> bool:
        return await self.inner.remove(key)


def caught_by(*cases: str) -> Callable[[type[Forwarding]], type[Forwarding]]:
    """Make a harness whose drivers are the mutant, one a process, around one honest keyspace."""

    def enter(mutant: type[Forwarding]) -> type[Forwarding]:
        class Mutated(InProcessHarness):
            async def drive(self) -> Backend:
                return mutant(self._backend)

            async def neighbour(self) -> Store:
                return BackedStore(mutant(InProcessBackend()))

        Mutated.__name__ = mutant.__name__
        MUTANTS.extend((Mutated, case) for case in cases)
        return mutant

    return enter


# -- Conditions that are checked too early, or not at all -----------------------------------


@caught_by(
    "drivers/racing_inserts_of_one_key_have_one_winner",
    "concurrency/of_all_who_create_one_key_one_did",
    "concurrency/of_all_who_create_a_deleted_key_one_did",
)
class LooksThenInserts(Forwarding):
    async def insert(self, key: str, record: Record, *, capacity: int) -> str:
        if await self.load(key) is not None:
            raise EntryExistsError(key)
        await asyncio.sleep(0)
        await self.inner.remove(key)
        return await self.inner.insert(key, record, capacity=capacity)


@caught_by(
    "drivers/racing_replaces_of_one_revision_have_one_winner",
    "concurrency/of_all_who_update_one_revision_one_did",
    "concurrency/ten_increments_by_five_runs_make_fifty",
)
class LooksThenReplaces(Forwarding):
    async def replace(self, key: str, record: Record, *, expected: str) -> str:
        stored = await self.load(key)
        if stored is None or stored.revision != expected:
            raise StaleEntryError(key, "changed")
        await asyncio.sleep(0)
        current = await self.inner.load(key)
        return await self.inner.replace(key, record, expected=expected if current is None else current.revision)


@caught_by("drivers/a_replace_is_of_one_revision_only", "guard/a_change_by_another_run_is_not_overwritten")
class ReplacesAnyRevision(Forwarding):
    async def replace(self, key: str, record: Record, *, expected: str) -> str:
        current = await self.inner.load(key)
        return await self.inner.replace(key, record, expected=expected if current is None else current.revision)


@caught_by("drivers/a_revision_that_was_removed_is_replaced_by_nobody", "guard/a_deletion_by_another_run_is_a_change")
class ReplacesWhatIsNotThere(Forwarding):
    async def replace(self, key: str, record: Record, *, expected: str) -> str:
        if await self.load(key) is None:
            return await self.inner.insert(key, record, capacity=2_000)
        return await self.inner.replace(key, record, expected=expected)


@caught_by("drivers/racing_removes_have_one_winner", "deletion/of_all_who_delete_one_entry_one_did")
class LooksThenRemoves(Forwarding):
    async def remove(self, key: str) -> bool:
        existed = await self.load(key) is not None
        await asyncio.sleep(0)
        await self.inner.remove(key)
        return existed


# -- Capacity -------------------------------------------------------------------------------


@caught_by(
    "drivers/racing_inserts_never_exceed_the_capacity",
    "capacity/of_all_who_race_for_the_last_place_one_gets_it",
    "capacity/racers_fill_the_last_places_and_no_more",
)
class CountsThenInserts(Forwarding):
    async def insert(self, key: str, record: Record, *, capacity: int) -> str:
        count = len(await self.scan())
        await asyncio.sleep(0)
        if await self.load(key) is None and count >= capacity:
            raise StoreFullError(capacity)
        return await self.inner.insert(key, record, capacity=2_000)


@caught_by(
    "drivers/an_insert_keeps_to_the_capacity",
    "capacity/a_place_freed_by_anybody_can_be_used_by_everybody",
    "capacity/deleted_entries_do_not_count",
)
class CountsOnce(Forwarding):
    count: int | None = None

    async def insert(self, key: str, record: Record, *, capacity: int) -> str:
        if await self.load(key) is None:
            self.count = len(await self.scan()) if self.count is None else self.count
            if self.count >= capacity:
                raise StoreFullError(capacity)
            self.count += 1
        return await self.inner.insert(key, record, capacity=2_000)


@caught_by("drivers/an_insert_is_refused_over_a_value", "capacity/a_full_store_still_says_that_an_entry_exists")
class CountsBeforeItLooks(Forwarding):
    async def insert(self, key: str, record: Record, *, capacity: int) -> str:
        if len(await self.scan()) >= capacity:
            raise StoreFullError(capacity)
        return await self.inner.insert(key, record, capacity=capacity)


@caught_by("capacity/a_store_takes_1024_entries_and_not_one_more")
class StopsOneShort(Forwarding):
    async def insert(self, key: str, record: Record, *, capacity: int) -> str:
        return await self.inner.insert(key, record, capacity=capacity - 1)


@caught_by("capacity/an_update_adds_nothing_to_a_full_store", "drivers/a_replace_is_of_one_revision_only")
class ReplacesPastTheCapacity(Forwarding):
    async def load(self, key: str) -> Stored | None:
        return await self.inner.load(key) or (Stored(b"", "none") if len(await self.scan()) >= 1_024 else None)

    async def replace(self, key: str, record: Record, *, expected: str) -> str:
        if await self.inner.load(key) is None:
            return await self.inner.insert(key, record, capacity=2_000)
        return await self.inner.replace(key, record, expected=expected)


# -- Scans and loads ------------------------------------------------------------------------


@caught_by(
    "drivers/a_scan_is_complete_while_values_are_replaced",
    "listing/a_listing_is_complete_while_entries_are_rewritten",
)
class ScansOnlyWhatStandsStill(Forwarding):
    async def scan(self) -> Sequence[Item]:
        before = {item.key: await self.inner.load(item.key) for item in await self.inner.scan()}
        for _ in range(4):
            await asyncio.sleep(0)
        return [item for item in await self.inner.scan() if await self.inner.load(item.key) == before.get(item.key)]


@caught_by("listing/a_listing_is_complete_while_entries_come_and_go")
class ScansAKeyTwice(Forwarding):
    async def scan(self) -> Sequence[Item]:
        items = list(await self.inner.scan())
        return [*items, *(item for item in items if item.key.startswith("passing"))]


@caught_by("sessions/a_store_does_not_read_what_it_has_deleted", "deletion/a_deleted_entry_is_gone")
class LoadsWhatItLoadedBefore(Forwarding):
    def __init__(self, inner: InProcessBackend) -> None:
        super().__init__(inner)
        self.loaded: dict[str, Stored] = {}

    async def load(self, key: str) -> Stored | None:
        stored = await self.inner.load(key)
        if stored is not None:
            self.loaded[key] = stored
        return self.loaded.get(key)

    async def insert(self, key: str, record: Record, *, capacity: int) -> str:
        revision = await self.inner.insert(key, record, capacity=capacity)
        self.loaded[key] = Stored(record.value, revision)
        return revision


@caught_by("sessions/a_store_reads_its_own_writes", "sessions/a_store_never_goes_back_in_time")
class LagsEveryOtherTime(Forwarding):
    def __init__(self, inner: InProcessBackend) -> None:
        super().__init__(inner)
        self.loads = 0
        self.old: dict[str, Stored | None] = {}

    async def load(self, key: str) -> Stored | None:
        self.loads += 1
        stored = await self.inner.load(key)
        if self.loads % 2:
            return self.old.get(key)
        self.old[key] = stored
        return stored


@caught_by("drivers/a_load_shows_what_others_have_replaced", "concurrency/ten_increments_by_five_runs_make_fifty")
class NeverHearsOfOthers(Forwarding):
    def __init__(self, inner: InProcessBackend) -> None:
        super().__init__(inner)
        self.known: dict[str, Stored] = {}

    async def load(self, key: str) -> Stored | None:
        if key not in self.known and (stored := await self.inner.load(key)) is not None:
            self.known[key] = stored
        return self.known.get(key)

    async def replace(self, key: str, record: Record, *, expected: str) -> str:
        revision = await self.inner.replace(key, record, expected=expected)
        self.known[key] = Stored(record.value, revision)
        return revision


# -- Bytes ----------------------------------------------------------------------------------


@caught_by(
    "drivers/a_value_is_moved_as_it_is", "stored_format/a_value_is_a_header_of_one_line_and_the_content_verbatim"
)
class EndsEveryValueWithALine(Forwarding):
    async def insert(self, key: str, record: Record, *, capacity: int) -> str:
        return await self.inner.insert(key, _with_a_line(record), capacity=capacity)

    async def replace(self, key: str, record: Record, *, expected: str) -> str:
        return await self.inner.replace(key, _with_a_line(record), expected=expected)


def _with_a_line(record: Record) -> Record:
    return Record(record.value if record.value.endswith(b"\n") else record.value + b"\n", record.description)


@caught_by(
    "concurrency/a_reader_never_sees_a_mixture",
    "cancellation/a_cancelled_update_leaves_the_old_value_or_the_new",
    "drivers/a_cancelled_verb_leaves_the_old_value_or_the_new",
)
class WritesInTwoSteps(Forwarding):
    async def replace(self, key: str, record: Record, *, expected: str) -> str:
        half = Record(record.value[: len(record.value) // 2], record.description)
        revision = await self.inner.replace(key, half, expected=expected)
        await asyncio.sleep(0)
        return await self.inner.replace(key, record, expected=revision)


@caught_by(
    "cancellation/a_cancelled_create_leaves_the_entry_or_nothing",
    "drivers/a_cancelled_verb_leaves_the_old_value_or_the_new",
)
class ClaimsAKeyBeforeItWrites(Forwarding):
    async def insert(self, key: str, record: Record, *, capacity: int) -> str:
        claim = await self.inner.insert(key, Record(b"", ""), capacity=capacity)
        await asyncio.sleep(0)
        return await self.inner.replace(key, record, expected=claim)


# -- Cancellation ---------------------------------------------------------------------------


@caught_by("cancellation/a_cancelled_call_holds_nobody_up")
class KeepsTheLockOfACancelledCall(Forwarding):
    async def replace(self, key: str, record: Record, *, expected: str) -> str:
        held = self.inner.__dict__.setdefault("held", set())
        for _ in range(50):
            if not held:
                break
            await asyncio.sleep(0)
        else:
            raise BackendUnavailableError("Somebody holds the lock.")
        held.add(key)
        await asyncio.sleep(0)
        revision = await self.inner.replace(key, record, expected=expected)
        held.discard(key)
        return revision


@caught_by("cancellation/a_cancellation_is_never_lost")
class TakesACancellationForAFailure(Forwarding):
    async def load(self, key: str) -> Stored | None:
        try:
            await asyncio.sleep(0)
        except BaseException:
            return await self.inner.load(key)
        return await self.inner.load(key)


# -- The keyspace ---------------------------------------------------------------------------


@caught_by(
    "drivers/a_keyspace_made_anew_is_another_realm",
    "realms/authority_ends_with_the_keyspace",
    "realms/authority_over_a_neighbours_key_is_worth_nothing_here",
)
class KnowsNoRealms(Forwarding):
    def describe(self) -> Keyspace:
        return Keyspace("mutant", "", "one for all")


@caught_by("drivers/the_realm_is_the_keyspaces", "scopes/a_snapshot_carries_the_authority_to_another_process")
class HasARealmOfItsOwn(Forwarding):
    def describe(self) -> Keyspace:
        return Keyspace("mutant", "", f"{id(self)}")


class SharesWithItsNeighbour(InProcessHarness):
    async def neighbour(self) -> Store:
        return await self.open()


class ListsEveryName(InProcessHarness):
    async def plant(self, name: str, value: bytes) -> None:
        await self._backend.insert(name, Record(value, ""), capacity=2_000)


MUTANTS += [
    (SharesWithItsNeighbour, "realms/neighbours_do_not_see_each_other"),
    (ListsEveryName, "foreign/what_is_no_key_is_invisible"),
    (ListsEveryName, "capacity/what_is_no_key_does_not_count"),
]


@pytest.mark.parametrize(("mutant", "case"), MUTANTS, ids=[f"{mutant.__name__}-{case}" for mutant, case in MUTANTS])
async def test_a_broken_driver_is_caught(mutant: type[BackendHarness], case: str) -> None:
    """The case named beside the mutant is the one that notices it; the honest driver keeps it, as other tests show."""
    if case.startswith("drivers/"):
        outcome = await run_case(named(BACKEND_CASES, case), mutant)
    else:
        outcome = await run_case(named(STORE_CASES, case), mutant)
    assert outcome.verdict == "broken", outcome
