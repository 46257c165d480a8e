"""The view above any feed: what it keeps, what it tells, and how it is shared and left."""

import asyncio
import gc

import pytest

from jsmemory import AccessDeniedError, BackendUnavailableError, InProcessStore, Item, Store, TooManyEntriesError
from jsmemory.layers.live import LiveStore
from jsmemory.layers.read_only import ReadOnlyStore
from jsmemory.layers.retry import RetryingStore
from jsmemory.layers.wrapping import WrappingStore
from jsmemory.live import Change, Changes, Known, Picture, view
from jsmemory.live import picture as picture_of_a_store


def known(key: str, revision: str = "1", description: str = "d") -> Known:
    return Known(Item(key, description), revision)


async def told(changes: Changes) -> list[Change]:
    """What waits to be told."""
    found = []
    while changes._told:
        found.append(await anext(changes))
    return found


# -- The picture, and its changes -----------------------------------------------------------


async def test_what_waits_for_a_reader_is_bounded_by_what_there_is() -> None:
    """A reader that hangs, in a process that runs for a year, must not fill its memory."""
    picture = Picture()
    picture.replace(known(f"k{number}") for number in range(10))
    changes = Changes(picture, initial=False)
    for turn in range(1000):
        picture.put(f"passing-{turn}", known(f"passing-{turn}"))
        picture.put(f"k{turn % 10}", known(f"k{turn % 10}", str(turn)))
        picture.put(f"passing-{turn}", None)
    assert len(changes._told) == 10
    assert {(each.kind, each.revision) for each in await told(changes)} == {
        ("updated", str(turn)) for turn in range(990, 1000)
    }


async def test_what_is_again_as_the_reader_knows_it_is_not_told() -> None:
    """A feed that begins anew would else tell everything once more."""
    picture = Picture()
    picture.replace([known("a"), known("b")])
    changes = Changes(picture, initial=False)
    picture.put("a", None)
    picture.put("a", known("a"))
    picture.replace([known("b"), known("a")])
    assert await told(changes) == []
    picture.replace([known("b", "2")])
    assert await told(changes) == [Change("deleted", "a", "d"), Change("updated", "b", "d", "2")]


async def test_what_was_present_and_went_before_it_was_told_is_nothing() -> None:
    """Told as a delete it would puzzle who has never heard of the key; and what comes then is new."""
    picture = Picture()
    picture.replace([known("a"), known("b")])
    changes = Changes(picture, initial=True)
    picture.put("a", None)
    assert await told(changes) == [Change("present", "b", "d", "1")]
    picture.put("a", known("a", "2"))
    assert await told(changes) == [Change("created", "a", "d", "2")]


async def test_changes_that_nobody_holds_cost_nothing() -> None:
    """A loop that is left by a break never says so."""
    picture = Picture()
    changes = Changes(picture, initial=False)
    assert picture.is_watched
    del changes
    gc.collect()
    assert not picture.is_watched


async def test_a_picture_takes_no_more_than_it_can_keep(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is one too many must not push anything out, nor be taken for a delete later."""
    monkeypatch.setattr(picture_of_a_store, "MAX_KNOWN", 3)
    picture = Picture()
    picture.replace(known(key) for key in "abc")
    changes = Changes(picture, initial=False)
    with pytest.raises(TooManyEntriesError):
        picture.put("d", known("d"))
    with pytest.raises(TooManyEntriesError):
        picture.replace(known(key) for key in "abcd")
    picture.put("a", known("a", "2"))
    assert [item.key for item in picture.items()] == ["a", "b", "c"]
    assert [change.key for change in await told(changes)] == ["a"]


@pytest.mark.parametrize("layers", [0, 1], ids=["with a feed", "without"])
async def test_more_than_a_view_keeps_is_listed_all_the_same(monkeypatch: pytest.MonkeyPatch, layers: int) -> None:
    """Neither an error nor a part of it: what the view does not keep, the store lists."""
    monkeypatch.setattr(picture_of_a_store, "MAX_KNOWN", 3)
    inner = InProcessStore()
    store: Store = Failing(inner) if layers else inner
    async with store.live() as opened:
        for key in "abcd":
            await inner.create(key, "d", "c", scope=None)
            assert await opened.list() == await inner.list()
        assert isinstance(opened.trouble, TooManyEntriesError)
        await inner.delete("a", scope=None)
        await inner.delete("b", scope=None)
        assert await opened.list() == await inner.list()
        assert opened.trouble is None


# -- A store without a feed -----------------------------------------------------------------


class Failing(WrappingStore):
    """A store that is only listed, and fails to be when it is told to."""

    failure: Exception | None = None
    listings = 0

    async def list(self) -> tuple[Item, ...]:
        self.listings += 1
        await asyncio.sleep(0)
        if self.failure is not None:
            raise self.failure
        return await self.inner.list()


async def test_a_store_that_cannot_be_listed_is_no_view(monkeypatch: pytest.MonkeyPatch) -> None:
    """At once where waiting is vain, and else in time: with the error that a listing has."""
    monkeypatch.setattr(view, "BEGIN_S", 1.0)
    store = Failing(InProcessStore())
    for failure in (AccessDeniedError("list"), BackendUnavailableError("Nobody is there."), RuntimeError("a defect")):
        store.failure = failure
        with pytest.raises(type(failure)):
            async with store.live():
                pass
    store.failure = None
    async with store.live() as opened:
        assert await opened.list() == ()


async def test_a_store_that_fails_now_and_then_is_followed_all_the_same() -> None:
    """What is told in the end is what differs; and while it cannot be listed the view says so."""
    store = Failing(InProcessStore())
    async with store.live() as opened:
        changes = opened.changes()
        store.failure = BackendUnavailableError("Nobody is there.")
        await store.create("a", "d", "c", scope=None)
        with pytest.raises(BackendUnavailableError):
            await opened.list()
        async with asyncio.timeout(30):
            while opened.trouble is None:
                await asyncio.sleep(0.01)
            store.failure = None
            assert await anext(changes) == Change("created", "a", "d")
            assert opened.trouble is None
        store.failure = AccessDeniedError("list")
        async with asyncio.timeout(30):
            with pytest.raises(AccessDeniedError):
                await anext(changes)
            # Whoever goes on is not told the same trouble again, and misses nothing.
            waiting = asyncio.create_task(anext(changes))
            await asyncio.sleep(0)
            store.failure = None
            await store.delete("a", scope=None)
            assert await waiting == Change("deleted", "a", "d")


async def test_many_who_ask_at_a_time_share_a_listing() -> None:
    """A hundred runs that begin at once would else list a hundred times."""
    store = Failing(InProcessStore())
    async with store.live() as opened:
        store.listings = 0
        await asyncio.gather(*(opened.list() for _ in range(100)))
        assert store.listings <= 2
        await opened.list()
        await opened.list()
        assert 3 <= store.listings <= 4, "an answer may be no older than its question"


# -- Layers ---------------------------------------------------------------------------------


class Hiding(WrappingStore):
    """A layer that lists less."""

    async def list(self) -> tuple[Item, ...]:
        return tuple(item for item in await self.inner.list() if not item.key.startswith("hidden"))


async def test_a_view_through_a_layer_shows_what_the_layer_lists() -> None:
    """What a layer hides would else come to light in a view."""
    inner = InProcessStore()
    await inner.create("hidden-1", "d", "c", scope=None)
    await inner.create("shown", "d", "c", scope=None)
    async with Hiding(inner).live() as opened:
        assert await opened.list() == (Item("shown", "d"),)


@pytest.mark.parametrize("layer", [WrappingStore, ReadOnlyStore, RetryingStore])
async def test_a_layer_that_lists_what_the_store_lists_has_its_feed(layer: type[WrappingStore]) -> None:
    """Else a bucket below it would be listed twice a second."""
    inner = InProcessStore()
    async with layer(inner).live() as opened:
        changes = opened.changes()
        await inner.create("a", "d", "c", scope=None)
        # Told with its revision, which no listing shows.
        assert (await anext(changes)).revision is not None


async def test_a_layer_that_tries_again_lists_again_what_the_view_cannot() -> None:
    """A host that asked for retries gets them here as well."""

    class Flickering(Failing):
        async def list(self) -> tuple[Item, ...]:
            self.failure = BackendUnavailableError("Not this time.") if self.listings % 2 else None
            return await super().list()

    store = RetryingStore(Flickering(InProcessStore()), first_pause=0.0)
    async with store.live() as opened:
        for _ in range(5):
            assert await opened.list() == ()


# -- Sharing --------------------------------------------------------------------------------


async def test_who_fails_to_enter_takes_the_view_from_nobody() -> None:
    """A run that is cancelled while it begins is not alone in its process."""
    store: Store = InProcessStore()
    async with store.live() as opened:
        entering = asyncio.create_task(store.live().__aenter__())
        await asyncio.sleep(0)
        entering.cancel()
        await asyncio.wait([entering])
        await store.create("a", "d", "c", scope=None)
        assert await opened.list() == (Item("a", "d"),)
        assert await opened.count() == 1


def test_each_event_loop_has_a_view_of_its_own() -> None:
    """A store on files may be used from several; what one loop waits for another cannot wake."""
    store = InProcessStore()

    async def look() -> int:
        async with store.live() as opened:
            return id(opened) if await opened.count() == 0 else 0

    assert all(asyncio.run(look()) for _ in range(2))


async def test_a_live_store_lists_out_of_the_view_and_nothing_else() -> None:
    """Reads and writes go to the store, with the scope of the run."""
    inner = Failing(InProcessStore())
    async with inner.live() as opened:
        store = LiveStore(inner, opened)
        await store.create("a", "d", "c", scope=None)
        assert await store.list() == (Item("a", "d"),)
        assert (await store.read("a", scope=None)).content == "c"
        assert store.info() == inner.info()
