"""Fault 4, where what is there now proves that the lost write never landed: nothing is left open."""

from typing import Literal

import pytest
from nats.aio.client import Client

from jsmemory.backends.jetstream import JetStreamStore
from jsmemory.errors import EntryExistsError, OutcomeUnknownError, StaleEntryError
from jsmemory.scope import Scope
from jsmemory.testing.lossy import LossyConnection

Lost = Literal["request", "answer"]


@pytest.mark.parametrize("lost", ["request", "answer"])
async def test_a_create_over_what_another_made_anew_says_that_it_exists(
    store: JetStreamStore, other: JetStreamStore, lossy: LossyConnection, bucket: str, lost: Lost
) -> None:
    """The store knew a value there before it sent anything: "outcome unknown" would make a run stop and look."""
    await store.create("k", "d", "first", scope=None)
    await other.delete("k", scope=None)
    await other.create("k", "d", "theirs", scope=None)
    lossy.lose(lost, f"$KV.{bucket}.p.k")
    with pytest.raises(EntryExistsError):
        await store.create("k", "d", "mine", scope=None)
    assert (await other.read("k", scope=None)).content == "theirs"


@pytest.mark.parametrize("lost", ["request", "answer"])
async def test_a_create_over_what_another_deleted_lands(
    store: JetStreamStore, other: JetStreamStore, lossy: LossyConnection, bucket: str, lost: Lost
) -> None:
    """Nothing is there: the create of a run that saw the old note must not end in doubt."""
    await store.create("k", "d", "first", scope=None)
    await other.delete("k", scope=None)
    lossy.lose(lost, f"$KV.{bucket}.p.k")
    await store.create("k", "d", "second", scope=None)
    assert (await other.read("k", scope=None)).content == "second"


@pytest.mark.parametrize("lost", ["request", "answer"])
async def test_an_update_of_a_revision_that_is_known_to_be_gone_is_stale(
    store: JetStreamStore, other: JetStreamStore, lossy: LossyConnection, bucket: str, lost: Lost
) -> None:
    """Another run of the same process has shown the store a newer value: nothing of this update can have landed."""
    mine, theirs = Scope(), Scope()
    await store.create("k", "d", "first", scope=mine)
    await other.read("k", scope=theirs)
    for text in ("second", "third"):
        await other.update("k", "d", text, scope=theirs)
    await store.read("k", scope=Scope())
    lossy.lose(lost, f"$KV.{bucket}.p.k")
    with pytest.raises(StaleEntryError) as refused:
        await store.update("k", "d", "blind", scope=mine)
    assert refused.value.reason == "changed"
    assert (await other.read("k", scope=None)).content == "third"


@pytest.mark.parametrize("lost", ["request", "answer"])
async def test_an_update_over_an_edit_that_came_right_after_is_stale(
    store: JetStreamStore, nc: Client, lossy: LossyConnection, bucket: str, lost: Lost
) -> None:
    """A person's edit tells nothing of what it replaced; but between it and the value that was read nothing fits."""
    scope = Scope()
    await store.create("k", "d", "first", scope=scope)
    await nc.request(f"$KV.{bucket}.p.k", b"by hand")
    lossy.lose(lost, f"$KV.{bucket}.p.k")
    with pytest.raises(StaleEntryError) as refused:
        await store.update("k", "d", "blind", scope=scope)
    assert refused.value.reason == "changed"
    assert (await store.read("k", scope=None)).content == "by hand"


@pytest.mark.parametrize("lost", ["request", "answer"])
async def test_an_update_of_what_an_operator_purges_meanwhile_is_unknown(
    store: JetStreamStore, nc: Client, lossy: LossyConnection, bucket: str, lost: Lost
) -> None:
    """Not even a marker is left to tell whether the purge took the old value or the new one."""
    scope = Scope()
    await store.create("k", "d", "first", scope=scope)
    purge = f"$JS.API.STREAM.PURGE.KV_{bucket}"
    lossy.lose(lost, f"$KV.{bucket}.p.k", then=lambda: nc.request(purge, b""))
    with pytest.raises(OutcomeUnknownError):
        await store.update("k", "d", "second", scope=scope)
    assert await store.list() == ()


async def test_an_update_of_what_an_operator_has_purged_is_stale(
    store: JetStreamStore, nc: Client, bucket: str
) -> None:
    scope = Scope()
    await store.create("k", "d", "first", scope=scope)
    await nc.request(f"$JS.API.STREAM.PURGE.KV_{bucket}", b"")
    with pytest.raises(StaleEntryError) as refused:
        await store.update("k", "d", "blind", scope=scope)
    assert refused.value.reason == "changed"
