"""Runs that list out of a view: one for all of them, at the cost of one question each time."""

import asyncio
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest
from nats.aio.client import Client

from jsmemory.backends.file import FileStore
from jsmemory.backends.in_process import InProcessStore
from jsmemory.backends.jetstream import JetStreamStore
from jsmemory.entries import Item
from jsmemory.errors import InvalidOptionsError, RunNotFoundError
from jsmemory.journal.journal import Journal
from jsmemory.layers.live import LiveStore
from jsmemory.layers.read_only import ReadOnlyStore
from jsmemory.layers.retry import RetryingStore
from jsmemory.layers.wrapping import WrappingStore
from jsmemory.running import Run
from jsmemory.store import Store
from jsmemory.testing.lossy import LossyConnection
from jsmemory.testing.servers import NatsServer, make_bucket, plain_client

Open = Callable[[str], Awaitable[Store]]


@pytest.fixture(params=["file", "jetstream", "jetstream without a preflight"])
async def opens(
    request: pytest.FixtureRequest, tmp_path: Path, nats_server: NatsServer, bucket: str
) -> AsyncIterator[tuple[Open, Open]]:
    """Opens a prefix of one keyspace, as two parts of a program would: on JetStream over two connections if it can."""
    if request.param == "file":
        (tmp_path / "link").symlink_to(tmp_path / "memory")
        yield (
            lambda prefix: FileStore.open(tmp_path / "memory", prefix=prefix),
            lambda prefix: FileStore.open(tmp_path / "link" / prefix),
        )
        return
    preflight = request.param == "jetstream"
    async with plain_client(nats_server.url) as one, plain_client(nats_server.url) as two:
        yield (
            lambda prefix: JetStreamStore.bind(one, bucket, prefix, preflight=preflight),
            lambda prefix: JetStreamStore.bind(two if preflight else one, bucket, prefix, preflight=preflight),
        )


async def test_the_runs_of_a_process_list_out_of_one_view(nc: Client, bucket: str, journal: Journal) -> None:
    """A host with a hundred runs would else list its whole memory at each beginning, and at each memory_list."""
    lossy = LossyConnection(nc)
    store = await JetStreamStore.bind(lossy, bucket, "p")
    async with store.live() as view:
        sent = len(lossy.sent)

        async def work(name: str) -> None:
            async with Run.start(store, journal, name, live=view) as run:
                assert "Nothing" not in await run.index()
                listed = await run.tools.call("memory_list", {})
                assert (listed.code, listed.body["listed"]) == ("ok", True)
                await run.suspend()
            async with Run.resume(store, journal, name, live=view) as run:
                await run.rotate()
                await run.tools.call("memory_list", {})

        await asyncio.gather(*(work(f"run-{number}") for number in range(8)))
        assert lossy.sent[sent:] == [f"$KV.{bucket}.p./"] * (8 * 3)


async def test_a_run_with_a_view_sees_at_once_what_another_one_wrote(journal: Journal) -> None:
    """What one agent has noted is in the list of the next, and in its index; and is no ground to overwrite it."""
    store = InProcessStore()
    note = {"key": "build", "description": "How to build", "content": "make all"}
    async with (
        store.live() as view,
        Run.start(store, journal, "one", live=view) as one,
        Run.start(store, journal, "two", read_only=True, live=view) as reader,
        Run.start(store, journal, "three", live=view) as other,
    ):
        assert (await one.tools.call("memory_write", note)).code == "ok"
        for run in (reader, other):
            assert "How to build" in (await run.tools.call("memory_list", {})).text
            assert "How to build" in await run.index()
        blind = await other.tools.call("memory_write", note | {"overwrite": True})
        assert blind.code == "stale_entry"


async def test_a_run_that_outlives_the_view_goes_on(journal: Journal) -> None:
    """It lists as if it had none: neither an error, nor the notes of before."""
    store = InProcessStore()
    async with store.live() as view:
        entered = Run.start(store, journal, "one", live=view)
        run = await entered.__aenter__()
    await store.create("new", "written since", "text", scope=None)
    assert "written since" in (await run.tools.call("memory_list", {})).text
    await entered.__aexit__(None, None, None)


@pytest.mark.parametrize("others", ["alice", "bob-too", ""])
async def test_a_view_of_another_prefix_is_refused_at_the_start(
    opens: tuple[Open, Open], journal: Journal, others: str
) -> None:
    """One agent's model would be shown another one's keys, which it can then not even read."""
    mine, theirs = await opens[0]("bob"), await opens[1](others)
    remedy = r"^Option 'live' is a view of another keyspace .* Give the view of this store: store\.live\(\)\.$"
    async with theirs.live() as view:
        for store in (mine, ReadOnlyStore(mine), RetryingStore(mine)):
            with pytest.raises(InvalidOptionsError, match=remedy):
                async with Run.start(store, journal, "night", live=view):
                    pass
            with pytest.raises(InvalidOptionsError, match=remedy):
                LiveStore(store, view)
        with pytest.raises(RunNotFoundError):
            await journal.state("night")
        async with Run.start(mine, journal, "night") as run:
            await run.suspend()
        with pytest.raises(InvalidOptionsError, match=remedy):
            async with Run.resume(mine, journal, "night", live=view):
                pass
        async with Run.resume(mine, journal, "night"):
            pass


async def test_a_view_of_the_same_keyspace_is_taken_from_whichever_store(
    opens: tuple[Open, Open], journal: Journal
) -> None:
    """A host may open a store a session, under layers, and keep one view for all of them."""
    one, two = await opens[0]("bob"), await opens[1]("bob")
    await one.create("note", "about the note", "text", scope=None)
    stores = [each for store in (one, two) for each in (store, ReadOnlyStore(store), RetryingStore(store))]
    async with one.live() as view, RetryingStore(two).live() as layered:
        for number, store in enumerate([*stores, LiveStore(two, view)]):
            for seen in (view, layered):
                async with Run.start(store, journal, f"run-{number}-{seen is view}", live=seen) as run:
                    assert "about the note" in await run.index()
                    assert [item.key for item in await LiveStore(run.store, seen).list()] == ["note"]


async def test_a_view_is_taken_also_where_one_store_has_not_noticed_that_the_bucket_was_made_anew(
    nats_server: NatsServer, nc: Client, bucket: str, journal: Journal
) -> None:
    """A host whose runs were all refused from then on would have to be restarted."""
    async with plain_client(nats_server.url) as other:
        seen, store = await JetStreamStore.bind(other, bucket, "p"), await JetStreamStore.bind(nc, bucket, "p")
        async with seen.live() as view:
            await nc.jetstream().delete_key_value(bucket)
            await make_bucket(nc, bucket)
            async with asyncio.timeout(30):
                before = seen.realm
                while seen.realm == before:
                    await seen.create("note", "about", "text", scope=None)
                    await seen.delete("note", scope=None)
            assert store.realm == before
            async with Run.start(store, journal, "night", live=view):
                pass


async def test_a_copy_of_a_directory_is_another_keyspace(tmp_path: Path, journal: Journal) -> None:
    """Whoever begins an agent with the notes of another one copies the token of the directory as well."""
    store = await FileStore.open(tmp_path / "alice")
    await store.create("note", "about", "text", scope=None)
    shutil.copytree(tmp_path / "alice", tmp_path / "bob")
    copy = await FileStore.open(tmp_path / "bob")
    assert (await copy.list(), copy.realm) == (await store.list(), store.realm)
    async with store.live() as view:
        with pytest.raises(InvalidOptionsError):
            async with Run.start(copy, journal, "night", live=view):
                pass


async def test_a_layer_that_hides_notes_takes_no_view_that_shows_them(journal: Journal) -> None:
    """Whoever wrote the layer meant them to be hidden; its own view is as good."""

    class Hiding(WrappingStore):
        async def list(self) -> tuple[Item, ...]:
            return tuple(item for item in await self.inner.list() if not item.key.startswith("secret"))

    store = InProcessStore()
    hiding = Hiding(store)
    async with store.live() as view, hiding.live() as own:
        with pytest.raises(InvalidOptionsError):
            LiveStore(hiding, view)
        async with Run.start(hiding, journal, "night", live=own) as run:
            await store.create("secret", "hidden", "text", scope=None)
            assert await run.store.list() == ()
