"""Faults 5 and 21: what an operator does to a bucket that is in use."""

import asyncio
import json
import shutil
from pathlib import Path

import pytest
from nats.aio.client import Client

from jsmemory.backend import Record
from jsmemory.backends.jetstream import JetStreamBackend, JetStreamStore, binding, counting, listing
from jsmemory.backends.jetstream.wire import Wire
from jsmemory.errors import (
    BackendUnavailableError,
    BucketUnfitError,
    EntryExistsError,
    EntryNotFoundError,
    OutcomeUnknownError,
    StaleEntryError,
    StoreFullError,
)
from jsmemory.limits import MAX_ENTRIES
from jsmemory.scope import Scope
from jsmemory.testing.lagging import LaggingConnection
from jsmemory.testing.lossy import LossyConnection
from jsmemory.testing.servers import local_server, make_bucket, plain_client, plant


async def edit(nc: Client, bucket: str, **changes: object) -> None:
    info = json.loads((await nc.request(f"$JS.API.STREAM.INFO.KV_{bucket}", b"")).data)
    config = json.dumps(info["config"] | changes).encode()
    answer = json.loads((await nc.request(f"$JS.API.STREAM.UPDATE.KV_{bucket}", config)).data)
    assert "error" not in answer, answer


async def make_anew(nc: Client, bucket: str) -> None:
    await nc.request(f"$JS.API.STREAM.DELETE.KV_{bucket}", b"")
    await make_bucket(nc, bucket)


async def test_a_ttl_set_after_the_bind_is_noticed(nc: Client, bucket: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fault 21: memories written from then on would silently expire."""
    # The configuration is examined every few seconds of use; here at every call.
    monkeypatch.setattr(binding, "_EXAMINED_FOR", 0.0)
    store = await JetStreamStore.bind(nc, bucket, "p")
    await store.create("k", "d", "c", scope=None)
    await edit(nc, bucket, max_age=3_600_000_000_000)
    with pytest.raises(BucketUnfitError) as refused:
        await store.create("k2", "d", "c", scope=None)
    assert [finding.code for finding in refused.value.findings] == ["bucket_ttl"]
    await edit(nc, bucket, max_age=0)
    await store.create("k2", "d", "c", scope=None)


async def test_one_read_in_a_bucket_that_was_restored_is_enough(
    nc: Client, bucket: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run that was told to read did so, was told once more, and had every reason to give up."""
    monkeypatch.setattr(binding, "_EXAMINED_FOR", 0.0)
    store = await JetStreamStore.bind(nc, bucket, "p")
    scope = Scope()
    await store.create("k", "d", "c", scope=scope)
    await make_anew(nc, bucket)
    await nc.jetstream().publish(f"$KV.{bucket}.p.k", b"restored")
    assert (await store.read("k", scope=scope)).content == "restored"
    await store.update("k", "d", "mine", scope=scope)


@pytest.mark.parametrize("preflight", [True, False])
@pytest.mark.parametrize("seen", ["written", "read"])
async def test_authority_ends_with_the_bucket_it_was_earned_in(
    nc: Client, bucket: str, preflight: bool, seen: str
) -> None:
    """Fault 5: the sequences start again at 1, and an old number matches a value that nobody saw."""
    store = await JetStreamStore.bind(nc, bucket, "p", preflight=preflight)
    scope = Scope()
    if seen == "written":
        await store.create("k", "d", "old", scope=scope)
    else:
        await nc.request(f"$KV.{bucket}.p.k", b"old")
        await store.read("k", scope=scope)
    await make_anew(nc, bucket)
    await nc.request(f"$KV.{bucket}.p.k", b"never seen")
    with pytest.raises(StaleEntryError):
        await store.update("k", "d", "blind", scope=scope)
    assert (await store.read("k", scope=scope)).content == "never seen"
    await store.update("k", "d", "seen now", scope=scope)


async def test_a_snapshot_of_the_old_bucket_grants_nothing_in_the_new_one(nc: Client, bucket: str) -> None:
    before = await JetStreamStore.bind(nc, bucket, "p")
    scope = Scope()
    await before.create("k", "d", "old", scope=scope)
    snapshot = json.loads(json.dumps(scope.snapshot()))
    await make_anew(nc, bucket)
    after = await JetStreamStore.bind(nc, bucket, "p")
    await after.create("k", "d", "never seen", scope=None)
    resumed = Scope()
    assert resumed.restore(snapshot) is None
    with pytest.raises(StaleEntryError) as refused:
        await after.update("k", "d", "blind", scope=resumed)
    assert refused.value.reason == "unread"


async def test_a_snapshot_goes_on_in_another_store_of_the_same_bucket_and_prefix_only(nc: Client, bucket: str) -> None:
    first = await JetStreamStore.bind(nc, bucket, "p")
    scope = Scope()
    await first.create("k", "d", "old", scope=scope)
    resumed = Scope()
    resumed.restore(json.loads(json.dumps(scope.snapshot())))
    other_prefix = await JetStreamStore.bind(nc, bucket, "q")
    await other_prefix.create("k", "d", "theirs", scope=None)
    with pytest.raises(StaleEntryError):
        await other_prefix.update("k", "d", "blind", scope=resumed)
    second = await JetStreamStore.bind(nc, bucket, "p")
    await second.update("k", "d", "gone on", scope=resumed)
    assert (await first.read("k", scope=None)).content == "gone on"


async def test_a_new_bucket_is_read_although_its_sequences_are_older(nc: Client, bucket: str) -> None:
    """The newest sequences that this process knew are those of a bucket that is no more."""
    store = await JetStreamStore.bind(nc, bucket, "p")
    scope = Scope()
    await store.create("k", "d", "1", scope=scope)
    for turn in range(5):
        await store.update("k", "d", f"{turn}", scope=scope)
    await make_anew(nc, bucket)
    await nc.request(f"$KV.{bucket}.p.k", b"new")
    assert (await store.read("k", scope=None)).content == "new"
    await store.create("other", "d", "c", scope=None)
    assert [item.key for item in await store.list()] == ["k", "other"]


async def test_a_create_over_a_marker_of_the_old_bucket_overwrites_nothing(nc: Client, bucket: str) -> None:
    """The marker's sequence is one that a value in the new bucket may have."""
    store = await JetStreamStore.bind(nc, bucket, "p")
    await store.create("k", "d", "old", scope=None)
    await store.delete("k", scope=None)
    await make_anew(nc, bucket)
    for text in (b"first", b"never seen"):
        await nc.request(f"$KV.{bucket}.p.k", text)
    with pytest.raises(EntryExistsError):
        await store.create("k", "d", "blind", scope=None)
    assert (await store.read("k", scope=None)).content == "never seen"


async def test_a_create_into_the_last_place_of_the_old_bucket_overwrites_nothing(nc: Client, bucket: str) -> None:
    """Near the limit too the condition is on the key, which holds something in the new one."""
    backend = await JetStreamBackend.bind(Wire(nc), bucket, "p", preflight=True, bind_timeout=20, budget=15)
    record = Record(b"---\ndescription: d\n---\n\nblind", "d")
    for number in range(3):
        await backend.insert(f"k{number}", record, capacity=10)
    await make_anew(nc, bucket)
    for key in ("a", "b", "new"):
        await nc.request(f"$KV.{bucket}.p.{key}", b"never seen")
    with pytest.raises(EntryExistsError):
        await backend.insert("new", record, capacity=10)
    stored = await backend.load("new")
    assert stored is not None
    assert stored.value == b"never seen"


async def test_a_bucket_that_is_gone_is_named_as_such(nc: Client, bucket: str) -> None:
    store = await JetStreamStore.bind(nc, bucket, "p", write_budget=1)
    await nc.request(f"$JS.API.STREAM.DELETE.KV_{bucket}", b"")
    with pytest.raises(BackendUnavailableError, match="The bucket is gone"):
        await store.read("k", scope=None)


async def test_without_preflight_authority_does_not_outlive_the_store_object(nc: Client, bucket: str) -> None:
    """Without the right to ask when the bucket was made, an old number could match an unseen value."""
    scope = Scope()
    first = await JetStreamStore.bind(nc, bucket, "p", preflight=False)
    await first.create("k", "d", "c", scope=scope)
    await first.update("k", "d", "c2", scope=scope)
    second = await JetStreamStore.bind(nc, bucket, "p", preflight=False)
    with pytest.raises(StaleEntryError):
        await second.update("k", "d", "blind", scope=scope)


@pytest.mark.parametrize("preflight", [True, False])
async def test_a_write_is_not_sent_again_into_a_bucket_that_was_made_anew(
    nc: Client, bucket: str, preflight: bool
) -> None:
    """The first try was lost, and before the second the old sequence names a value that nobody saw."""
    lossy = LossyConnection(nc)
    store = await JetStreamStore.bind(lossy, bucket, "p", preflight=preflight)
    scope = Scope()
    await store.create("k", "d", "old", scope=scope)

    async def replace_the_bucket() -> None:
        await make_anew(nc, bucket)
        await nc.request(f"$KV.{bucket}.p.k", b"never seen")

    lossy.lose("request", f"$KV.{bucket}.p.k", then=replace_the_bucket)
    with pytest.raises((StaleEntryError, OutcomeUnknownError)):
        await store.update("k", "d", "blind", scope=scope)
    assert (await store.read("k", scope=None)).content == "never seen"


async def test_without_preflight_a_create_overwrites_nothing_in_a_new_bucket(nc: Client, bucket: str) -> None:
    store = await JetStreamStore.bind(nc, bucket, "p", preflight=False)
    await store.create("k", "d", "old", scope=None)
    await store.delete("k", scope=None)
    await make_anew(nc, bucket)
    for key in ("x", "k"):
        await nc.request(f"$KV.{bucket}.p.{key}", b"never seen")
    with pytest.raises(EntryExistsError):
        await store.create("k", "d", "blind", scope=None)
    assert (await store.read("k", scope=None)).content == "never seen"


async def test_without_preflight_a_read_by_another_run_gives_an_old_scope_nothing(nc: Client, bucket: str) -> None:
    """The other run has seen the new value under the old number; this one has not."""
    store = await JetStreamStore.bind(nc, bucket, "p", preflight=False)
    old = Scope()
    await store.create("k", "d", "old", scope=old)
    await make_anew(nc, bucket)
    await nc.request(f"$KV.{bucket}.p.k", b"never seen")
    assert (await store.read("k", scope=Scope())).content == "never seen"
    with pytest.raises(StaleEntryError):
        await store.update("k", "d", "blind", scope=old)


@pytest.mark.parametrize("preflight", [True, False])
async def test_a_key_whose_marker_was_compacted_goes_on(nc: Client, bucket: str, preflight: bool) -> None:
    """An operator's compaction must not make a key unusable for who remembers its marker."""
    store = await JetStreamStore.bind(nc, bucket, "p", preflight=preflight)
    await store.create("k", "d", "old", scope=None)
    await store.delete("k", scope=None)
    await nc.request(f"$JS.API.STREAM.PURGE.KV_{bucket}", b"")
    with pytest.raises(EntryNotFoundError):
        await store.read("k", scope=None)
    assert await store.delete("k", scope=None) is False
    await store.create("k", "d", "new", scope=None)
    assert (await store.read("k", scope=None)).content == "new"


async def test_a_snapshot_that_was_edited_revives_nothing(nc: Client, bucket: str) -> None:
    """No store grants authority over nothing, over a marker, or by a number that is none."""
    store = await JetStreamStore.bind(nc, bucket, "p")
    scope = Scope()
    await store.create("k", "d", "c", scope=scope)
    snapshot = scope.snapshot()
    (realm,) = snapshot["realms"]
    await store.delete("k", scope=None)
    for key, revision in (("new", "0"), ("k", "2"), ("k", str(2**64 + 2)), ("k", "\u0662"), ("k", "02")):
        forged = Scope()
        forged.restore({"version": 1, "realms": {realm: {key: revision}}})
        with pytest.raises(StaleEntryError):
            await store.update(key, "d", "revived", scope=forged)
    assert await store.list() == ()


async def test_an_edit_of_the_bucket_leaves_no_lost_answer_open(
    nc: Client, bucket: str, lossy: LossyConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An operator who grows the replicas, or raises a limit, has not made another bucket."""
    monkeypatch.setattr(binding, "_EXAMINED_FOR", 0.0)
    store = await JetStreamStore.bind(lossy, bucket, "p")
    scope = Scope()
    await store.create("k", "d", "one", scope=scope)
    lossy.lose("answer", f"$KV.{bucket}.p.k", then=lambda: edit(nc, bucket, max_msg_size=100_000))
    await store.update("k", "d", "two", scope=scope)
    await store.update("k", "d", "three", scope=scope)
    assert (await store.read("k", scope=None)).content == "three"


async def test_an_edit_of_the_bucket_takes_nothing_from_what_was_read(
    cluster_nc: Client, replicated_bucket: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A replica that lags could otherwise show a run the words that it has replaced."""
    monkeypatch.setattr(binding, "_EXAMINED_FOR", 0.0)
    connection = LaggingConnection(cluster_nc)
    store = await JetStreamStore.bind(connection, replicated_bucket, "p")
    scope = Scope()
    await store.create("k", "d", "first", scope=scope)
    await store.read("k", scope=scope)
    await store.update("k", "d", "second", scope=scope)
    await edit(cluster_nc, replicated_bucket, max_msg_size=100_000)
    connection.answer_old(1)
    assert (await store.read("k", scope=scope)).content == "second"


async def test_a_lost_write_to_a_bucket_that_became_unfit_is_not_refused(
    nc: Client, bucket: str, lossy: LossyConnection
) -> None:
    """It may have landed: to say that the bucket is unfit would be heard as nothing written."""
    store = await JetStreamStore.bind(lossy, bucket, "p")
    await store.list()
    lossy.lose("answer", f"$KV.{bucket}.p.k", then=lambda: edit(nc, bucket, max_age=3_600_000_000_000))
    with pytest.raises(OutcomeUnknownError):
        await store.create("k", "d", "c", scope=None)


async def test_a_lost_create_in_a_bucket_that_was_made_anew_is_not_held_against_the_old_one(
    nc: Client, bucket: str, lossy: LossyConnection
) -> None:
    """Who may not examine the bucket knows sequences of the old one, which are higher: its own write is not refused."""
    store = await JetStreamStore.bind(lossy, bucket, "p", preflight=False)
    for number in range(9):
        await store.create(f"k{number}", "d", "c", scope=None)
    await make_anew(nc, bucket)
    other = await JetStreamStore.bind(nc, bucket, "p")
    await other.list()

    async def go_on() -> None:
        scope = Scope()
        await other.create("more", "d", "c", scope=None)
        await other.read("k", scope=scope)
        await other.update("k", "d", "after reading mine", scope=scope)

    async def lose_what_makes_it_an_entry() -> None:
        lossy.lose("answer", f"$KV.{bucket}.p.k", then=go_on)

    lossy.lose("answer", f"$KV.{bucket}.p.k")
    lossy.lose("answer", "$JS.API.CONSUMER.DELETE", then=lose_what_makes_it_an_entry)
    await store.create("k", "d", "mine", scope=None)
    assert (await other.read("k", scope=None)).content == "after reading mine"


async def test_a_listing_that_began_in_the_old_bucket_says_nothing_of_how_far_the_new_one_is(
    nc: Client, bucket: str, lossy: LossyConnection
) -> None:
    """The old numbers are higher: everything that came since would count as known, and the limit be passed."""
    store = await JetStreamStore.bind(lossy, bucket, "p")
    scope = Scope()
    await plant(nc, bucket, {f"q.k{number}": b"x" for number in range(3 * MAX_ENTRIES)})
    await store.create("k", "d", "c", scope=scope)

    async def change_it() -> None:
        await make_anew(nc, bucket)
        await plant(nc, bucket, {f"p.k{number}": b"x" for number in range(500)})
        with pytest.raises(StaleEntryError):
            await store.update("k", "d", "c", scope=scope)
        await store.create("counted", "d", "c", scope=None)

    lossy.lose("request", "$JS.API.CONSUMER.CREATE", then=change_it)
    assert len(await store.list()) == 501
    await plant(nc, bucket, {f"p.more{number}": b"x" for number in range(MAX_ENTRIES - 501)})
    # Its answer shows how far the bucket has come meanwhile.
    await store.update("counted", "d", "c", scope=await read_by(store, "counted"))
    with pytest.raises(StoreFullError):
        await store.create("one-too-many", "d", "c", scope=None)


async def read_by(store: JetStreamStore, key: str) -> Scope:
    """The scope of a run that has read a key."""
    scope = Scope()
    await store.read(key, scope=scope)
    return scope


async def test_one_too_many_that_goes_with_its_bucket_is_created_in_the_new_one_or_refused_by_it(
    nc: Client, bucket: str, lossy: LossyConnection
) -> None:
    """It was no entry yet. To say that it was written, of a bucket that holds somebody else's note, would be a lie."""
    store = await JetStreamStore.bind(lossy, bucket, "p", preflight=False)
    planted = b"---\ndescription: d\n---\n\nc"
    await plant(nc, bucket, {f"p.k{number}": planted for number in range(MAX_ENTRIES - 1)})
    await store.list()

    async def overtake() -> None:
        await nc.request(f"$KV.{bucket}.p.last", planted)

    async def remove() -> None:
        await make_anew(nc, bucket)
        await nc.request(f"$KV.{bucket}.p.k", planted)

    # Counted with one place left; taken by somebody else before the create arrives, so it is one too many.
    lossy.lose("answer", "$JS.API.CONSUMER.DELETE", then=overtake)
    lossy.lose("answer", "$JS.API.CONSUMER.DELETE", then=remove)
    with pytest.raises(EntryExistsError):
        await store.create("k", "d", "mine", scope=None)
    assert (await store.read("k", scope=None)).content == "c"


async def test_who_asks_for_the_bucket_at_the_same_time_asks_once(
    store: JetStreamStore, lossy: LossyConnection
) -> None:
    """A fleet whose models think for a second would ask twice as much of its servers as it writes."""
    scope = Scope()
    for number in range(20):
        await store.create(f"k{number}", "d", "c", scope=scope)
    await asyncio.sleep(0.1)
    lossy.sent.clear()
    await asyncio.gather(*(store.update(f"k{number}", "d", "new", scope=scope) for number in range(20)))
    assert 1 <= sum(".STREAM.INFO." in subject for subject in lossy.sent) <= 2


async def test_who_gives_up_asking_for_the_bucket_holds_nobody_up(
    store: JetStreamStore, lossy: LossyConnection
) -> None:
    """One run that is cancelled must not stop every other one of its process."""
    scope = Scope()
    for number in range(3):
        await store.create(f"k{number}", "d", "c", scope=scope)
    await asyncio.sleep(0.1)
    lossy.lose("answer", "$JS.API.STREAM.INFO", waits=True)
    updates = [asyncio.create_task(store.update(f"k{number}", "d", "new", scope=scope)) for number in range(3)]
    while not any(".STREAM.INFO." in subject for subject in lossy.sent[-3:]):
        await asyncio.sleep(0.01)
    updates[0].cancel()
    first, *others = await asyncio.gather(*updates, return_exceptions=True)
    assert isinstance(first, asyncio.CancelledError)
    assert others == [None, None]


@pytest.mark.parametrize("preflight", [True, False])
async def test_a_lost_create_that_lands_in_a_bucket_made_anew_is_not_refused(
    nc: Client, bucket: str, lossy: LossyConnection, preflight: bool
) -> None:
    """In the bucket before the key held a value, so that it could not land; in this one it could."""
    store = await JetStreamStore.bind(lossy, bucket, "p", preflight=preflight)
    await store.create("k", "d", "before", scope=None)
    await make_anew(nc, bucket)
    lossy.lose("answer", f"$KV.{bucket}.p.k")
    with pytest.raises(OutcomeUnknownError):
        await store.create("k", "d", "mine", scope=None)
    # It was stored on the count of the old bucket, which makes no entry of it in the new one.
    assert await store.list() == ()
    await store.create("k", "d", "once more", scope=None)
    assert (await store.read("k", scope=None)).content == "once more"


async def test_a_create_whose_bucket_was_made_anew_while_it_was_counted_is_the_new_one_s_to_take(
    cluster_nc: Client, replicated_bucket: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    It was no entry of the old one. To say that it is stored would be as untrue of the one as of the other.

    Found by ``jsmemory torture --servers 5 --seed 5006``.
    """
    name, lossy = replicated_bucket, LossyConnection(cluster_nc)
    monkeypatch.setattr(listing, "_IN_TOUCH_FOR", 1.5)
    await plant(cluster_nc, name, {f"p.k{number}": b"x" for number in range(1, MAX_ENTRIES)})
    store = await JetStreamStore.bind(lossy, name, "p")

    async def be_overtaken() -> None:
        await plant(cluster_nc, name, {"p.last": b"x"})
        lossy.lose("request", "$JS.API.CONSUMER.CREATE", then=make_it_anew)

    async def make_it_anew() -> None:
        await cluster_nc.request(f"$JS.API.STREAM.DELETE.KV_{name}", b"")
        await make_bucket(cluster_nc, name, replicas=3)
        await plant(cluster_nc, name, {"p.late": b"theirs"})
        # Until whoever leads has to prove it once more.
        await asyncio.sleep(1.6)

    lossy.lose("request", f"$KV.{name}.p.late", then=be_overtaken)
    with pytest.raises(EntryExistsError):
        await store.create("late", "d", "c", scope=None)
    assert (await store.read("late", scope=None)).content == "theirs"


@pytest.mark.parametrize("replicas", [1, 3])
@pytest.mark.parametrize("is_counted_again", [False, True])
async def test_a_count_of_a_bucket_that_is_gone_lets_nobody_pass_the_limit_of_the_new_one(
    nc: Client,
    bucket: str,
    cluster_nc: Client,
    replicated_bucket: str,
    replicas: int,
    is_counted_again: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """
    A store takes seconds to hear of the new one, whose sequences are low again: all of them looked long counted.

    Found by ``jsmemory torture --seed 2029``.
    """
    monkeypatch.setattr(binding, "_EXAMINED_FOR", 1000.0)
    monkeypatch.setattr(listing, "_IN_TOUCH_FOR", 1000.0)
    client, name = (nc, bucket) if replicas == 1 else (cluster_nc, replicated_bucket)
    store = await JetStreamStore.bind(client, name, "p")
    await plant(client, name, {f"others.k{number}": b"x" for number in range(2 * MAX_ENTRIES)})
    if is_counted_again:
        await plant(client, name, {f"p.old{number}": b"x" for number in range(1, MAX_ENTRIES)})
    await store.create("last", "d", "c", scope=None)

    await client.request(f"$JS.API.STREAM.DELETE.KV_{name}", b"")
    await make_bucket(client, name, replicas=replicas)
    await plant(client, name, {f"p.k{number}": b"x" for number in range(400)})
    if is_counted_again:
        with pytest.raises(EntryExistsError):
            await store.create("k1", "d", "c", scope=None)
    await plant(client, name, {f"p.k{number}": b"x" for number in range(400, MAX_ENTRIES)})
    with pytest.raises(StoreFullError):
        await store.create("late", "d", "c", scope=None)
    assert len(await store.list()) == MAX_ENTRIES


@pytest.mark.parametrize("preflight", [True, False])
async def test_what_changed_in_the_new_bucket_is_not_added_to_what_was_counted_in_the_old_one(
    nc: Client, bucket: str, monkeypatch: pytest.MonkeyPatch, preflight: bool
) -> None:
    """Most of what is there came before the sequence that was counted up to: a full store would count as half full."""
    monkeypatch.setattr(binding, "_EXAMINED_FOR", 1000.0)
    store = await JetStreamStore.bind(nc, bucket, "p", preflight=preflight)
    await plant(nc, bucket, {f"others.k{number}": b"x" for number in range(500)})
    await store.create("first", "d", "c", scope=None)
    assert len(await store.list()) == 1

    await make_anew(nc, bucket)
    await plant(nc, bucket, {f"p.k{number}": b"x" for number in range(MAX_ENTRIES)})
    await plant(nc, bucket, {f"others.k{number}": b"x" for number in range(600)})
    with pytest.raises(StoreFullError):
        await store.create("late", "d", "c", scope=None)
    assert len(await store.list()) == MAX_ENTRIES


@pytest.mark.parametrize("preflight", [True, False])
async def test_a_count_that_is_some_seconds_old_is_of_the_bucket_as_it_is(
    nc: Client, bucket: str, monkeypatch: pytest.MonkeyPatch, preflight: bool
) -> None:
    """Far from the limit, and with high sequences, a worker that may not examine its bucket went on for hundreds."""
    monkeypatch.setattr(binding, "_EXAMINED_FOR", 1000.0)
    monkeypatch.setattr(counting, "_FRESH_FOR", 0.2)
    store = await JetStreamStore.bind(nc, bucket, "p", preflight=preflight)
    await plant(nc, bucket, {"p.k": b"x"})
    for _ in range(300):
        await plant(nc, bucket, {"p.k": b"x"})
    await store.create("first", "d", "c", scope=None)

    await make_anew(nc, bucket)
    await plant(nc, bucket, {f"p.k{number}": b"x" for number in range(MAX_ENTRIES)})
    await asyncio.sleep(0.3)
    with pytest.raises(StoreFullError):
        await store.create("late", "d", "c", scope=None)
    assert len(await store.list()) == MAX_ENTRIES


async def test_a_count_holds_no_longer_where_a_disk_went_back_to_a_snapshot(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The bucket says that it was made when it was; what was stored since the snapshot is gone all the same."""
    monkeypatch.setattr(counting, "_FRESH_FOR", 0.2)
    folder, snapshot = tmp_path / "server", tmp_path / "snapshot"
    folder.mkdir()
    with local_server(folder) as server:
        async with plain_client(server.url) as client:
            await make_bucket(client, "team")
            server.terminate()
            shutil.copytree(folder, snapshot)
            server.start()
            store = await JetStreamStore.bind(client, "team", "p")
            for _ in range(300):
                await plant(client, "team", {"p.k": b"x"})
            await store.create("first", "d", "c", scope=None)
            server.terminate()
            shutil.rmtree(folder / "jetstream")
            shutil.copytree(snapshot / "jetstream", folder / "jetstream")
            server.start()
            other = await JetStreamStore.bind(client, "team", "p")
            assert await other.list() == ()
            await plant(client, "team", {f"p.k{number}": b"x" for number in range(MAX_ENTRIES)})
            await asyncio.sleep(0.3)
            with pytest.raises(StoreFullError):
                await store.create("late", "d", "c", scope=None)
            assert len(await other.list()) == MAX_ENTRIES
