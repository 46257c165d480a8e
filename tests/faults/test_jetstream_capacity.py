"""Faults 9 to 13 on JetStream: the last place, and what is said when there is none."""

import asyncio
import sys
from asyncio.subprocess import PIPE
from collections import Counter
from pathlib import Path

import pytest
from nats.aio.client import Client

from jsmemory.backends.jetstream import JetStreamStore
from jsmemory.errors import EntryExistsError, JsMemoryError, StoreFullError
from jsmemory.limits import MAX_ENTRIES
from jsmemory.scope import Scope
from jsmemory.testing.lossy import LossyConnection
from jsmemory.testing.servers import NatsCluster, NatsServer, plant

_RACERS = 16


async def fill(store: JetStreamStore, entries: int) -> None:
    for start in range(0, entries, 64):
        await asyncio.gather(
            *(store.create(f"k{n}", "d", "c", scope=None) for n in range(start, min(start + 64, entries)))
        )


async def race(url: str, bucket: str, entries_each: int) -> Counter[str]:
    """Sixteen processes, started on one word."""
    racers = [
        await asyncio.create_subprocess_exec(
            sys.executable,
            str(Path(__file__).with_name("racer.py")),
            *(url, bucket, "p", f"racer{number}", str(entries_each)),
            stdin=PIPE,
            stdout=PIPE,
        )
        for number in range(_RACERS)
    ]
    for racer in racers:
        assert racer.stdout is not None
        assert await racer.stdout.readline() == b"ready\n"
    outputs = await asyncio.gather(*(racer.communicate(b"go\n") for racer in racers))
    assert [racer.returncode for racer in racers] == [0] * _RACERS
    return Counter(b"".join(output for output, _ in outputs).decode().split())


async def test_sixteen_processes_racing_into_the_last_place_leave_exactly_a_full_store(
    nc: Client, bucket: str, nats_server: NatsServer
) -> None:
    """Fault 11: N creators at 1,023 all pass."""
    store = await JetStreamStore.bind(nc, bucket, "p")
    await fill(store, MAX_ENTRIES - 1)
    assert await race(nats_server.url, bucket, 2) == {"created": 1, "store_full": 2 * _RACERS - 1}
    assert len(await store.list()) == MAX_ENTRIES


async def test_sixteen_processes_fill_a_replicated_store_exactly(
    cluster_nc: Client, replicated_bucket: str, nats_cluster: NatsCluster
) -> None:
    """On replicas no condition of the server sees what is in flight for other keys; the count still holds."""
    store = await JetStreamStore.bind(cluster_nc, replicated_bucket, "p")
    await fill(store, MAX_ENTRIES - 20)
    outcomes = await race(nats_cluster.urls[0], replicated_bucket, 4)
    assert outcomes == {"created": 20, "store_full": 4 * _RACERS - 20}
    assert len(await store.list()) == MAX_ENTRIES


async def test_a_thousand_creates_at_once_fill_the_store_and_no_more(nc: Client, bucket: str) -> None:
    """All of them were decided on one count, and some before any of them had landed."""
    stores = [await JetStreamStore.bind(nc, bucket, "p") for _ in range(4)]
    await fill(stores[0], 600)

    async def create(number: int) -> str:
        try:
            await stores[number % 4].create(f"more{number}", "d", "c", scope=None)
        except JsMemoryError as error:
            return error.code
        return "created"

    outcomes = Counter(await asyncio.gather(*(create(number) for number in range(500))))
    assert outcomes == {"created": MAX_ENTRIES - 600, "store_full": 500 - (MAX_ENTRIES - 600)}
    assert len(await stores[0].list()) == MAX_ENTRIES


async def test_a_place_freed_by_another_store_is_free_at_once(nc: Client, bucket: str) -> None:
    """Fault 10: "full" long after others deleted."""
    ours = await JetStreamStore.bind(nc, bucket, "p")
    theirs = await JetStreamStore.bind(nc, bucket, "p")
    await fill(ours, MAX_ENTRIES)
    for turn in range(3):
        with pytest.raises(StoreFullError):
            await ours.create("one-more", "d", "c", scope=None)
        await theirs.delete(f"k{turn}", scope=None)
        await ours.create(f"instead{turn}", "d", "c", scope=None)
    assert len(await ours.list()) == MAX_ENTRIES


async def test_exists_is_said_also_where_the_store_is_full(nc: Client, bucket: str) -> None:
    """Fault 12: "full" would hide from the model that its note is already there."""
    store = await JetStreamStore.bind(nc, bucket, "p")
    await fill(store, MAX_ENTRIES)
    with pytest.raises(EntryExistsError):
        await store.create("k5", "d", "c", scope=None)


async def test_an_unguarded_update_of_an_absent_key_passes_no_limit(nc: Client, bucket: str) -> None:
    """Fault 9."""
    store = await JetStreamStore.bind(nc, bucket, "p", require_read_before_update=False)
    await fill(store, MAX_ENTRIES)
    with pytest.raises(StoreFullError):
        await store.update("new", "d", "c", scope=None)
    await store.update("k1", "d", "replaced", scope=None)
    assert (await store.read("k1", scope=None)).content == "replaced"


async def test_other_prefixes_and_foreign_keys_take_no_place(nc: Client, bucket: str) -> None:
    """Fault 17: what this store cannot read, it does not count either."""
    store = await JetStreamStore.bind(nc, bucket, "p")
    other = await JetStreamStore.bind(nc, bucket, "q")
    await fill(other, 300)
    for number in range(50):
        await nc.request(f"$KV.{bucket}.p.bad/{number}", b"x")
    await fill(store, MAX_ENTRIES)
    assert len(await store.list()) == MAX_ENTRIES


async def test_a_full_store_is_still_rewritten_and_deleted_from(nc: Client, bucket: str) -> None:
    store = await JetStreamStore.bind(nc, bucket, "p")
    scope = Scope()
    await fill(store, MAX_ENTRIES)
    await store.read("k7", scope=scope)
    await store.update("k7", "d", "new", scope=scope)
    assert await store.delete("k7", scope=scope)
    assert len(await store.list()) == MAX_ENTRIES - 1


async def test_in_a_busy_bucket_the_creates_that_wait_for_a_count_share_it(
    store: JetStreamStore, lossy: LossyConnection, nc: Client, bucket: str
) -> None:
    """A fleet that writes a thousand notes a second would list its store once for each note that is new."""
    await store.create("first", "d", "c", scope=None)
    for _ in range(101):
        await plant(nc, bucket, {f"others.k{number}": b"busy" for number in range(10)})
    # Its answer shows how far the bucket has come meanwhile.
    await store.create("second", "d", "c", scope=None)
    lossy.sent.clear()
    await asyncio.gather(*(store.create(f"k{number}", "d", "c", scope=None) for number in range(20)))
    assert sum(".CONSUMER.CREATE." in subject for subject in lossy.sent) == 1
    assert sum(subject.startswith(f"$KV.{bucket}.p.k") for subject in lossy.sent) == 20


async def test_what_this_process_updates_and_deletes_asks_for_no_count(
    store: JetStreamStore, lossy: LossyConnection
) -> None:
    """A worker that keeps its notes up to date would list its store again and again, for each new one."""
    scope = Scope()
    await store.create("k", "d", "c", scope=scope)
    for number in range(400):
        await store.update("k", "d", str(number), scope=scope)
        await store.create("passing", "d", "c", scope=scope)
        await store.delete("passing", scope=scope)
        if number == 0:
            lossy.sent.clear()
    assert sum(".CONSUMER.CREATE." in subject for subject in lossy.sent) == 0


async def test_what_was_counted_is_not_taken_off_once_more(store: JetStreamStore, nc: Client, bucket: str) -> None:
    """Fault 11: a count that is too low lets creates pass that find no place."""
    scope = Scope()
    await store.create("k", "d", "c", scope=scope)
    for number in range(300):
        await store.update("k", "d", str(number), scope=scope)
    await store.list()
    await plant(nc, bucket, {f"p.k{number}": b"---\ndescription: d\n---\n" for number in range(MAX_ENTRIES - 1)})
    with pytest.raises(StoreFullError):
        await store.create("one-more", "d", "c", scope=scope)
    assert len(await store.list()) == MAX_ENTRIES


async def test_in_a_busy_bucket_a_note_now_and_then_is_stored_once(
    store: JetStreamStore, lossy: LossyConnection, nc: Client, bucket: str
) -> None:
    """Others write more between two notes than there are places: each would be stored, counted and stored again."""
    for number in range(6):
        if number == 2:
            lossy.sent.clear()
        for _ in range(110):
            await plant(nc, bucket, {f"others.k{number}": b"busy" for number in range(10)})
        await store.create(f"k{number}", "d", "c", scope=None)
    assert sum(".CONSUMER.CREATE." in subject for subject in lossy.sent) == 0
    assert [lossy.sent.count(f"$KV.{bucket}.p.k{number}") for number in range(2, 6)] == [1] * 4
    assert len(await store.list()) == 6
