"""Fault 16: delete markers go by themselves where the bucket allows it."""

import asyncio
import base64
import json
from typing import Any

import pytest
from nats.aio.client import Client

from jsmemory.backends.jetstream import JetStreamStore, committing
from jsmemory.scope import Scope
from jsmemory.testing.mirroring import LONGEST_S
from jsmemory.testing.servers import make_bucket


async def state_of(nc: Client, bucket: str) -> dict[str, Any]:
    state: dict[str, Any] = json.loads((await nc.request(f"$JS.API.STREAM.INFO.KV_{bucket}", b"")).data)["state"]
    return state


async def messages_in(nc: Client, bucket: str) -> int:
    return int((await state_of(nc, bucket))["messages"])


async def test_a_delete_marker_expires_where_the_bucket_lets_it(nc: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """A fleet that creates and deletes for years must not fill its bucket with what is gone."""
    monkeypatch.setattr(committing, "_MARKER_LIFE", "1s")
    await make_bucket(nc, "expiring", allow_msg_ttl=True)
    store = await JetStreamStore.bind(nc, "expiring", "p")
    scope = Scope()
    for number in range(20):
        await store.create(f"k{number}", "d", "c", scope=scope)
        assert await store.delete(f"k{number}", scope=scope) is True
    # Each left a value and a marker behind; the first may have expired before the last was written.
    assert (await state_of(nc, "expiring"))["last_seq"] == 40
    async with asyncio.timeout(LONGEST_S):
        while await messages_in(nc, "expiring"):
            await asyncio.sleep(0.1)
    # The store still knows the markers that are gone; it must not stumble over that.
    assert await store.delete("k0", scope=scope) is False
    await store.create("k1", "d", "anew", scope=scope)
    assert [item.key for item in await store.list()] == ["k1"]


async def test_a_bucket_that_lets_nothing_expire_is_deleted_from_all_the_same(nc: Client, bucket: str) -> None:
    store = await JetStreamStore.bind(nc, bucket, "p")
    await store.create("k", "d", "c", scope=None)
    assert await store.delete("k", scope=None) is True
    assert await messages_in(nc, bucket) == 1


async def test_a_value_never_expires(nc: Client) -> None:
    """Where markers may expire, a note may not."""
    await make_bucket(nc, "kept", allow_msg_ttl=True)
    store = await JetStreamStore.bind(nc, "kept", "p")
    await store.create("k", "d", "c", scope=None)
    last = json.dumps({"last_by_subj": "$KV.kept.p.k"}).encode()
    answer = json.loads((await nc.request("$JS.API.STREAM.MSG.GET.KV_kept", last)).data)
    assert "Nats-TTL" not in base64.b64decode(answer["message"]["hdrs"]).decode()
