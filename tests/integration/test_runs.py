"""A run that is suspended, killed, and gone on with in another process on another connection."""

import asyncio
import json
import secrets
import subprocess
import sys
from pathlib import Path

import pytest
from nats.aio.client import Client

from jsmemory import FileStore, JetStreamStore, Scope, Store
from jsmemory.testing.servers import NatsCluster, NatsServer, make_bucket, plain_client
from jsmemory.testing.streams import make_stream

AGENT = Path(__file__).with_name("agent.py")
KEYS = ("read", "changed", "gone", "again", "unread")


def agent(store: str, journal: str, act: str, *keys: str) -> dict[str, str]:
    """Run one process up to its suspension, and kill it there; what it was told of each key."""
    with subprocess.Popen(
        [sys.executable, str(AGENT), store, journal, act, *keys], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        codes: dict[str, str] = {}
        for line in process.stdout:
            said = json.loads(line)
            if "suspended" in said:
                process.kill()
                return codes
            codes[said["key"]] = said["code"]
        raise AssertionError(process.stderr.read().decode())


async def go_through_it(store: Store, store_place: str, journal_place: str) -> None:
    for key in KEYS:
        await store.create(key, "d", "one", scope=None)
    read = await asyncio.to_thread(agent, store_place, journal_place, "start", *KEYS[:4])
    assert set(read.values()) == {"ok"}
    scope = Scope()
    await store.read("changed", scope=scope)
    await store.update("changed", "d", "by another", scope=scope)
    await store.delete("gone", scope=None)
    await store.delete("again", scope=None)
    await store.create("again", "d", "anew", scope=None)
    wrote = await asyncio.to_thread(agent, store_place, journal_place, "resume", *KEYS)
    assert wrote == {
        "read": "ok",
        "changed": "stale_entry",
        "gone": "entry_not_found",
        "again": "stale_entry",
        "unread": "stale_entry",
    }
    found = {item.key: (await store.read(item.key, scope=None)).content for item in await store.list()}
    assert found == {"read": "by resume", "changed": "by another", "again": "anew", "unread": "one"}
    # What it wrote itself it may write again, and what it was refused it still may not.
    wrote = await asyncio.to_thread(agent, store_place, journal_place, "resume", "read", "changed")
    assert wrote == {"read": "ok", "changed": "stale_entry"}


@pytest.mark.parametrize("journal", ["file", "jetstream"])
@pytest.mark.parametrize("backend", ["file", "jetstream"])
async def test_a_run_that_was_killed_after_its_suspension_goes_on_with_what_it_had(
    tmp_path: Path, nats_server: NatsServer, nc: Client, bucket: str, backend: str, journal: str
) -> None:
    """It would lose its authority, or be given one over what it never saw."""
    stream = f"runs-{secrets.token_hex(6)}"
    await make_stream(nc, stream)
    places = {
        ("backend", "file"): str(tmp_path / "memory"),
        ("backend", "jetstream"): f"{bucket}@{nats_server.url}",
        ("journal", "file"): str(tmp_path / "runs"),
        ("journal", "jetstream"): f"{stream}@{nats_server.url}",
    }
    store: Store = (
        await FileStore.open(tmp_path / "memory") if backend == "file" else await JetStreamStore.bind(nc, bucket)
    )
    await go_through_it(store, places["backend", backend], places["journal", journal])


async def test_a_run_goes_on_although_the_leaders_die_in_between(fresh_cluster: NatsCluster) -> None:
    """A fleet would lose its suspended runs with the server that led them."""
    urls = ",".join(fresh_cluster.urls)
    async with plain_client(*fresh_cluster.urls) as nc:
        await make_bucket(nc, "team", replicas=3)
        await make_stream(nc, "runs", replicas=3)
        store = await JetStreamStore.bind(nc, "team")
        for key in ("k", "unread"):
            await store.create(key, "d", "one", scope=None)
    places = (f"team@{urls}", f"runs@{urls}")
    assert await asyncio.to_thread(agent, *places, "start", "k") == {"k": "ok"}
    for stream in ("runs", "KV_team"):
        leader = await fresh_cluster.leader_of(stream)
        leader.kill()
        wrote = await asyncio.to_thread(agent, *places, "resume", "k", "unread")
        assert wrote == {"k": "ok", "unread": "stale_entry"}
        await fresh_cluster.restart(leader.name)
