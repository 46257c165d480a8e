"""Fault 11, and a process that is killed between storing and counting: what it leaves is no entry."""

import asyncio
import json
import math
import signal
import sys
import time
from asyncio.subprocess import PIPE, Process
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from nats.aio.client import Client
from nats.js.errors import NotFoundError

from jsmemory.backend import Record
from jsmemory.backends.jetstream import JetStreamStore
from jsmemory.backends.jetstream.deadline import Deadline
from jsmemory.backends.jetstream.messages import NEW
from jsmemory.errors import BackendUnavailableError, EntryExistsError, EntryNotFoundError, StoreFullError
from jsmemory.limits import MAX_ENTRIES
from jsmemory.testing.lossy import LossyConnection
from jsmemory.testing.servers import make_bucket, plant
from tests.faults.conftest import HasLittleTime

OURS = b'---\ndescription: "d"\n---\n\nc'


@dataclass(frozen=True)
class Place:
    """A bucket, on one server or on three, and how to get there."""

    nc: Client
    url: str
    bucket: str

    async def store(self) -> JetStreamStore:
        return await JetStreamStore.bind(self.nc, self.bucket, "p")

    async def lossy_store(self) -> tuple[LossyConnection, JetStreamStore]:
        lossy = LossyConnection(self.nc)
        return lossy, await JetStreamStore.bind(lossy, self.bucket, "p")

    async def plant(self, first: int, end: int) -> None:
        await plant(self.nc, self.bucket, {f"p.k{number}": OURS for number in range(first, end)})

    async def fill_all_but_one(self) -> None:
        """Beside one entry: what comes next has a place, and comes later than who has counted one knows to have one."""
        await self.plant(2, MAX_ENTRIES)
        await plant(self.nc, self.bucket, {"q.k": OURS})

    def leave_without_a_place(self, lossy: LossyConnection, then: Callable[[], Any]) -> None:
        """The next create of ``late`` is stored without a place yet; `then` runs when that is about to be counted."""

        async def fill() -> None:
            await self.fill_all_but_one()
            lossy.lose("request", "$JS.API.CONSUMER.CREATE", then=then)

        lossy.lose("request", f"$KV.{self.bucket}.p.late", then=fill)

    async def raw(self, key: str) -> bytes | None:
        """What the bucket holds under a key, as another program sees it; None for a marker or nothing."""
        try:
            message = await self.nc.jetstream().get_last_msg(f"KV_{self.bucket}", f"$KV.{self.bucket}.p.{key}")
        except NotFoundError:
            return None
        return None if "KV-Operation" in (message.headers or {}) else message.data


@pytest.fixture(params=["one server", "three replicas"])
def place(request: pytest.FixtureRequest) -> Place:
    if request.param == "one server":
        nc, server, bucket = (request.getfixturevalue(each) for each in ("nc", "nats_server", "bucket"))
        return Place(nc, server.url, bucket)
    nc, cluster, bucket = (
        request.getfixturevalue(each) for each in ("cluster_nc", "nats_cluster", "replicated_bucket")
    )
    return Place(nc, cluster.urls[0], bucket)


@asynccontextmanager
async def creators(place: Place, *keys: str) -> AsyncIterator[list[Process]]:
    """Processes that have counted, and wait for the word to create their key and be killed."""
    program = str(Path(__file__).with_name("killed_creator.py"))
    started = [
        await asyncio.create_subprocess_exec(
            sys.executable, program, place.url, place.bucket, "p", key, stdin=PIPE, stdout=PIPE
        )
        for key in keys
    ]
    try:
        for each in started:
            assert each.stdout is not None
            assert await each.stdout.readline() == b"ready\n"
        yield started
    finally:
        for each in started:
            if each.returncode is None:
                each.kill()
                await each.wait()


async def kill_after_storing(processes: list[Process]) -> None:
    for each in processes:
        await each.communicate(b"go\n")
        assert each.returncode == -signal.SIGKILL


async def keys_of(store: JetStreamStore) -> set[str]:
    return {item.key for item in await store.list()}


async def test_a_create_killed_before_it_has_counted_is_no_entry_too_many(place: Place) -> None:
    """
    Two such creates were stored where there was no place left, and every listing had 1,025 entries for good.

    Found by ``jsmemory torture --seed 5`` on a machine with twice its load.
    """
    store = await place.store()
    async with creators(place, "one", "two") as processes:
        await place.plant(2, MAX_ENTRIES)
        await kill_after_storing(processes)
    assert None not in (await place.raw("one"), await place.raw("two"))
    keys = await keys_of(store)
    assert len(keys) == MAX_ENTRIES
    assert not {"one", "two"} & keys
    async with store.live() as view:
        assert await view.count() == MAX_ENTRIES
    for key in ("one", "two"):
        with pytest.raises(EntryNotFoundError):
            await store.read(key, scope=None)
        assert await store.delete(key, scope=None) is False
    with pytest.raises(StoreFullError):
        await store.create("three", "d", "c", scope=None)


async def test_the_place_that_a_killed_create_would_have_had_is_free_for_others(place: Place) -> None:
    """A place that nobody has must not be kept from anybody: a crashed fleet would never get its store full again."""
    store = await place.store()
    async with creators(place, "one", "two", "three") as processes:
        await place.plant(3, MAX_ENTRIES)
        await kill_after_storing(processes)
    await store.delete("k5", scope=None)
    await store.delete("k6", scope=None)
    await store.create("instead", "d", "c", scope=None)
    await store.create("two", "d", "of its own", scope=None)
    assert (await store.read("two", scope=None)).content == "of its own"
    with pytest.raises(StoreFullError):
        await store.create("another", "d", "c", scope=None)
    assert len(await store.list()) == MAX_ENTRIES
    assert (await place.raw("one"), await place.raw("three")) == (None, None)


async def test_a_create_with_a_place_is_an_entry_whoever_is_killed(place: Place) -> None:
    """It is stored; a writer that has not heard of it does not know, and all others see it."""
    store = await place.store()
    async with creators(place, "one") as processes:
        await kill_after_storing(processes)
    assert await keys_of(store) == {"before-one", "one"}
    assert (await store.read("one", scope=None)).content == "nobody was told"


async def test_a_writer_that_is_slow_to_count_loses_its_place_and_is_told_so(place: Place) -> None:
    """It may come back after others have given it up: it must not become an entry then, nor say that it is one."""
    lossy, slow = await place.lossy_store()
    other = await place.store()
    await slow.create("first", "d", "c", scope=None)

    async def others_take_it() -> None:
        assert await place.raw("late") is not None
        await other.create("quick", "d", "c", scope=None)

    place.leave_without_a_place(lossy, others_take_it)
    began = time.monotonic()
    with pytest.raises(StoreFullError):
        await slow.create("late", "d", "c", scope=None)
    assert time.monotonic() - began >= 1, "nobody waited for it"
    keys = await keys_of(other)
    assert len(keys) == MAX_ENTRIES
    assert "quick" in keys
    assert await place.raw("late") is None


async def test_a_confirmation_that_comes_late_does_not_bring_back_what_was_given_up(place: Place) -> None:
    """A network can hold it back for longer than anybody waits; the place is somebody else's by then."""
    lossy, slow = await place.lossy_store()
    other = await place.store()
    await slow.create("first", "d", "c", scope=None)

    async def hold_back_the_confirmation() -> None:
        lossy.lose("request", f"$KV.{place.bucket}.p.late", then=others_take_it)

    async def others_take_it() -> None:
        await other.create("quick", "d", "c", scope=None)

    place.leave_without_a_place(lossy, hold_back_the_confirmation)
    with pytest.raises(StoreFullError):
        await slow.create("late", "d", "c", scope=None)
    confirmation = lossy.lost[-1]
    assert NEW not in confirmation.headers
    await lossy.deliver(confirmation)
    keys = await keys_of(other)
    assert len(keys) == MAX_ENTRIES
    assert "late" not in keys


async def test_a_confirmation_whose_answer_is_lost_is_settled(place: Place) -> None:
    """The entry is there; to refuse it, or to leave it open, would have it written twice."""
    lossy, store = await place.lossy_store()
    await store.create("first", "d", "c", scope=None)
    subject = f"$KV.{place.bucket}.p.late"

    async def lose_the_confirmation() -> None:
        lossy.lose("answer", subject)

    place.leave_without_a_place(lossy, lose_the_confirmation)
    await store.create("late", "d", "c", scope=None)
    assert lossy.sent.count(subject) == 4, "the create and its confirmation are sent twice each"
    assert len(await store.list()) == MAX_ENTRIES
    with pytest.raises(StoreFullError):
        await store.create("one-more", "d", "c", scope=None)


async def test_a_create_waits_for_another_one_of_its_key(place: Place) -> None:
    """Who meets a value without a place yet must neither replace it nor say that an entry is there."""
    lossy, slow = await place.lossy_store()
    other = await place.store()
    await slow.create("first", "d", "c", scope=None)
    tried: list[asyncio.Task[object]] = []

    async def meet() -> None:
        tried.append(asyncio.create_task(other.create("late", "d", "theirs", scope=None)))
        await asyncio.sleep(0.2)
        assert not tried[0].done()

    place.leave_without_a_place(lossy, meet)
    await slow.create("late", "d", "ours", scope=None)
    with pytest.raises(EntryExistsError):
        await tried[0]
    assert (await other.read("late", scope=None)).content == "ours"
    assert len(await other.list()) == MAX_ENTRIES


async def test_a_create_that_is_cancelled_is_not_left_without_a_place(place: Place) -> None:
    """A host cancels a turn at any point; what is stored by then is taken back or becomes an entry."""
    lossy, store = await place.lossy_store()
    await store.create("first", "d", "c", scope=None)

    async def fill() -> None:
        await place.plant(2, MAX_ENTRIES + 1)
        lossy.lose("request", "$JS.API.CONSUMER.CREATE", then=cancel)

    async def cancel() -> None:
        creating.cancel()

    lossy.lose("request", f"$KV.{place.bucket}.p.late", then=fill)
    creating = asyncio.create_task(store.create("late", "d", "c", scope=None))
    with pytest.raises(asyncio.CancelledError):
        await creating
    assert await place.raw("late") is None
    assert len(await store.list()) == MAX_ENTRIES


async def test_an_entry_stays_one_in_a_bucket_that_was_put_together_from_others(nc: Client, bucket: str) -> None:
    """There it has another sequence, which says nothing: an operator who moves a fleet must lose no note."""
    source = f"{bucket}s"
    await make_bucket(nc, source)
    await (await JetStreamStore.bind(nc, source, "p")).create("k", "d", "c", scope=None)
    await plant(nc, bucket, {f"q.k{number}": OURS for number in range(MAX_ENTRIES + 10)})

    async def take_from(*sources: object) -> None:
        described = json.loads((await nc.request(f"$JS.API.STREAM.INFO.KV_{bucket}", b"")).data)
        asked = json.dumps(described["config"] | {"sources": sources})
        answer = json.loads((await nc.request(f"$JS.API.STREAM.UPDATE.KV_{bucket}", asked.encode())).data)
        assert "error" not in answer

    moved = {"src": f"$KV.{source}.>", "dest": f"$KV.{bucket}.>"}
    await take_from({"name": f"KV_{source}", "subject_transforms": [moved]})
    place = Place(nc, "", bucket)
    async with asyncio.timeout(20):
        while await place.raw("k") is None:
            await asyncio.sleep(0.05)
    await take_from()
    store = await place.store()
    assert await keys_of(store) == {"k"}
    assert (await store.read("k", scope=None)).content == "c"


async def test_creates_with_little_time_get_the_place_of_a_killed_one_at_last(
    place: Place, has_little_time: HasLittleTime
) -> None:
    """Each gives up before it has waited long enough by itself: a free place would stay free for good."""
    store = await place.store()
    async with creators(place, "one") as processes:
        await place.plant(2, MAX_ENTRIES)
        await place.plant(0, 1)
        await kill_after_storing(processes)
    await store.delete("k0", scope=None)
    has_little_time(store, 0.4)
    refused = 0
    while refused < 20:
        try:
            await store.create("instead", "d", "c", scope=None)
        except BackendUnavailableError:
            refused += 1
        else:
            break
    assert 0 < refused < 20
    assert len(await (await place.store()).list()) == MAX_ENTRIES


async def test_a_view_tells_of_what_is_an_entry_and_of_nothing_else(place: Place) -> None:
    """An index that shows a note which then was never written sends an agent after it."""
    lossy, store = await place.lossy_store()
    other = await place.store()
    await store.create("first", "d", "c", scope=None)
    counts: list[int] = []

    async def look() -> None:
        assert await place.raw("late") is not None
        counts.append(await view.count())

    async with other.live() as view:
        changes = view.changes()
        place.leave_without_a_place(lossy, look)
        await store.create("late", "d", "c", scope=None)
        assert counts == [MAX_ENTRIES - 1]
        with pytest.raises(StoreFullError):
            await store.create("one-more", "d", "c", scope=None)
        assert await view.count() == MAX_ENTRIES
        told = [await anext(changes) for _ in range(MAX_ENTRIES - 1)]
    assert {change.kind for change in told} == {"created"}
    late = next(change for change in told if change.key == "late")
    assert late.revision == (await other.read("late", scope=None)).revision
    assert "one-more" not in {change.key for change in told}


async def test_those_who_wait_behind_a_killed_create_do_not_give_up_each_other(place: Place) -> None:
    """Each would begin anew, and stand at the end: two hundred tasks took tens of thousands of requests."""
    lossy, store = await place.lossy_store()
    async with creators(place, "one") as processes:
        await place.plant(2, MAX_ENTRIES)
        await place.plant(0, 1)
        await kill_after_storing(processes)
    await store.delete("k0", scope=None)
    lossy.sent.clear()
    waiting = [store.create(f"new{number}", "d", "c", scope=None) for number in range(60)]
    outcomes = Counter(type(each).__name__ for each in await asyncio.gather(*waiting, return_exceptions=True))
    assert outcomes == {"NoneType": 1, "StoreFullError": 59}
    stored = sum(subject.startswith(f"$KV.{place.bucket}.p.new") for subject in lossy.sent)
    assert stored < 60, "they did not wait before they stored anything"
    assert len(await store.list()) == MAX_ENTRIES


LEFT = {NEW: "0-0", "Jsm-Desc": "d"}


async def test_who_has_made_way_looks_again_before_it_takes_a_place(place: Place) -> None:
    """Another task of its process took one meanwhile: on the old count, one that came before would be passed over."""
    lossy, store = await place.lossy_store()
    counting, confirming = store._backend._counting, store._backend._places._confirming  # type: ignore[attr-defined]
    await place.plant(0, 8)
    sequences = {}
    for key in ("killed", "mine", "theirs", "waiting"):
        await plant(place.nc, place.bucket, {f"p.{key}": OURS}, LEFT)
        message = await place.nc.jetstream().get_last_msg(f"KV_{place.bucket}", f"$KV.{place.bucket}.p.{key}")
        sequences[f"p.{key}"] = int(message.seq or 0)
    confirming._patience._since[("p.killed", sequences["p.killed"])] = -math.inf
    seen: list[int] = []

    async def until_mine_is_an_entry() -> None:
        while "p.mine" not in counting.count.taken:
            await asyncio.sleep(0.01)
        seen.append(len(counting.count.taken))

    lossy.lose("answer", f"$KV.{place.bucket}.p.killed", then=until_mine_is_an_entry)
    record = Record(OURS, "d")
    await asyncio.gather(
        *(
            confirming.confirm_or_take_back(name, sequences[name], record, 10, Deadline(10))
            for name in ("p.mine", "p.waiting")
        )
    )
    assert seen == [9]
    assert await place.raw("theirs") is None, "it came before, and was passed over"
    assert await keys_of(store) == {*(f"k{number}" for number in range(8)), "mine", "waiting"}


async def test_what_went_without_a_trace_keeps_no_place(place: Place) -> None:
    """A marker expires, or is compacted: a listing of changes does not tell, and every create would wait for nobody."""
    store = await place.store()
    await place.plant(1, MAX_ENTRIES)
    await plant(place.nc, place.bucket, {"p.left": OURS}, LEFT)
    await place.plant(1, 2)
    await store._backend._counting.all(Deadline(10))  # type: ignore[attr-defined]
    purge = json.dumps({"filter": f"$KV.{place.bucket}.p.left"}).encode()
    answer = json.loads((await place.nc.request(f"$JS.API.STREAM.PURGE.KV_{place.bucket}", purge)).data)
    assert answer["purged"] == 1
    await store.create("instead", "d", "c", scope=None)
    assert len(await store.list()) == MAX_ENTRIES
