"""A view works with what is printed for its worker, in either layout, and for who only reads."""

from contextlib import AsyncExitStack
from typing import Any

import pytest

from jsmemory import Item, WorkerPermissions
from jsmemory.testing.mirroring import mirrored
from jsmemory.testing.servers import embedded_cluster, make_bucket

FLAT = WorkerPermissions(bucket="team", prefix="alice")
ISOLATED = WorkerPermissions(bucket="team", prefix="alice", isolated=True)
FLAT_READER = WorkerPermissions(bucket="team", prefix="alice", read_only=True)
ISOLATED_READER = WorkerPermissions(bucket="team", prefix="alice", read_only=True, isolated=True)


@pytest.mark.parametrize("bare", [False, True], ids=["supervised", "bare"])
@pytest.mark.parametrize(("writer", "reader"), [(FLAT, FLAT_READER), (ISOLATED, ISOLATED_READER)], ids=["flat", "own"])
async def test_a_view_needs_no_more_rights_than_a_listing(
    grounds: Any, writer: WorkerPermissions, reader: WorkerPermissions, bare: bool
) -> None:
    """Who would have to be given more to look on would be given what shows everybody's notes."""
    async with (
        grounds.server(writer, reader) as server,
        grounds.store(server.url, writer, bare=bare) as store,
        grounds.store(server.url, reader, bare=bare) as reading,
    ):
        await store.create("before", "d", "c", scope=None)
        async with AsyncExitStack() as stack:
            views = [await stack.enter_async_context(each.live()) for each in (store, reading)]
            mirrors = [await stack.enter_async_context(mirrored(view)) for view in views]
            for number in range(20):
                await store.create(f"n{number:02}", "d", "c", scope=None)
                for view in views:
                    assert Item(f"n{number:02}", "d") in await view.list()
            async with grounds.operator(server.url, writer) as operator:
                await operator.request("$KV.team.alice.theirs", b"---\ndescription: by hand\n---\n\ntext")
                await operator.request("$KV.team.others.note", b"not theirs to see")
            assert await store.delete("before", scope=None)
            for view, mirror in zip(views, mirrors, strict=True):
                assert Item("theirs", "by hand") in await view.list()
                await mirror.agrees(view, store)
                assert view.trouble is None


async def test_on_a_cluster_a_reader_is_shown_every_acknowledged_write(grounds: Any) -> None:
    """It may not ask the leader as a writer does, and its consumer may live on a replica that lags."""
    async with embedded_cluster(settings=grounds.settings([FLAT, FLAT_READER])) as cluster:
        async with grounds.operator(cluster.urls[0], FLAT) as operator:
            await make_bucket(operator, "team", replicas=3)
        async with (
            grounds.store(cluster.urls[0], FLAT) as store,
            grounds.store(cluster.urls[1], FLAT_READER) as reading,
            grounds.store(cluster.urls[2], FLAT_READER) as elsewhere,
            reading.live() as view,
            elsewhere.live() as other,
        ):
            for number in range(40):
                await store.create(f"n{number:02}", "d", "c", scope=None)
                for each in (view, other):
                    assert len(await each.list()) == number + 1
