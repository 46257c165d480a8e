"""Faults 1 to 4 and 8 on JetStream: what a write says after its acknowledgement was lost."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from nats.aio.client import Client

from jsmemory.backends.jetstream import JetStreamStore
from jsmemory.errors import (
    BackendUnavailableError,
    EntryExistsError,
    EntryNotFoundError,
    OutcomeUnknownError,
    StaleEntryError,
)
from jsmemory.limits import MAX_ENTRIES
from jsmemory.scope import Scope
from jsmemory.testing.lossy import LossyConnection
from jsmemory.testing.servers import make_bucket, plant


@pytest.fixture
def writes(bucket: str) -> str:
    """The beginning of the subjects that writes go to."""
    return f"$KV.{bucket}.p.k"


async def replace(store: JetStreamStore, key: str, content: str) -> None:
    scope = Scope()
    await store.read(key, scope=scope)
    await store.update(key, "d", content, scope=scope)


async def test_a_create_whose_answer_was_lost_succeeds_and_grants_authority(
    store: JetStreamStore, lossy: LossyConnection, writes: str
) -> None:
    """A worker told "exists" about its own note would give up its work."""
    scope = Scope()
    await store.list()
    lossy.lose("answer", writes)
    await store.create("k", "d", "one", scope=scope)
    await store.update("k", "d", "two", scope=scope)
    assert (await store.read("k", scope=None)).content == "two"


@pytest.mark.parametrize("losses", [1, 3])
async def test_an_update_whose_answer_was_lost_succeeds(
    store: JetStreamStore, lossy: LossyConnection, writes: str, losses: int
) -> None:
    """A worker told "stale" about its own write would read its own text as somebody's change."""
    scope = Scope()
    await store.create("k", "d", "one", scope=scope)
    lossy.lose("answer", writes, times=losses)
    await store.update("k", "d", "two", scope=scope)
    await store.update("k", "d", "three", scope=scope)
    assert (await store.read("k", scope=None)).content == "three"


async def test_a_delete_whose_answer_was_lost_answers_true(
    store: JetStreamStore, lossy: LossyConnection, writes: str
) -> None:
    """Exactly one deleter may act on having removed the note; none at all would be as wrong as two."""
    await store.create("k", "d", "one", scope=None)
    lossy.lose("answer", writes)
    assert await store.delete("k", scope=None) is True
    assert await store.delete("k", scope=None) is False


async def test_a_write_that_never_arrived_is_sent_again(
    store: JetStreamStore, lossy: LossyConnection, writes: str
) -> None:
    scope = Scope()
    lossy.lose("request", writes)
    await store.create("k", "d", "one", scope=scope)
    lossy.lose("request", writes)
    await store.update("k", "d", "two", scope=scope)
    assert (await store.read("k", scope=None)).content == "two"


async def test_a_lost_update_that_somebody_overtook_is_refused(
    store: JetStreamStore, other: JetStreamStore, lossy: LossyConnection, writes: str
) -> None:
    """The first try never arrived, and meanwhile another worker replaced the value it was meant for."""
    scope = Scope()
    await store.create("k", "d", "one", scope=scope)
    lossy.lose("request", writes, then=lambda: replace(other, "k", "theirs"))
    with pytest.raises(StaleEntryError) as refused:
        await store.update("k", "d", "mine", scope=scope)
    assert refused.value.reason == "changed"
    assert (await store.read("k", scope=None)).content == "theirs"


async def test_an_update_that_landed_and_was_then_replaced_by_its_reader_succeeds(
    store: JetStreamStore, other: JetStreamStore, lossy: LossyConnection, writes: str
) -> None:
    """The write was there, was read, and was replaced on purpose: that is success, not a conflict."""
    scope = Scope()
    await store.create("k", "d", "one", scope=scope)
    lossy.lose("answer", writes, then=lambda: replace(other, "k", "after reading mine"))
    await store.update("k", "d", "mine", scope=scope)
    assert (await store.read("k", scope=None)).content == "after reading mine"
    with pytest.raises(StaleEntryError):
        await store.update("k", "d", "unseen", scope=Scope())


async def test_a_lost_create_that_somebody_overtook_says_exists(
    store: JetStreamStore, other: JetStreamStore, lossy: LossyConnection, writes: str
) -> None:
    await store.list()
    lossy.lose("request", writes, then=lambda: other.create("k", "d", "theirs", scope=None))
    with pytest.raises(EntryExistsError):
        await store.create("k", "d", "mine", scope=None)
    assert (await store.read("k", scope=None)).content == "theirs"


async def test_a_lost_delete_that_somebody_overtook_answers_false(
    store: JetStreamStore, other: JetStreamStore, lossy: LossyConnection, writes: str
) -> None:
    await store.create("k", "d", "one", scope=None)
    lossy.lose("request", writes, then=lambda: other.delete("k", scope=None))
    assert await store.delete("k", scope=None) is False


@pytest.fixture(params=[True, False], ids=["examines", "may not examine"])
async def with_history(
    nc: Client, lossy: LossyConnection, request: pytest.FixtureRequest
) -> AsyncIterator[tuple[JetStreamStore, JetStreamStore]]:
    """Two stores on a bucket that keeps the values before; the first one loses what it is told to."""
    await make_bucket(nc, "kept-before", max_msgs_per_subject=64)
    yield (
        await JetStreamStore.bind(lossy, "kept-before", "p", preflight=request.param),
        await JetStreamStore.bind(nc, "kept-before", "p"),
    )
    await nc.request("$JS.API.STREAM.DELETE.KV_kept-before", b"")


@pytest.mark.parametrize("lost", ["request", "answer"])
async def test_a_lost_update_that_others_went_on_from_is_settled_by_the_history_of_the_bucket(
    with_history: tuple[JetStreamStore, JetStreamStore], lossy: LossyConnection, lost: str
) -> None:
    """On a busy key nothing of the write is left to see after two more; the values before still tell."""
    store, other = with_history
    scope = Scope()
    await store.create("k", "d", "one", scope=scope)

    async def go_on() -> None:
        for content in ("theirs", "theirs again", "theirs once more"):
            await replace(other, "k", content)

    lossy.lose(lost, "$KV.kept-before.p.k", then=go_on)
    if lost == "answer":
        await store.update("k", "d", "mine", scope=scope)
    else:
        with pytest.raises(StaleEntryError):
            await store.update("k", "d", "mine", scope=scope)
    assert (await store.read("k", scope=None)).content == "theirs once more"


async def test_a_lost_create_of_a_key_with_a_long_past_is_settled_by_what_was_known_before(
    with_history: tuple[JetStreamStore, JetStreamStore], lossy: LossyConnection
) -> None:
    """The oldest value that the bucket keeps is none of the first; what came after something known tells all."""
    store, other = with_history
    await other.create("k", "d", "theirs", scope=None)
    for number in range(70):
        await replace(other, "k", str(number))
    await store.create("else", "d", "c", scope=None)

    async def go_on() -> None:
        for content in ("theirs again", "theirs once more", "and more"):
            await replace(other, "k", content)

    lossy.lose("request", "$KV.kept-before.p.k", then=go_on)
    with pytest.raises(EntryExistsError):
        await store.create("k", "d", "mine", scope=None)


async def test_what_was_known_of_a_bucket_that_is_gone_settles_nothing(nc: Client, lossy: LossyConnection) -> None:
    """It landed, and went with its bucket. The numbers of the new one say that it never did."""
    await make_bucket(nc, "known", max_msgs_per_subject=64)
    store = await JetStreamStore.bind(lossy, "known", "p", preflight=False)
    scope = Scope()
    for number in range(10):
        await store.create(f"other{number}", "d", "c", scope=None)
    await store.create("k", "d", "one", scope=scope)
    await store.create("last", "d", "c", scope=None)

    async def make_anew() -> None:
        await nc.request("$JS.API.STREAM.DELETE.KV_known", b"")
        await make_bucket(nc, "known", max_msgs_per_subject=64)
        other = await JetStreamStore.bind(nc, "known", "p")
        await plant(nc, "known", {f"q.k{number}": b"x" for number in range(11)})
        await other.create("k", "d", "theirs", scope=None)
        for content in ("theirs again", "theirs once more"):
            await replace(other, "k", content)

    lossy.lose("answer", "$KV.known.p.k", then=make_anew)
    with pytest.raises((OutcomeUnknownError, StaleEntryError)) as failed:
        await store.update("k", "d", "mine", scope=scope)
    assert isinstance(failed.value, OutcomeUnknownError)
    await nc.request("$JS.API.STREAM.DELETE.KV_known", b"")


async def test_a_lost_create_near_the_limit_is_settled_by_what_the_bucket_keeps_of_the_key(
    nc: Client, lossy: LossyConnection
) -> None:
    """
    It was conditional on the whole prefix, which goes on all the time.

    What came right after it under the key says nothing of that; but nothing of the key is gone.
    """
    await make_bucket(nc, "near", max_msgs_per_subject=64)
    store = await JetStreamStore.bind(lossy, "near", "p")
    planted = b"---\ndescription: d\n---\n\nc"
    await plant(nc, "near", {f"p.k{number}": planted for number in range(MAX_ENTRIES - 100)})
    await store.create("k", "d", "c", scope=None)
    await store.delete("k", scope=None)
    other = await JetStreamStore.bind(nc, "near", "p")
    await other.list()

    async def go_on() -> None:
        await other.create("more", "d", "c", scope=None)
        await other.create("k", "d", "theirs", scope=None)
        await replace(other, "k", "theirs again")

    lossy.lose("request", "$KV.near.p.k", then=go_on)
    with pytest.raises(EntryExistsError):
        await store.create("k", "d", "mine", scope=None)
    await nc.request("$JS.API.STREAM.DELETE.KV_near", b"")


async def test_a_lost_create_that_found_no_place_is_settled_by_what_was_known_before(
    store: JetStreamStore, other: JetStreamStore, lossy: LossyConnection, writes: str
) -> None:
    """
    The key held a value that this worker had never seen, and somebody deleted it meanwhile.

    The marker replaced a value that was there before the create was sent: it never landed.
    """
    await other.create("k", "d", "theirs", scope=None)
    await store.create("else", "d", "c", scope=None)

    async def go_on() -> None:
        await other.create("more", "d", "c", scope=None)
        await other.delete("k", scope=None)

    lossy.lose("request", writes, then=go_on)
    await store.create("k", "d", "mine", scope=None)
    assert (await other.read("k", scope=None)).content == "mine"


async def test_an_outcome_that_nothing_can_tell_is_said_to_be_unknown(
    store: JetStreamStore, nc: Client, lossy: LossyConnection, writes: str
) -> None:
    """Another program replaced the value without a trace of what it replaced: saying either would be a guess."""
    scope = Scope()
    await store.create("k", "d", "one", scope=scope)
    lossy.lose("answer", writes, then=lambda: nc.request(writes, b"by hand"))
    with pytest.raises(OutcomeUnknownError):
        await store.update("k", "d", "mine", scope=scope)
    with pytest.raises(StaleEntryError) as refused:
        await store.update("k", "d", "again", scope=scope)
    assert refused.value.reason == "unread"


async def test_a_write_that_cannot_be_asked_about_in_time_is_unknown_and_grants_nothing(
    store: JetStreamStore, lossy: LossyConnection, writes: str, has_little_time: Any
) -> None:
    scope = Scope()
    await store.create("k", "d", "one", scope=scope)

    async def lose_everything() -> None:
        lossy.lose("request", "", times=1000)

    lossy.lose("answer", writes, then=lose_everything)
    has_little_time(store, 1)
    with pytest.raises(OutcomeUnknownError):
        await store.update("k", "d", "two", scope=scope)
    lossy.heal()
    has_little_time(store, 15)
    assert (await store.read("k", scope=None)).content == "two"
    with pytest.raises(StaleEntryError):
        await store.update("k", "d", "three", scope=scope)


async def test_a_write_left_unknown_never_overwrites_a_newer_value(
    store: JetStreamStore, other: JetStreamStore, lossy: LossyConnection, writes: str, has_little_time: Any
) -> None:
    """The network held the write back for longer than anybody waited; in between the note went on."""
    scope = Scope()
    await store.create("k", "d", "one", scope=scope)
    lossy.lose("request", writes, times=1000)
    has_little_time(store, 1)
    with pytest.raises(OutcomeUnknownError):
        await store.update("k", "d", "late", scope=scope)
    await replace(other, "k", "newer")
    for late in lossy.lost:
        await lossy.deliver(late)
    assert (await other.read("k", scope=None)).content == "newer"


async def test_an_unguarded_update_left_unknown_never_overwrites_a_newer_value(
    bucket: str, other: JetStreamStore, lossy: LossyConnection, writes: str, has_little_time: Any
) -> None:
    """Without the guard nobody is asked for authority; a ghost from the network still gets none."""
    store = await JetStreamStore.bind(lossy, bucket, "p", require_read_before_update=False)
    await store.update("k", "d", "one", scope=None)
    lossy.lose("request", writes, times=1000)
    has_little_time(store, 1)
    with pytest.raises(OutcomeUnknownError):
        await store.update("k", "d", "late", scope=None)
    await replace(other, "k", "newer")
    for late in lossy.lost:
        await lossy.deliver(late)
    assert (await other.read("k", scope=None)).content == "newer"


async def test_a_write_that_reached_nobody_says_that_nothing_was_written(bucket: str, nc: Client) -> None:
    store = await JetStreamStore.bind(nc, bucket, "p", write_budget=0.5)
    await nc.request(f"$JS.API.STREAM.DELETE.KV_{bucket}", b"")
    with pytest.raises(BackendUnavailableError):
        await store.create("k", "d", "c", scope=None)


async def test_a_read_whose_answer_was_lost_is_asked_again(store: JetStreamStore, lossy: LossyConnection) -> None:
    await store.create("k", "d", "one", scope=None)
    lossy.lose("answer", "$JS.API.DIRECT.GET", times=2)
    assert (await store.read("k", scope=None)).content == "one"
    with pytest.raises(EntryNotFoundError):
        await store.read("absent", scope=None)


async def test_two_creators_of_a_deleted_key_never_both_win(store: JetStreamStore, other: JetStreamStore) -> None:
    """Fault 8: a create over a tombstone is as conditional as any other."""
    for turn in range(30):
        await store.create("k", "d", "old", scope=None)
        await store.delete("k", scope=None)
        outcomes = await asyncio.gather(
            store.create("k", "d", f"a{turn}", scope=None),
            other.create("k", "d", f"b{turn}", scope=None),
            return_exceptions=True,
        )
        assert sorted(type(outcome) for outcome in outcomes if outcome is not None) == [EntryExistsError]
        assert await other.delete("k", scope=None)


async def test_a_create_whose_place_cannot_be_counted_is_taken_back_before_it_fails(
    store: JetStreamStore, nc: Client, bucket: str, lossy: LossyConnection, other: JetStreamStore, has_little_time: Any
) -> None:
    """ "Nothing was written" must be true: the retry would meet its own note."""
    await store.create("first", "d", "c", scope=None)
    await plant(nc, bucket, {f"q.k{number}": b"x" for number in range(1_100)})
    lossy.lose("request", "$JS.API.CONSUMER.CREATE", times=1000)
    has_little_time(store, 2)
    with pytest.raises((BackendUnavailableError, OutcomeUnknownError)) as failed:
        await store.create("mine", "d", "c", scope=None)
    lossy.heal()
    if isinstance(failed.value, BackendUnavailableError):
        await other.create("mine", "d", "again", scope=None)


async def test_a_foreign_put_right_behind_the_lost_update_proves_that_it_never_landed(
    store: JetStreamStore, nc: Client, lossy: LossyConnection, writes: str
) -> None:
    scope = Scope()
    await store.create("k", "d", "one", scope=scope)
    lossy.lose("request", writes, then=lambda: nc.request(writes, b"by hand"))
    with pytest.raises(StaleEntryError):
        await store.update("k", "d", "mine", scope=scope)


async def test_a_lost_create_near_the_limit_is_settled_by_what_came_in_its_place(
    store: JetStreamStore, other: JetStreamStore, lossy: LossyConnection, writes: str
) -> None:
    """Both were conditional on the key holding nothing, so only one can have landed."""
    for start in range(0, 800, 50):
        await asyncio.gather(*(other.create(f"f{n}", "d", "c", scope=None) for n in range(start, start + 50)))
    await store.list()
    lossy.lose("request", writes, then=lambda: other.create("k", "d", "theirs", scope=None))
    with pytest.raises(EntryExistsError):
        await store.create("k", "d", "mine", scope=None)
    assert (await store.read("k", scope=None)).content == "theirs"


async def test_a_create_that_can_be_neither_counted_nor_taken_back_was_not_written(
    store: JetStreamStore, other: JetStreamStore, nc: Client, bucket: str, lossy: LossyConnection, has_little_time: Any
) -> None:
    """It is stored, and everything after that was lost. Nobody else makes an entry of it: so much is known."""
    await store.create("first", "d", "c", scope=None)
    await plant(nc, bucket, {f"q.k{number}": b"x" for number in range(1_100)})

    async def lose_everything() -> None:
        lossy.lose("request", "", times=10_000)

    lossy.lose("request", "$JS.API.CONSUMER.CREATE", then=lose_everything)
    has_little_time(store, 1)
    with pytest.raises(BackendUnavailableError, match="Nothing was written"):
        await store.create("k", "d", "c", scope=None)
    assert [item.key for item in await other.list()] == ["first"]
    await other.create("k", "d", "somebody else's", scope=None)
    assert (await other.read("k", scope=None)).content == "somebody else's"


async def test_a_lost_create_of_a_key_whose_marker_is_gone_is_unknown(
    store: JetStreamStore, other: JetStreamStore, nc: Client, bucket: str, lossy: LossyConnection, has_little_time: Any
) -> None:
    """It was known to have come further than nothing; a compaction brings it back to that, and the create landed."""
    await store.create("k", "d", "c", scope=None)
    await store.delete("k", scope=None)
    purge = json.dumps({"filter": f"$KV.{bucket}.p.k"}).encode()
    assert json.loads((await nc.request(f"$JS.API.STREAM.PURGE.KV_{bucket}", purge)).data)["purged"] == 1
    subject = f"$KV.{bucket}.p.k"

    async def lose_the_rest() -> None:
        lossy.lose("answer", subject, times=10_000)

    # The answer to the first try says that the key is another one; asked for it, nobody knows it.
    lossy.lose("answer", f"$JS.API.DIRECT.GET.KV_{bucket}.{subject}", then=lose_the_rest)
    has_little_time(store, 1.5)
    with pytest.raises(OutcomeUnknownError):
        await store.create("k", "d", "landed", scope=None)
    assert (await other.read("k", scope=None)).content == "landed"
