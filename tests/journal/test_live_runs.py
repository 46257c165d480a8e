"""Runs that list out of a view: one for all of them, at the cost of one question each time."""

import asyncio

from nats.aio.client import Client

from jsmemory.backends.in_process import InProcessStore
from jsmemory.backends.jetstream import JetStreamStore
from jsmemory.journal.journal import Journal
from jsmemory.running import Run
from jsmemory.testing.lossy import LossyConnection


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
