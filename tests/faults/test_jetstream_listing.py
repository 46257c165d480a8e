"""Faults 14 to 20 on JetStream: a listing is complete, cheap, in time, and leaves nothing behind."""

import asyncio
import contextlib
import json
import time

import anyio
import pytest
from nats.aio.client import Client

from jsmemory.backends.jetstream import JetStreamStore
from jsmemory.entries import Item
from jsmemory.errors import BackendUnavailableError, IncompleteListingError
from jsmemory.scope import Scope
from jsmemory.testing.lossy import LossyConnection
from jsmemory.testing.servers import NatsServer, make_bucket, plant

_KEYS = 40
_LISTINGS = 300


async def consumers_of(nc: Client, bucket: str) -> list[str]:
    answer = json.loads((await nc.request(f"$JS.API.CONSUMER.NAMES.KV_{bucket}", b"")).data)
    return list(answer["consumers"] or [])


async def list_while_rewriting(nc: Client, bucket: str, listings: int) -> list[set[str]]:
    """List again and again while eight writers replace the listed values without a pause."""
    lister = await JetStreamStore.bind(nc, bucket, "p")
    writer = await JetStreamStore.bind(nc, bucket, "p")
    expected = {f"k{number}" for number in range(_KEYS)}
    scope = Scope()
    for key in sorted(expected):
        await writer.create(key, "d", "c", scope=scope)
    done = False

    async def rewrite(worker: int) -> None:
        turn = 0
        while not done:
            for number in range(worker, _KEYS, 8):
                await writer.update(f"k{number}", "d", f"{turn}", scope=scope)
            turn += 1

    writers = [asyncio.create_task(rewrite(worker)) for worker in range(8)]
    try:
        short = []
        for number in range(listings):
            new = f"new{number}"
            await writer.create(new, "d", "c", scope=None)
            expected.add(new)
            listed = [item.key for item in await lister.list()]
            assert listed == sorted(set(listed))
            if missing := expected - set(listed):
                short.append(missing)
            if number % 20 == 19:
                for key in sorted(key for key in expected if key.startswith("new")):
                    assert await writer.delete(key, scope=None)
                    expected.discard(key)
        return short
    finally:
        done = True
        await asyncio.gather(*writers)


async def test_a_listing_taken_while_others_rewrite_is_complete_every_time(nc: Client, bucket: str) -> None:
    """Fault 14: an agent that does not see its note writes it anew, or believes it forgotten."""
    assert await list_while_rewriting(nc, bucket, _LISTINGS) == []
    assert await consumers_of(nc, bucket) == []


async def test_a_listing_of_a_replicated_bucket_is_complete_every_time(
    cluster_nc: Client, replicated_bucket: str
) -> None:
    """The consumer may live on a replica that lags behind the write that was acknowledged."""
    assert await list_while_rewriting(cluster_nc, replicated_bucket, _LISTINGS) == []
    assert await consumers_of(cluster_nc, replicated_bucket) == []


async def test_a_listing_moves_no_bodies(nc: Client, bucket: str) -> None:
    """Fault 15: the index at the start of a run must not cost 67 MB."""
    store = await JetStreamStore.bind(nc, bucket, "p")
    body = "x" * 65_536
    for start in range(0, 1024, 32):
        await asyncio.gather(
            *(
                store.create(f"k{number}", f"what {number} is about", body, scope=None)
                for number in range(start, start + 32)
            )
        )
    before = nc.stats["in_bytes"]
    items = await store.list()
    # The client counts bodies only, headers go by it: the bodies are what must not come.
    assert nc.stats["in_bytes"] - before < 64 * 1024
    assert len(items) == 1024
    assert items[0] == Item("k0", "what 0 is about")


async def test_descriptions_of_values_that_another_program_wrote_are_listed(nc: Client, bucket: str) -> None:
    """Its values have no header of ours; their descriptions are read out of the bodies."""
    store = await JetStreamStore.bind(nc, bucket, "p")
    await store.create("ours", "50 % of it, é", "c", scope=None)
    await nc.request(f"$KV.{bucket}.p.theirs", b"---\ndescription: by hand\n---\n\nbody")
    await nc.request(f"$KV.{bucket}.p.bare", b"no header at all")
    assert await store.list() == (Item("bare", ""), Item("ours", "50 % of it, é"), Item("theirs", "by hand"))


async def test_what_has_no_legal_key_is_invisible(nc: Client, bucket: str) -> None:
    """Fault 17: a key that is listed but cannot be read sends a model in circles."""
    store = await JetStreamStore.bind(nc, bucket, "p")
    for name in ("bad/key", "sub~key"):
        await nc.request(f"$KV.{bucket}.p.{name}", b"x")
    await nc.request(f"$KV.{bucket}.p", b"x")
    assert await store.list() == ()


async def test_a_prefix_never_sees_another(nc: Client, bucket: str) -> None:
    """Fault 18: `team` must not list the notes of `team-two`, nor of a token below it."""
    team = await JetStreamStore.bind(nc, bucket, "team")
    other = await JetStreamStore.bind(nc, bucket, "team-two")
    flat = await JetStreamStore.bind(nc, bucket)
    await team.create("mine", "d", "c", scope=None)
    await other.create("theirs", "d", "c", scope=None)
    assert [item.key for item in await team.list()] == ["mine"]
    assert [item.key for item in await other.list()] == ["theirs"]
    assert [item.key for item in await flat.list()] == ["team-two.theirs", "team.mine"]


async def test_a_store_with_nothing_but_tombstones_lists_nothing_at_once(nc: Client, bucket: str) -> None:
    """Fault 19."""
    store = await JetStreamStore.bind(nc, bucket, "p")
    assert await store.list() == ()
    for number in range(10):
        await store.create(f"k{number}", "d", "c", scope=None)
        await store.delete(f"k{number}", scope=None)
    assert await asyncio.wait_for(store.list(), 10) == ()


async def test_listing_still_works_after_an_operator_removed_the_newest_marker(nc: Client, bucket: str) -> None:
    """A compaction takes the message that the leader had named as the last."""
    store = await JetStreamStore.bind(nc, bucket, "p")
    await store.create("stays", "d", "c", scope=None)
    await store.create("goes", "d", "c", scope=None)
    await store.delete("goes", scope=None)
    purge = json.dumps({"filter": f"$KV.{bucket}.p.goes"}).encode()
    await nc.request(f"$JS.API.STREAM.PURGE.KV_{bucket}", purge)
    assert [item.key for item in await store.list()] == ["stays"]
    await store.create("goes", "d", "anew", scope=None)
    assert [item.key for item in await store.list()] == ["goes", "stays"]


async def test_a_listing_of_a_dead_server_ends_within_its_budget(fresh_server: NatsServer) -> None:
    """Fault 20: the start of a run waits for no dead server."""
    nc = Client()
    await nc.connect(fresh_server.url, error_cb=_silent, max_reconnect_attempts=-1)
    try:
        await make_bucket(nc, "b")
        store = await JetStreamStore.bind(nc, "b", "p", write_budget=1)
        fresh_server.kill()
        began = time.monotonic()
        with pytest.raises((IncompleteListingError, BackendUnavailableError)):
            await store.list()
        assert time.monotonic() - began < 10
    finally:
        with contextlib.suppress(OSError):
            await nc.close()


async def test_a_listing_cancelled_anywhere_leaves_no_consumer(nc: Client, bucket: str) -> None:
    """A bucket allows 1,000 consumers: what cancelled runs leave behind would stop everybody."""
    store = await JetStreamStore.bind(nc, bucket, "p")
    for number in range(200):
        await store.create(f"k{number}", "d", "c", scope=None)
    cancelled = 0
    for turns in [*range(30), *range(30, 600, 12)]:
        task = asyncio.create_task(store.list())
        for _ in range(turns):
            await asyncio.sleep(0)
        task.cancel()
        outcome = (await asyncio.gather(task, return_exceptions=True))[0]
        cancelled += isinstance(outcome, asyncio.CancelledError)
    assert cancelled >= 5
    assert await consumers_of(nc, bucket) == []
    assert len(await store.list()) == 200


async def test_a_listing_in_a_scope_that_is_cancelled_leaves_no_consumer(nc: Client, bucket: str) -> None:
    """A scope of anyio cancels again at every step, the cleaning up included."""
    store = await JetStreamStore.bind(nc, bucket, "p")
    for number in range(200):
        await store.create(f"k{number}", "d", "c", scope=None)

    async def list_within(scope: anyio.CancelScope) -> None:
        with scope:
            await store.list()

    for turns in [*range(30), *range(30, 600, 12)]:
        scope = anyio.CancelScope()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(list_within, scope)
            for _ in range(turns):
                await asyncio.sleep(0)
            scope.cancel()
    assert await consumers_of(nc, bucket) == []
    assert len(await store.list()) == 200


async def test_a_listing_whose_consumer_vanishes_begins_again(nc: Client, bucket: str) -> None:
    lossy = LossyConnection(nc)
    store = await JetStreamStore.bind(lossy, bucket, "p")
    await store.create("k", "d", "c", scope=None)

    async def remove_consumers() -> None:
        for name in await consumers_of(nc, bucket):
            await nc.request(f"$JS.API.CONSUMER.DELETE.KV_{bucket}.{name}", b"")

    lossy.lose("answer", "$JS.API.CONSUMER.CREATE", then=remove_consumers)
    assert [item.key for item in await store.list()] == ["k"]


async def _silent(_: Exception) -> None:
    """The server is dead on purpose."""


@pytest.mark.parametrize("status", ["404", "503", "408", "100"])
async def test_a_foreign_header_that_looks_like_the_servers_hides_nothing(nc: Client, bucket: str, status: str) -> None:
    """Another program's message may carry any header; it is still a value."""
    store = await JetStreamStore.bind(nc, bucket, "p")
    await store.create("ours", "d", "c", scope=None)
    await plant(nc, bucket, {"p.theirs": b"theirs"}, {"Status": status})
    assert [item.key for item in await store.list()] == ["ours", "theirs"]
    assert (await store.read("theirs", scope=None)).content == "theirs"
    assert await store.delete("theirs", scope=None) is True


async def test_a_description_in_a_foreign_header_is_one_line_without_controls(nc: Client, bucket: str) -> None:
    store = await JetStreamStore.bind(nc, bucket, "p")
    await plant(nc, bucket, {"p.k": b"x"}, {"Jsm-Desc": "evil%0aline%1b[31m"})
    (item,) = await store.list()
    assert item.description == "evil line [31m"
