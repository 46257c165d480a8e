"""Copies between real stores: whole, compared, never over what was not read, and gone on with after a stop."""

import shutil
from collections.abc import Awaitable, Callable
from pathlib import Path

import anyio
import pytest
from nats.aio.client import Client

from jsmemory import (
    MAX_ENTRIES,
    Entry,
    FileStore,
    InProcessStore,
    JetStreamStore,
    Moved,
    MovingReport,
    Outcome,
    ReadOnlyStoreError,
    Scope,
    Store,
    copy_entries,
)
from jsmemory.backed_store import BackedStore
from jsmemory.backends.in_process import InProcessBackend
from jsmemory.layers.read_only import ReadOnlyStore
from jsmemory.layers.wrapping import WrappingStore
from jsmemory.testing import Fault, FaultyBackend, Schedule, corpora, scripted
from jsmemory.testing.lossy import LossyConnection
from jsmemory.testing.measuring.copying import measure_copy

Open = Callable[[str], Awaitable[Store]]
ROUTES = ("file-file", "file-jetstream", "jetstream-file", "jetstream-jetstream")


@pytest.fixture
def opened(tmp_path: Path, nc: Client, bucket: str) -> Callable[[str, str], Awaitable[Store]]:
    """Opens stores by their backend and a name."""

    async def open_one(backend: str, name: str) -> Store:
        if backend == "file":
            return await FileStore.open(tmp_path / name)
        return await JetStreamStore.bind(nc, bucket, name)

    return open_one


async def fill(store: Store, count: int, *, content: str = "text") -> list[str]:
    keys = [f"entry-{number:04}" for number in range(count)]
    for key in keys:
        await store.create(key, f"about {key}", f"{content} of {key}", scope=None)
    return keys


async def everything_in(store: Store) -> dict[str, tuple[str, str]]:
    return {item.key: tuple(await store.read(item.key, scope=None)) for item in await store.list()}  # type: ignore[misc]


async def revisions_in(store: Store) -> dict[str, str]:
    return {item.key: (await store.read(item.key, scope=None)).revision for item in await store.list()}


def faulty(schedule: Schedule) -> tuple[BackedStore, InProcessStore, FaultyBackend]:
    """A store to which faults happen, and the same one without."""
    whole = InProcessStore()
    backend = FaultyBackend(whole._backend, schedule)
    return BackedStore(backend), whole, backend


# -- Whole ----------------------------------------------------------------------------------


@pytest.mark.parametrize("route", ROUTES)
async def test_every_entry_arrives_as_it_was(opened: Callable[[str, str], Awaitable[Store]], route: str) -> None:
    """An operator who moves memory must not lose a byte of it, whatever it is made of."""
    origin, _, target = route.partition("-")
    source, destination = await opened(origin, "a"), await opened(target, "b")
    descriptions = [line for _, line in corpora.DESCRIPTIONS]
    for number, content in enumerate(corpora.CONTENTS):
        await source.create(f"content-{number}", descriptions[number % len(descriptions)], content, scope=None)
    for number, line in enumerate(descriptions):
        await source.create(f"line-{number}", line, "", scope=None)
    for key in corpora.LEGAL_KEYS:
        await source.create(key, "a key", key, scope=None)

    report = await copy_entries(source, destination)

    assert report.counts == {Outcome.CREATED: len(await source.list())}
    assert await everything_in(destination) == await everything_in(source)
    written = await revisions_in(destination)
    again = await copy_entries(source, destination)
    assert again.counts == {Outcome.EQUAL: len(written)}
    assert await revisions_in(destination) == written


@pytest.mark.parametrize("backend", ["file", "jetstream"])
async def test_a_wiped_source_deletes_nothing(
    opened: Callable[[str, str], Awaitable[Store]], tmp_path: Path, backend: str
) -> None:
    """Fault 39: a directory that was wiped by mistake must not empty the store behind it as well."""
    source, destination = await opened("file", "source"), await opened(backend, "destination")
    await fill(source, 5)
    await copy_entries(source, destination)
    before = await everything_in(destination)
    shutil.rmtree(tmp_path / "source")
    report = await copy_entries(await opened("file", "source"), destination, overwrite=True)
    assert report == MovingReport(())
    assert await everything_in(destination) == before


async def test_what_was_deleted_meanwhile_is_told_and_no_failure() -> None:
    """A store is copied while agents use it."""

    class Shrinking(WrappingStore):
        async def read(self, key: str, *, scope: Scope | None) -> Entry:
            if key == "entry-0002":
                await self.inner.delete(key, scope=None)
            return await super().read(key, scope=scope)

    source, destination = InProcessStore(), InProcessStore()
    await fill(source, 4)
    report = await copy_entries(Shrinking(source), destination)
    assert report.counts == {Outcome.CREATED: 3, Outcome.GONE: 1}
    assert report.uncarried == ()


async def test_no_more_is_held_in_memory_than_is_on_its_way() -> None:
    """A worker host with little memory copies a full store; and one at a time would take for ever."""
    held = most = 0

    class Counting(WrappingStore):
        async def read(self, key: str, *, scope: Scope | None) -> Entry:
            nonlocal held, most
            held += 1
            most = max(most, held)
            await anyio.sleep(0.002)
            return await super().read(key, scope=scope)

    class Landing(WrappingStore):
        async def create(self, key: str, description: str, content: str, *, scope: Scope | None) -> None:
            nonlocal held
            await anyio.sleep(0.002)
            held -= 1
            await super().create(key, description, content, scope=scope)

    source, destination = InProcessStore(), InProcessStore()
    await fill(source, 100)
    await copy_entries(Counting(source), Landing(destination), at_once=7)
    assert (held, most) == (0, 7)
    with pytest.raises(ValueError, match="one task"):
        await copy_entries(source, destination, at_once=0)


async def test_progress_is_told_to_its_end() -> None:
    """Whoever watches must see it move, and see it arrive."""
    source, seen = InProcessStore(), list[tuple[int, int]]()
    await fill(source, 5)
    await copy_entries(source, InProcessStore(), on_progress=lambda done, total: seen.append((done, total)))
    assert seen == [(number, 5) for number in range(1, 6)]


# -- Never over what was not read -----------------------------------------------------------


@pytest.mark.parametrize("route", ROUTES)
async def test_another_value_is_left_and_told_unless_it_may_be_replaced(
    opened: Callable[[str, str], Awaitable[Store]], route: str
) -> None:
    """Two fleets that both have a note under one key must not lose the one of the other."""
    origin, _, target = route.partition("-")
    source, destination = await opened(origin, "a"), await opened(target, "b")
    await fill(source, 4)
    await destination.create("entry-0001", "about entry-0001", "theirs", scope=None)
    await destination.create("entry-0002", "another description", "text of entry-0002", scope=None)
    await destination.create("only-theirs", "theirs", "", scope=None)

    kept = await copy_entries(source, destination)
    assert kept.counts == {Outcome.CREATED: 2, Outcome.REFUSED: 2}
    assert [(each.key, each.code) for each in kept.uncarried] == [("entry-0001", "differs"), ("entry-0002", "differs")]
    assert (await destination.read("entry-0001", scope=None)).content == "theirs"

    replaced = await copy_entries(source, destination, overwrite=True)
    assert replaced.counts == {Outcome.REPLACED: 2, Outcome.EQUAL: 2}
    whole = await everything_in(destination)
    assert whole.pop("only-theirs") == ("theirs", "")
    assert whole == await everything_in(source)


async def test_what_was_changed_between_the_read_and_the_write_is_left() -> None:
    """Whoever allowed to overwrite what was there did not allow to overwrite what came later."""

    class Busy(WrappingStore):
        async def update(self, key: str, description: str, content: str, *, scope: Scope | None) -> None:
            theirs = Scope()
            await self.inner.read(key, scope=theirs)
            await self.inner.update(key, "newer", "newer", scope=theirs)
            await super().update(key, description, content, scope=scope)

    source, destination = InProcessStore(), InProcessStore()
    await fill(source, 1)
    await fill(destination, 1, content="old")
    report = await copy_entries(source, Busy(destination), overwrite=True)
    assert [(each.outcome, each.code) for each in report.moved] == [(Outcome.REFUSED, "stale_entry")]
    assert (await destination.read("entry-0000", scope=None)).content == "newer"


async def test_what_was_created_meanwhile_is_compared_and_not_overwritten() -> None:
    """Two operators who start the same copy at once must both end with all of it, and no error."""
    source, destination = InProcessStore(), InProcessStore()
    await fill(source, 50)

    class Slow(WrappingStore):
        async def create(self, key: str, description: str, content: str, *, scope: Scope | None) -> None:
            await anyio.sleep(0)
            await super().create(key, description, content, scope=scope)

    reports: list[MovingReport] = []

    async def copy() -> None:
        reports.append(await copy_entries(source, Slow(destination)))

    async with anyio.create_task_group() as tasks:
        for _ in range(2):
            tasks.start_soon(copy)
    for report in reports:
        assert report.uncarried == ()
    assert sum(report.counts.get(Outcome.CREATED, 0) for report in reports) == 50
    assert await everything_in(destination) == await everything_in(source)


# -- What cannot be carried -----------------------------------------------------------------


async def test_an_entry_of_another_program_is_told_and_keeps_no_other_back(tmp_path: Path) -> None:
    """A value without a description can be read, and no store takes it: its owner has to hear so."""
    source, destination = await FileStore.open(tmp_path), InProcessStore()
    await fill(source, 2)
    (tmp_path / "bare.md").write_text("no header")
    (tmp_path / "long.md").write_text(f"---\ndescription: {'d' * 501}\n---\n\ntext")
    (tmp_path / "huge.md").write_text(f"---\ndescription: d\n---\n\n{'x' * 65_537}")
    report = await copy_entries(source, destination)
    assert [(each.key, each.code) for each in report.uncarried] == [
        ("bare", "invalid_entry"),
        ("huge", "entry_too_large"),
        ("long", "invalid_entry"),
    ]
    assert all(each.reason.endswith(".") for each in report.uncarried)
    assert report.counts == {Outcome.CREATED: 2, Outcome.REFUSED: 3}


async def test_a_full_destination_takes_what_it_can_and_the_rest_is_told() -> None:
    """An operator who merges two stores must see which entries found no place."""
    source, destination = InProcessStore(), InProcessStore()
    await fill(source, 10)
    for number in range(MAX_ENTRIES - 6):
        await destination.create(f"theirs-{number}", "theirs", "", scope=None)
    foreseen = await copy_entries(source, destination, dry_run=True)
    report = await copy_entries(source, destination)
    assert report.counts == foreseen.counts == {Outcome.CREATED: 6, Outcome.REFUSED: 4}
    assert {each.code for each in report.uncarried} == {"store_full"}
    assert len(await destination.list()) == MAX_ENTRIES


async def test_a_destination_for_reading_is_told_at_once() -> None:
    """A thousand entries that are each refused for one reason are one refusal."""
    source = InProcessStore()
    await fill(source, 3)
    with pytest.raises(ReadOnlyStoreError):
        await copy_entries(source, ReadOnlyStore(InProcessStore()))


async def test_a_dry_run_foretells_and_writes_nothing(opened: Callable[[str, str], Awaitable[Store]]) -> None:
    """Whoever looks before a copy must see what comes of it, and find everything as it was."""
    source, destination = await opened("jetstream", "a"), await opened("file", "b")
    await fill(source, 4)
    await destination.create("entry-0001", "about entry-0001", "theirs", scope=None)
    await destination.create("entry-0002", "about entry-0002", "text of entry-0002", scope=None)
    before = await revisions_in(destination)
    for overwrite in (False, True):
        foreseen = await copy_entries(source, destination, overwrite=overwrite, dry_run=True)
        assert foreseen.is_dry_run
        assert await revisions_in(destination) == before
    assert foreseen.counts == {Outcome.CREATED: 2, Outcome.REPLACED: 1, Outcome.EQUAL: 1}
    assert (await copy_entries(source, destination, overwrite=True)).moved == foreseen.moved


# -- Faults ---------------------------------------------------------------------------------


async def test_lost_answers_are_settled_by_reading_back() -> None:
    """A write whose answer was lost has landed: nobody should have to look after it by hand."""
    destination, whole, _ = faulty(scripted(*[Fault.NONE, Fault.LOST_ANSWER] * 20, verbs=("insert", "replace")))
    source = InProcessStore()
    await fill(source, 40)
    await fill(whole, 10, content="old")
    report = await copy_entries(source, destination, overwrite=True)
    assert report.counts == {Outcome.CREATED: 30, Outcome.REPLACED: 10}
    assert await everything_in(whole) == await everything_in(source)


async def test_lost_requests_are_unknown_and_made_up_for_by_the_next_run() -> None:
    """What may not be there must not be reported as carried; and one more run must end it."""
    destination, whole, _ = faulty(scripted(*[Fault.NONE, Fault.LOST_REQUEST] * 3, verbs=("insert",)))
    source = InProcessStore()
    await fill(source, 20)
    report = await copy_entries(source, destination)
    assert report.counts == {Outcome.CREATED: 17, Outcome.UNKNOWN: 3}
    assert {each.code for each in report.uncarried} == {"outcome_unknown"}
    assert {each.key for each in report.uncarried} == set(await everything_in(source)) - set(await everything_in(whole))
    again = await copy_entries(source, destination)
    assert again.counts == {Outcome.CREATED: 3, Outcome.EQUAL: 17}
    assert await everything_in(whole) == await everything_in(source)


async def test_a_moment_without_the_backend_is_waited_out() -> None:
    """A leader that moves in the middle of a copy is no reason to start again."""
    # As often as one call is tried again: whichever call meets them, it gets through.
    schedules = {verb: scripted(*[Fault.UNAVAILABLE] * 3, Fault.DELAY) for verb in ("scan", "load", "insert")}
    destination, whole, backend = faulty(lambda verb: schedules[verb](verb))
    source = InProcessStore()
    await fill(source, 30)
    report = await copy_entries(source, destination)
    assert sum(fault is Fault.UNAVAILABLE for _, fault in backend.calls) == 9
    assert report.uncarried == ()
    assert await everything_in(whole) == await everything_in(source)


async def test_a_backend_that_is_gone_ends_the_copy_and_the_rest_is_told() -> None:
    """Whoever lost the network must not wait for a thousand entries to fail one by one."""
    gone = False

    def schedule(verb: str) -> Fault:
        return Fault.UNAVAILABLE if gone and verb != "scan" else Fault.NONE

    destination, whole, _ = faulty(schedule)
    source = InProcessStore()
    await fill(source, 200)

    def pull_the_plug(done: int, _: int) -> None:
        nonlocal gone
        gone = done >= 20

    report = await copy_entries(source, destination, on_progress=pull_the_plug, at_once=4)
    assert set(report.counts) <= {Outcome.CREATED, Outcome.FAILED, Outcome.UNKNOWN, Outcome.UNTRIED}
    assert report.counts[Outcome.UNTRIED] > 150
    assert len(report.moved) == 200
    gone = False
    assert (await copy_entries(source, destination)).uncarried == ()
    assert await everything_in(whole) == await everything_in(source)


async def test_one_entry_that_cannot_be_read_keeps_none_of_the_others_back() -> None:
    """A bad block under one file must not cost the notes behind it."""

    class Scratched(WrappingStore):
        async def read(self, key: str, *, scope: Scope | None) -> Entry:
            return await (broken if key == "entry-0003" else self.inner).read(key, scope=scope)

    broken = BackedStore(FaultyBackend(InProcessBackend(), lambda verb: Fault.UNAVAILABLE))
    source, destination = InProcessStore(), InProcessStore()
    await fill(source, 30)
    report = await copy_entries(Scratched(source), destination)
    assert report.counts == {Outcome.CREATED: 29, Outcome.FAILED: 1}
    assert [(each.key, each.code) for each in report.uncarried] == [("entry-0003", "backend_unavailable")]


@pytest.mark.parametrize("verb", ["create", "update"])
async def test_what_is_not_stored_as_it_was_sent_is_never_reported_as_carried(verb: str) -> None:
    """A store that says saved and saved something else is found out now, and not when the note is needed."""

    class Damaging(WrappingStore):
        async def create(self, key: str, description: str, content: str, *, scope: Scope | None) -> None:
            await super().create(key, description, content[:-1], scope=scope)

        async def update(self, key: str, description: str, content: str, *, scope: Scope | None) -> None:
            await super().update(key, "something else", content, scope=scope)

    source, destination = InProcessStore(), InProcessStore()
    await fill(source, 2)
    if verb == "update":
        await fill(destination, 2, content="old")
    report = await copy_entries(source, Damaging(destination), overwrite=True)
    assert [(each.outcome, each.code) for each in report.moved] == [(Outcome.UNKNOWN, "not_verified")] * 2


async def test_answers_that_the_network_loses_leave_nothing_open(nc: Client, bucket: str, tmp_path: Path) -> None:
    """The same on a real server: the backend knows its own writes again, and the copy reads them back."""
    source = await FileStore.open(tmp_path / "source")
    await fill(source, 20)
    lossy = LossyConnection(nc)
    destination = await JetStreamStore.bind(lossy, bucket, "b")
    lossy.lose("answer", f"$KV.{bucket}.b.", times=5)
    lossy.lose("request", f"$KV.{bucket}.b.", times=5)
    report = await copy_entries(source, destination)
    assert report.counts == {Outcome.CREATED: 20}
    assert await everything_in(destination) == await everything_in(source)


@pytest.mark.parametrize("backend", ["file", "jetstream"])
async def test_an_interrupted_copy_leaves_whole_entries_and_goes_on(
    opened: Callable[[str, str], Awaitable[Store]], backend: str
) -> None:
    """Ctrl-C in the middle must cost nothing but the time until the same command is run again."""
    source, destination = await opened("file", "a"), await opened(backend, "b")
    await fill(source, 60, content="long " * 2000)
    expected = await everything_in(source)
    with anyio.CancelScope() as scope:

        def interrupt(done: int, _: int) -> None:
            if done == 20:
                scope.cancel()

        await copy_entries(source, destination, on_progress=interrupt)
    assert scope.cancelled_caught
    arrived = await everything_in(destination)
    assert 20 <= len(arrived) < 60
    assert arrived.items() <= expected.items()
    report = await copy_entries(source, destination)
    assert report.counts == {Outcome.EQUAL: len(arrived), Outcome.CREATED: 60 - len(arrived)}
    assert await everything_in(destination) == expected


@pytest.mark.parametrize("fault", [Fault.HANG, Fault.HANG_AFTER])
async def test_a_copy_that_hangs_can_be_ended(fault: Fault) -> None:
    """A server that answers nothing any more must not keep an operator's shell."""
    destination, whole, backend = faulty(scripted(fault, verbs=("insert",)))
    source = InProcessStore()
    await fill(source, 5)
    with anyio.move_on_after(0.3) as scope:
        await copy_entries(source, destination)
    assert scope.cancelled_caught
    assert (await copy_entries(source, destination)).uncarried == ()
    assert await everything_in(whole) == await everything_in(source)
    assert ("insert", fault) in backend.calls


# -- The report, and what it costs ----------------------------------------------------------


def test_a_name_that_is_a_key_already_is_not_told_as_another_one() -> None:
    """A report that is full of what stayed as it was hides what did not."""
    same = [Moved("a", "a", Outcome.CREATED), Moved("a.md", "a", Outcome.CREATED), Moved("a.md", "a.md", Outcome.EQUAL)]
    other = Moved("my note.md", "my-note", Outcome.CREATED)
    assert MovingReport((*same, other, Moved("x.png", "", Outcome.SKIPPED))).renamed == (other,)


async def test_a_copy_is_measured_against_reading_and_writing(tmp_path: Path) -> None:
    """The figure is an operator's to look at; here it is that both sides did the whole work."""
    source = await FileStore.open(tmp_path / "source")
    for number in range(20):
        await source.create(f"k{number}", "what is copied", "x" * 100, scope=None)
    stores: list[Store] = [source]

    async def open_empty(name: str) -> Store:
        stores.append(await FileStore.open(tmp_path / f"{name}-{len(stores)}"))
        return stores[-1]

    measured = await measure_copy(source, open_empty, rounds=2)
    assert measured.ratio == pytest.approx(measured.median_ms / measured.raw_median_ms, rel=0.05)
    assert len(stores) == 5
    contents = [await everything_in(store) for store in stores]
    assert all(content == contents[0] for content in contents)
    assert len(contents[0]) == 20
