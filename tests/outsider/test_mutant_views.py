"""Live views with one fault each. A kit that lets one pass would let it pass in anybody's store."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Hashable, Iterable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import pytest

from jsmemory import Change, Item, LiveView, Scope, Store
from jsmemory.backed_store import BackedStore
from jsmemory.layers.wrapping import WrappingStore
from jsmemory.live import Changes, Feed, Known, LookingFeed, Picture
from jsmemory.live.changes import Kind
from jsmemory.testing import STORE_CASES, run_case
from jsmemory.testing.case import named
from jsmemory.testing.harnesses.in_process import InProcessHarness

MUTANTS: list[tuple[type[InProcessHarness], str]] = []


@pytest.fixture(autouse=True)
def _little_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """A change that is never told is waited for; in this process a second is long."""
    monkeypatch.setattr("jsmemory.testing.cases.live._PATIENCE", 1.0)


def caught_by(*cases: str) -> Callable[[type[WrappingStore]], type[WrappingStore]]:
    """Make a harness whose stores are the mutant around an honest one."""

    def enter(mutant: type[WrappingStore]) -> type[WrappingStore]:
        class Mutated(InProcessHarness):
            async def open(self, *, require_read_before_update: bool = True) -> Store:
                return mutant(await super().open(require_read_before_update=require_read_before_update))

            async def neighbour(self) -> Store:
                return mutant(await super().neighbour())

        Mutated.__name__ = mutant.__name__
        MUTANTS.extend((Mutated, f"live/{case}") for case in cases)
        return mutant

    return enter


class Looking(WrappingStore):
    """What the mutants are made of: a store that is looked at, honestly but for what a mutant changes."""

    def feed(self, picture: Picture) -> Feed | None:
        return LookingFeed(picture, self.look, every=0.01)

    async def look(self) -> Iterable[Known]:
        assert isinstance(self.inner, BackedStore)
        items = await self.inner.list()
        return [Known(it, (await self.inner.read(it.key, scope=None)).revision, self.inner.realm) for it in items]


# -- What a view lists ----------------------------------------------------------------------


@caught_by("a_view_shows_every_write_that_was_acknowledged", "a_view_is_complete_in_a_busy_store")
class AnswersFromMemoryWithoutAsking(WrappingStore):
    def feed(self, picture: Picture) -> Feed | None:
        return _Lazy(picture, self.inner.list)


class _Lazy(Feed):
    def __init__(self, picture: Picture, listing: Callable[[], Awaitable[tuple[Item, ...]]]) -> None:
        self._picture = picture
        self._listing = listing

    async def follow(self) -> None:
        while True:
            self._picture.replace(Known(item) for item in await self._listing())
            await asyncio.sleep(0.05)

    async def catch_up(self) -> bool:
        return True


@caught_by("a_view_lists_what_the_store_lists", "a_view_counts_a_full_store_exactly")
class ShowsOnePage(Looking):
    async def look(self) -> Iterable[Known]:
        return list(await super().look())[:5]


@caught_by("a_view_lists_what_the_store_lists", "a_view_shows_what_others_put_there")
class ForgetsTheDescriptions(Looking):
    async def look(self) -> Iterable[Known]:
        return [Known(Item(each.item.key, ""), each.revision) for each in await super().look()]


@caught_by("a_view_lists_what_the_store_lists", "a_view_shows_every_write_that_was_acknowledged")
class NeverTakesAnythingAway(Looking):
    seen: dict[str, Known]

    async def look(self) -> Iterable[Known]:
        self.seen = {**getattr(self, "seen", {}), **{each.item.key: each for each in await super().look()}}
        return self.seen.values()


@caught_by("a_view_grants_no_authority")
class ReadsForTheRunWhatItShows(Looking):
    shown = Scope()

    async def look(self) -> Iterable[Known]:
        items = await self.inner.list()
        return [Known(item, (await self.inner.read(item.key, scope=self.shown)).revision) for item in items]

    async def update(self, key: str, description: str, content: str, *, scope: Scope | None) -> None:
        await self.inner.update(key, description, content, scope=self.shown)


@caught_by("a_keyspace_that_was_made_anew_is_seen_and_told")
class TakesTheNewKeyspaceForTheOldOne(Looking):
    async def look(self) -> Iterable[Known]:
        return [Known(each.item, each.revision) for each in await super().look()]


# -- What its changes tell ------------------------------------------------------------------


class Altering(WrappingStore):
    """An honest view whose changes go through the mutant's hands."""

    def live(self) -> AbstractAsyncContextManager[LiveView]:
        return self._altered()

    @asynccontextmanager
    async def _altered(self) -> AsyncIterator[LiveView]:
        async with self.inner.live() as view:
            yield _AlteredView(view, self)

    def alter(self, change: Change) -> Change | None:
        return change


class _AlteredView(LiveView):
    def __init__(self, view: LiveView, mutant: Altering) -> None:
        self.list = view.list  # type: ignore[method-assign]
        self.shows = view.shows  # type: ignore[method-assign]
        self._view = view
        self._mutant = mutant

    def changes(self, *, initial: bool = False) -> Changes:
        return _AlteredChanges(self._view.changes(initial=initial), self._mutant)


class _AlteredChanges(Changes):
    def __init__(self, inner: Changes, mutant: Altering) -> None:
        self._inner = inner
        self._mutant = mutant

    async def __anext__(self) -> Change:
        while (change := self._mutant.alter(await anext(self._inner))) is None:
            pass
        return change

    async def aclose(self) -> None:
        await self._inner.aclose()


@caught_by("changes_tell_what_was_created_updated_and_deleted")
class CallsEveryWriteAnUpdate(Altering):
    def alter(self, change: Change) -> Change | None:
        return Change("updated", change.key, change.description, change.revision)


@caught_by("changes_tell_what_was_created_updated_and_deleted", "a_slow_reader_is_told_the_difference")
class TellsNoDeletes(Altering):
    def alter(self, change: Change) -> Change | None:
        return None if change.kind == "deleted" else change


@caught_by("a_change_names_the_revision_or_none")
class NamesAnotherRevision(Altering):
    def alter(self, change: Change) -> Change | None:
        return Change(change.kind, change.key, change.description, f"{change.revision}0")


@caught_by("changes_may_begin_with_what_is_there")
class BeginsWithNothing(Altering):
    def alter(self, change: Change) -> Change | None:
        return None if change.kind == "present" else change


@caught_by("a_slow_reader_is_told_the_difference")
class TellsEveryStep(WrappingStore):
    def live(self) -> AbstractAsyncContextManager[LiveView]:
        return self._queued()

    @asynccontextmanager
    async def _queued(self) -> AsyncIterator[LiveView]:
        async with self.inner.live() as view:
            yield _QueuedView(view)


class _QueuedView(LiveView):
    def __init__(self, view: LiveView) -> None:
        self.list = view.list  # type: ignore[method-assign]
        self.shows = view.shows  # type: ignore[method-assign]
        self._picture = view._picture

    def changes(self, *, initial: bool = False) -> Changes:
        return _Queue(self._picture, initial=initial)


class _Queue(Changes):
    def __init__(self, picture: Picture, *, initial: bool) -> None:
        super().__init__(picture, initial=initial)
        self._steps: asyncio.Queue[Change] = asyncio.Queue()

    def note(self, key: str, before: Known | None, now: Known | None) -> None:
        kind: Kind = "deleted" if now is None else "created" if before is None else "updated"
        self._steps.put_nowait(Change(kind, key, (now or before or Known(Item(key, ""))).item.description))

    async def __anext__(self) -> Change:
        return await self._steps.get()


# -- Who shares it --------------------------------------------------------------------------


@caught_by("a_view_serves_all_who_open_it")
class EndsForAllWhenOneLeaves(WrappingStore):
    view: LiveView | None = None

    def live(self) -> AbstractAsyncContextManager[LiveView]:
        return self._ending()

    @asynccontextmanager
    async def _ending(self) -> AsyncIterator[LiveView]:
        picture = Picture()
        feed = self.inner.feed(picture)
        assert feed is not None
        self.view = self.view or LiveView(feed, picture, self.inner.list, self.keyspace_names)
        await self.view.begin()
        yield self.view
        await self.view.end()


@caught_by("a_view_that_was_left_answers_as_the_store_does")
class ShowsYesterdayWhenItIsOver(WrappingStore):
    def live(self) -> AbstractAsyncContextManager[LiveView]:
        return self._forgetful()

    @asynccontextmanager
    async def _forgetful(self) -> AsyncIterator[LiveView]:
        picture = Picture()
        feed = self.inner.feed(picture)
        assert feed is not None
        view = LiveView(feed, picture, self._yesterday, self.keyspace_names)
        await view.begin()
        yield view
        self._last = picture.items()
        await view.end()

    async def _yesterday(self) -> tuple[Item, ...]:
        return self._last


@caught_by("a_view_of_a_neighbour_is_refused")
class GoesByWhatAllStoresHere(WrappingStore):
    def keyspace_names(self) -> frozenset[Hashable]:
        return frozenset({self.info()})


@caught_by("a_view_of_the_store_itself_is_taken")
class GoesByNothing(WrappingStore):
    def keyspace_names(self) -> frozenset[Hashable]:
        return frozenset()


@pytest.mark.parametrize(("mutant", "case"), MUTANTS, ids=[f"{mutant.__name__}-{case}" for mutant, case in MUTANTS])
async def test_a_broken_view_is_caught(mutant: type[InProcessHarness], case: str) -> None:
    """The case named beside the mutant is the one that notices it; the honest view keeps it, as other tests show."""
    outcome = await run_case(named(STORE_CASES, case), mutant)
    assert outcome.verdict == "broken", outcome


async def test_what_the_mutants_are_made_of_is_honest() -> None:
    """Else a mutant could be caught for what it is made of, and not for its fault."""
    for honest in (Looking, Altering):

        class Harness(InProcessHarness):
            store: type[WrappingStore] = honest

            async def open(self, *, require_read_before_update: bool = True) -> Store:
                return self.store(await super().open(require_read_before_update=require_read_before_update))

        for case in STORE_CASES:
            if case.name.startswith("live/"):
                outcome = await run_case(case, Harness)
                assert outcome.verdict == "kept", (honest, outcome)
