"""What is left of deleted keys is removed, and nothing else, also while the bucket is in use."""

import asyncio
import json
import random
import secrets
from collections import Counter
from contextlib import suppress
from typing import Any

import pytest
from nats.aio.client import Client

from jsmemory import (
    AccessDeniedError,
    BackendUnavailableError,
    BucketNotFoundError,
    BucketUnfitError,
    Compaction,
    EntryExistsError,
    InvalidKeyError,
    InvalidOptionsError,
    JetStreamStore,
    Scope,
    StaleEntryError,
    compact_bucket,
    connect,
)
from jsmemory.testing.lossy import LossyConnection
from jsmemory.testing.servers import ServerSettings, embedded_server, make_bucket, plain_client, plant
from jsmemory.testing.servers.users import Worker, account_of, rights_in

HOUR_S = 3600.0


async def ask(nc: Client, operation: str, asked: object = None) -> dict[str, Any]:
    answer: dict[str, Any] = json.loads(
        (await nc.request(f"$JS.API.{operation}", b"" if asked is None else json.dumps(asked).encode())).data
    )
    return answer


async def names_in(nc: Client, bucket: str) -> set[str]:
    """The names of all messages in a bucket, markers too."""
    described = await ask(nc, f"STREAM.INFO.KV_{bucket}", {"subjects_filter": ">"})
    return {subject.removeprefix(f"$KV.{bucket}.") for subject in described["state"].get("subjects") or ()}


async def put(nc: Client, bucket: str, name: str, value: bytes = b"by hand", **headers: str) -> int:
    answer = json.loads((await nc.request(f"$KV.{bucket}.{name}", value, headers=headers or None)).data)
    return int(answer["seq"])


async def mark(nc: Client, bucket: str, name: str) -> int:
    """Leave a marker, as every client of a bucket does when it deletes."""
    return await put(nc, bucket, name, b"", **{"KV-Operation": "DEL"})


async def fill_with_markers(nc: Client, bucket: str, prefix: str, count: int) -> None:
    await plant(nc, bucket, {f"{prefix}.k{number}": b"" for number in range(count)}, {"KV-Operation": "DEL"})


# -- What goes, and what stays ------------------------------------------------------------------


async def test_markers_go_and_values_stay(nc: Client, bucket: str) -> None:
    """A bucket would fill with what is gone, or an agent would lose what is there."""
    store = await JetStreamStore.bind(nc, bucket, "p")
    for number in range(20):
        await store.create(f"k{number}", "d", f"text {number}", scope=None)
    for number in range(0, 20, 2):
        await store.delete(f"k{number}", scope=None)
    await store.create("k0", "d", "anew", scope=None)
    await put(nc, bucket, "p.not/ours")
    assert await compact_bucket(nc, bucket, older_than=0) == Compaction(seen=21, total=21, removed=9, is_whole=True)
    assert await names_in(nc, bucket) == {"p.k0", "p.not/ours", *(f"p.k{number}" for number in range(1, 20, 2))}
    assert (await store.read("k0", scope=None)).content == "anew"
    assert (await store.read("k19", scope=None)).content == "text 19"
    again = await compact_bucket(nc, bucket, older_than=0)
    assert (again.seen, again.removed, again.is_whole) == (12, 0, True)


async def test_a_create_that_was_given_up_goes_as_a_marker_does(nc: Client, bucket: str) -> None:
    """Its writer was killed before there was a place for it: no store shows it, and nobody else tidies up."""
    store = await JetStreamStore.bind(nc, bucket, "p")
    await store.create("k", "d", "c", scope=None)
    await put(nc, bucket, "p.given-up", **{"Jsm-New": "0-0"})
    assert await compact_bucket(nc, bucket) == Compaction(seen=2, total=2, young=1, is_whole=True)
    assert await compact_bucket(nc, bucket, older_than=0) == Compaction(seen=2, total=2, removed=1, is_whole=True)
    assert await names_in(nc, bucket) == {"p.k"}


async def test_a_marker_that_is_not_old_enough_stays(nc: Client, bucket: str) -> None:
    """A create that was given up, and comes late, would bring a deleted note back."""
    await mark(nc, bucket, "p.k")
    kept = await compact_bucket(nc, bucket)
    assert (kept.removed, kept.young, kept.is_whole) == (0, 1, True)
    assert await names_in(nc, bucket) == {"p.k"}


async def test_age_goes_by_the_clock_of_the_servers(nc: Client, bucket: str) -> None:
    """An operator whose own clock is an hour ahead would remove what was deleted just now."""

    class Behind(LossyConnection):
        """A server that an hour later knows of no other time than the markers' own."""

        async def request(self, subject: str, *arguments: Any, **options: Any) -> Any:
            answer = await super().request(subject, *arguments, **options)
            if subject.startswith("$JS.API.STREAM.INFO"):
                answer.data = json.dumps({**json.loads(answer.data), "ts": "2020-01-01T00:00:00.123456789Z"}).encode()
            return answer

    await mark(nc, bucket, "p.k")
    assert (await compact_bucket(Behind(nc), bucket, older_than=0)).young == 1


async def test_of_one_prefix_only_its_own_markers_go(nc: Client, bucket: str) -> None:
    """An operator who tidies up after one agent leaves the others alone."""
    for name in ("p.a", "p.b.c", "pp.a", "a"):
        await mark(nc, bucket, name)
    assert (await compact_bucket(nc, bucket, "p", older_than=0)).removed == 2
    assert await names_in(nc, bucket) == {"pp.a", "a"}
    assert (await compact_bucket(nc, bucket, "", older_than=0)).removed == 2


async def test_what_a_key_held_before_its_marker_goes_with_it(nc: Client) -> None:
    """Text that was deleted would be left readable in a bucket with a history."""
    name = f"history-{secrets.token_hex(6)}"
    await make_bucket(nc, name, max_msgs_per_subject=5)
    await put(nc, name, "p.k")
    await mark(nc, name, "p.k")
    assert (await compact_bucket(nc, name, older_than=0)).removed == 1
    assert await names_in(nc, name) == set()


async def test_a_name_that_stands_for_others_is_left_alone(nc: Client, bucket: str) -> None:
    """A marker that somebody published to a wildcard would take every note of the bucket with it."""
    await put(nc, bucket, "a.one")
    await put(nc, bucket, "a.two")
    for name in ("a.*", "*.one", "a.>", ">", "a.k"):
        await mark(nc, bucket, name)
    compaction = await compact_bucket(nc, bucket, older_than=0)
    assert (compaction.removed, compaction.odd, compaction.is_whole) == (1, 4, True)
    assert await names_in(nc, bucket) >= {"a.one", "a.two"}


async def test_a_header_of_another_program_ends_no_compaction(nc: Client, bucket: str) -> None:
    """One strange value would keep every marker behind it in the bucket."""
    await put(nc, bucket, "p.strange", Status="404")
    await fill_with_markers(nc, bucket, "p", 5000)
    assert (await compact_bucket(nc, bucket, older_than=0)).removed == 5000


async def test_on_replicas_no_walk_ends_before_it_has_begun(cluster_nc: Client, replicated_bucket: str) -> None:
    """Servers learn of a new consumer one after the other: three of a hundred walks found nobody there."""
    await plant(cluster_nc, replicated_bucket, {"p.k": b"by hand"})
    for _ in range(150):
        assert (await compact_bucket(cluster_nc, replicated_bucket, dry_run=True)).is_whole


# -- Bounds ------------------------------------------------------------------------------------


async def test_a_limit_is_kept_and_a_second_run_goes_on(nc: Client, bucket: str) -> None:
    """An operator tries it on a few before it is let loose."""
    await fill_with_markers(nc, bucket, "p", 50)
    first = await compact_bucket(nc, bucket, older_than=0, limit=20)
    assert (first.removed, first.is_whole) == (20, False)
    assert len(await names_in(nc, bucket)) == 30
    second = await compact_bucket(nc, bucket, older_than=0, limit=30)
    assert (second.removed, second.is_whole) == (30, True)


async def test_a_time_is_kept_and_a_second_run_goes_on(nc: Client, bucket: str) -> None:
    """A window of maintenance ends when it ends."""
    await fill_with_markers(nc, bucket, "p", 5000)
    told: list[Compaction] = []
    first = await compact_bucket(nc, bucket, older_than=0, at_most=1e-6, on_progress=told.append)
    assert (first.removed, first.is_whole) == (0, False)
    assert told[-1] == first
    assert (first.seen < 5000, first.total) == (True, 5000)
    second = await compact_bucket(nc, bucket, older_than=0, at_most=HOUR_S, on_progress=told.append)
    assert (second.removed, second.is_whole) == (5000, True)
    assert [each.total for each in told[1:]] == [5000] * len(told[1:])
    assert len(told) > 2
    assert await names_in(nc, bucket) == set()


async def test_a_dry_run_counts_the_same_and_removes_nothing(nc: Client, bucket: str) -> None:
    """Whoever looks first must see what would come of it."""
    for number in range(10):
        await mark(nc, bucket, f"p.k{number}")
    looked = await compact_bucket(nc, bucket, older_than=0, dry_run=True)
    assert (looked.removed, looked.is_dry_run, looked.is_whole) == (10, True, True)
    assert len(await names_in(nc, bucket)) == 10


async def test_cancelled_it_leaves_a_whole_bucket_and_no_consumer(nc: Client, bucket: str) -> None:
    """Ctrl-C is how most of them end on a large bucket."""
    await fill_with_markers(nc, bucket, "p", 5000)
    await put(nc, bucket, "p.kept")
    begun = asyncio.Event()
    compacting = asyncio.create_task(compact_bucket(nc, bucket, older_than=0, on_progress=lambda _: begun.set()))
    await begun.wait()
    compacting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await compacting
    assert (await ask(nc, f"CONSUMER.NAMES.KV_{bucket}"))["consumers"] in (None, [])
    assert (await compact_bucket(nc, bucket, older_than=0)).is_whole
    assert await names_in(nc, bucket) == {"p.kept"}


async def test_stopped_within_a_batch_it_has_told_what_it_had_removed(nc: Client, bucket: str) -> None:
    """An operator who reads that nothing was removed looks elsewhere for what is gone."""
    await fill_with_markers(nc, bucket, "p", 1000)
    connection, told = LossyConnection(nc), []
    compacting = asyncio.create_task(compact_bucket(connection, bucket, older_than=0, on_progress=told.append))
    while sum(".STREAM.PURGE." in subject for subject in connection.sent) < 200:
        await asyncio.sleep(0)
    compacting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await compacting
    rest = (await compact_bucket(nc, bucket, older_than=0)).removed
    # What was under way, side by side, may be gone without an answer.
    assert 150 <= told[-1].removed <= 1000 - rest <= told[-1].removed + 50
    assert not told[-1].is_whole


# -- While the bucket is in use ----------------------------------------------------------------


async def test_a_value_that_is_created_over_the_marker_meanwhile_stays(nc: Client, bucket: str) -> None:
    """Between the look at a marker and its removal an agent writes a note, and would lose it."""
    await mark(nc, bucket, "p.k")
    store = await JetStreamStore.bind(nc, bucket, "p")
    lossy = LossyConnection(nc)

    async def create() -> None:
        await store.create("k", "d", "new", scope=None)

    lossy.lose("request", "$JS.API.STREAM.PURGE", then=create)
    assert (await compact_bucket(lossy, bucket, older_than=0)).removed == 0
    assert (await store.read("k", scope=None)).content == "new"
    # And as a network would that held the first one back.
    await lossy.deliver(lossy.lost[0])
    assert (await store.read("k", scope=None)).content == "new"


async def test_a_lost_answer_is_asked_for_again(nc: Client, bucket: str) -> None:
    """One lost packet would end an hour's work."""
    for number in range(3):
        await mark(nc, bucket, f"p.k{number}")
    lossy = LossyConnection(nc)
    lossy.lose("answer", "$JS.API.STREAM.PURGE")
    lossy.lose("request", "$JS.API.STREAM.PURGE")
    assert (await compact_bucket(lossy, bucket, older_than=0)).is_whole
    assert await names_in(nc, bucket) == set()


async def test_a_bucket_that_is_made_anew_meanwhile_is_left_alone(nc: Client, bucket: str) -> None:
    """A backup that is restored counts its sequences as before: the note would be deleted once more."""
    await mark(nc, bucket, "p.k")
    lossy = LossyConnection(nc)

    async def restore() -> None:
        await ask(nc, f"STREAM.DELETE.KV_{bucket}")
        await make_bucket(nc, bucket)
        await put(nc, bucket, "p.k")

    lossy.lose("request", "$JS.API.STREAM.PURGE", then=restore)
    with pytest.raises(BackendUnavailableError, match="made anew"):
        await compact_bucket(lossy, bucket, older_than=0)
    assert await names_in(nc, bucket) == {"p.k"}


async def test_a_store_goes_on_near_its_last_place(nc: Client, bucket: str) -> None:
    """There a create is decided on the last sequence of the prefix, which may be that of a marker."""
    store = await JetStreamStore.bind(nc, bucket, "p")
    for start in range(0, 800, 50):
        await asyncio.gather(*(store.create(f"k{number}", "d", "c", scope=None) for number in range(start, start + 50)))
    await store.create("last", "d", "c", scope=None)
    for key in ("k0", "k1", "last"):
        await store.delete(key, scope=None)
    assert (await compact_bucket(nc, bucket, older_than=0)).removed == 3
    for key in ("last", "new", "k1"):
        await store.create(key, "d", "anew", scope=None)
    assert len(await store.list()) == 801


async def test_what_workers_write_and_delete_meanwhile_is_neither_lost_nor_back(nc: Client, bucket: str) -> None:
    """A compaction that runs every night runs while a fleet works, on keys that come and go."""
    await work_while_it_is_compacted(nc, bucket)


async def test_on_replicas_what_workers_write_and_delete_meanwhile_is_neither_lost_nor_back(
    cluster_nc: Client, replicated_bucket: str
) -> None:
    """There a create and a purge can be on their way at the same time."""
    await work_while_it_is_compacted(cluster_nc, replicated_bucket)


async def work_while_it_is_compacted(nc: Client, bucket: str) -> None:
    landed: Counter[str] = Counter()
    is_over = asyncio.Event()
    removed = 0

    async def compact() -> None:
        nonlocal removed
        while not is_over.is_set():
            removed += (await compact_bucket(nc, bucket, older_than=0)).removed

    async def work(number: int) -> None:
        store = await JetStreamStore.bind(nc, bucket, "p")
        draw = random.Random(number)
        scope = Scope()
        own = f"own{number}"
        for turn in range(60):
            # What is nobody else's must be exactly as it was left.
            await store.create(own, "d", str(turn), scope=scope)
            await store.update(own, "d", f"{turn}+", scope=scope)
            assert (await store.read(own, scope=scope)).content == f"{turn}+"
            assert await store.delete(own, scope=scope) is True
            assert await store.delete(own, scope=scope) is False
            # What all of them want is there as often as it was created and not deleted.
            key = f"shared{draw.randrange(3)}"
            if draw.random() < 0.5:
                with suppress(EntryExistsError):
                    await store.create(key, "d", own, scope=scope)
                    landed[key] += 1
            elif await store.delete(key, scope=scope):
                landed[key] -= 1

    compacting = asyncio.create_task(compact())
    try:
        await asyncio.gather(*(work(number) for number in range(6)))
    finally:
        is_over.set()
    await compacting
    assert removed > 0
    store = await JetStreamStore.bind(nc, bucket, "p")
    assert {item.key for item in await store.list()} == {key for key, count in landed.items() if count}
    assert set(landed.values()) <= {0, 1}


async def test_a_scope_of_before_overwrites_nothing_that_came_after(nc: Client, bucket: str) -> None:
    """A run that sleeps over the deletion of its note, and the compaction, must not take the new one for it."""
    store = await JetStreamStore.bind(nc, bucket, "p")
    asleep = Scope()
    await store.create("k", "d", "old", scope=asleep)
    await store.delete("k", scope=None)
    await compact_bucket(nc, bucket, older_than=0)
    resumed = Scope()
    resumed.restore(asleep.snapshot())
    for scope in (asleep, resumed):
        with pytest.raises(StaleEntryError):
            await store.update("k", "d", "blind", scope=scope)
    other = await JetStreamStore.bind(nc, bucket, "p")
    await other.create("k", "d", "new", scope=None)
    for scope in (asleep, resumed):
        with pytest.raises(StaleEntryError):
            await store.update("k", "d", "blind", scope=scope)
    assert (await store.read("k", scope=None)).content == "new"


# -- Refusals -----------------------------------------------------------------------------------


async def test_without_the_right_to_purge_it_is_denied_by_name() -> None:
    """An operator must learn which right is missing, and a worker must not have it."""
    examines = ["$JS.API.STREAM.INFO.KV_team"]
    workers = [
        Worker("ann", rights_in("team", "ann")),
        Worker("op", [*rights_in("team", "ann"), *examines]),
        Worker("whole", [*rights_in("team", "ann"), *examines, "$JS.API.STREAM.PURGE.KV_team"]),
    ]
    async with embedded_server(settings=ServerSettings(extra=account_of(*workers))) as server:
        async with plain_client(server.url, user="operator", password="secret") as operator:
            await make_bucket(operator, "team")
            await mark(operator, "team", "ann.k")

        async def compact(name: str, prefix: str | None = "ann") -> Compaction:
            login = {"user": name, "password": "secret", "inbox_prefix": f"_INBOX_{name}"}
            async with connect(servers=server.url, **login) as nc:
                return await compact_bucket(nc, "team", prefix, older_than=0)

        with pytest.raises(AccessDeniedError, match=r"STREAM\.INFO\.KV_team"):
            await compact("ann")
        with pytest.raises(AccessDeniedError, match=r"STREAM\.PURGE\.KV_team"):
            await compact("op")
        with pytest.raises(AccessDeniedError, match=r"CONSUMER\.CREATE"):
            await compact("whole", None)
        assert (await compact("whole")).removed == 1


@pytest.mark.parametrize(
    ("code", "stream"),
    [("bucket_deny_purge", {"deny_purge": True, "allow_rollup_hdrs": False}), ("bucket_sealed", {})],
)
async def test_a_bucket_that_gives_nothing_back_is_refused_with_what_replaces_it(
    nc: Client, code: str, stream: dict[str, object]
) -> None:
    """The server would refuse one marker after the other, and never change its mind."""
    name = f"for-good-{secrets.token_hex(6)}"
    config = (await make_bucket(nc, name, **stream))["config"]
    if not stream:
        await ask(nc, f"STREAM.UPDATE.KV_{name}", {**config, "sealed": True})
    with pytest.raises(BucketUnfitError) as refused:
        await compact_bucket(nc, name)
    (finding,) = refused.value.findings
    assert finding.code == code
    assert finding.cure.startswith(f"nats stream add KV_{name}-2 ")
    assert (await compact_bucket(nc, name, dry_run=True)).is_whole


async def test_what_cannot_be_meant_is_refused_before_anything_is_asked(nc: Client, bucket: str) -> None:
    """A typo must not be taken for the whole bucket, nor for every age."""
    lossy = LossyConnection(nc)
    with pytest.raises(InvalidOptionsError, match="bucket"):
        await compact_bucket(lossy, "a.b")
    with pytest.raises(InvalidKeyError):
        await compact_bucket(lossy, bucket, "a.*")
    for wrong in ({"older_than": -1}, {"older_than": float("nan")}, {"limit": 0}, {"at_most": 0}):
        ((option, value),) = wrong.items()
        with pytest.raises(InvalidOptionsError, match=option):
            await compact_bucket(lossy, bucket, **{option: value})  # type: ignore[arg-type]
    assert lossy.sent == []


async def test_a_missing_bucket_comes_with_the_line_that_makes_it(nc: Client) -> None:
    """A wrong name would look like a bucket that has nothing to remove."""
    with pytest.raises(BucketNotFoundError, match="nats kv add nowhere "):
        await compact_bucket(nc, "nowhere")
