"""What a doctor finds in a bucket: on real servers, with real credentials."""

import asyncio
import contextlib
import json
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest
from nats.aio.client import Client

from jsmemory import (
    BucketRecipe,
    Check,
    InvalidKeyError,
    InvalidOptionsError,
    JetStreamStore,
    Report,
    Scope,
    Verdict,
    WorkerPermissions,
    apply_recipe,
    connect,
    examine_bucket,
)
from jsmemory.examining.answers import Consumer
from jsmemory.examining.bucket import WALKED
from jsmemory.examining.census import BODIES, MANY_MARKERS, Census
from jsmemory.examining.clock import clock
from jsmemory.examining.consumers import judge
from jsmemory.examining.report import unknown
from jsmemory.examining.walking import Seen
from jsmemory.limits import MAX_ENTRIES, MAX_ENTRY_BYTES
from jsmemory.testing.lossy import LossyConnection
from jsmemory.testing.servers import (
    NatsCluster,
    NatsServer,
    ServerSettings,
    embedded_server,
    find_nats_server,
    local_server,
    make_bucket,
    plain_client,
    plant,
)

SECOND = 1_000_000_000
VALUE = b'---\ndescription: "about it"\n---\n\ntext'
OURS = {"Jsm-Desc": "about it", "Jsm-Op": "0" * 32}
MARKER = {"KV-Operation": "DEL"}


def check(report: Report, name: str) -> Check:
    """The check of a name; there is exactly one."""
    (found,) = [each for each in report.checks if each.name == name]
    return found


def codes(report: Report) -> set[str]:
    """What was found, in words for programs."""
    return {finding.code for finding in report.findings}


async def put(nc: Client, bucket: str, names: Sequence[str], value: bytes = VALUE, **headers: str) -> None:
    """Store a message under each name, past every store."""
    await plant(nc, bucket, dict.fromkeys(names, value), headers or OURS)


async def state_of(nc: Client, bucket: str) -> dict[str, Any]:
    """What the server says that is in a bucket."""
    state: dict[str, Any] = json.loads((await nc.request(f"$JS.API.STREAM.INFO.KV_{bucket}", b"")).data)["state"]
    return state


# -- A bucket that is well --------------------------------------------------------------------


async def test_a_bucket_as_it_should_be_on_one_server_gets_advice_only(nc: Client, bucket: str) -> None:
    """Whoever did everything right must not learn to overlook warnings."""
    name = f"{bucket}-2"
    await apply_recipe(nc, BucketRecipe(bucket=name, allow_rollup=False))
    store = await JetStreamStore.bind(nc, name, "alice")
    await store.create("note", "about it", "text", scope=None)
    for prefix in (None, "alice", ""):
        report = await examine_bucket(nc, name, prefix)
        assert (report.backend, report.location, report.verdict) == ("jetstream", name, Verdict.ADVICE)
        assert codes(report) == {"replicas_one"}
    assert "1 of 1,024" in check(await examine_bucket(nc, name, "alice"), "entries").said


async def test_on_a_cluster_it_is_simply_well(cluster_nc: Client, replicated_bucket: str) -> None:
    """Replicas, leader and followers are told, so that an operator sees that they were looked at."""
    report = await until(cluster_nc, replicated_bucket, lambda found: found == {"roll_ups_allowed"})
    assert report.verdict is Verdict.ADVICE
    assert check(report, "replicas").said == "3, and it goes on without 1"
    assert "leads" in check(report, "followers").said


@pytest.mark.parametrize("prefix", [None, "alice", ""])
async def test_looking_writes_nothing_and_leaves_nothing(nc: Client, bucket: str, prefix: str | None) -> None:
    """An operator who examines a bucket in use must find it afterwards as it was."""
    await put(nc, bucket, ["alice.one", "bob.two"])
    before = await state_of(nc, bucket)
    await examine_bucket(nc, bucket, prefix, thorough=True)
    assert await state_of(nc, bucket) == before


async def test_a_write_probe_leaves_a_marker_and_no_entry(nc: Client, bucket: str) -> None:
    """A check that fills the stores that it checks would be the fault that it looks for."""
    report = await examine_bucket(nc, bucket, "alice", write_probe=True)
    assert check(report, "write_probe").verdict is Verdict.OK
    assert await (await JetStreamStore.bind(nc, bucket, "alice")).list() == ()
    await examine_bucket(nc, bucket, write_probe=True)
    assert await (await JetStreamStore.bind(nc, bucket)).list() == ()


# -- What is wrong with a bucket --------------------------------------------------------------


async def test_a_ttl_that_was_set_after_the_bind_is_a_fault(nc: Client, bucket: str) -> None:
    """Fault 21: every memory would be gone, and the first to notice would be an agent without one."""
    store = await JetStreamStore.bind(nc, bucket)
    await store.create("note", "about it", "text", scope=Scope())
    config = json.loads((await nc.request(f"$JS.API.STREAM.INFO.KV_{bucket}", b"")).data)["config"]
    await nc.request(f"$JS.API.STREAM.UPDATE.KV_{bucket}", json.dumps(config | {"max_age": 3600 * SECOND}).encode())
    report = await examine_bucket(nc, bucket)
    assert report.verdict is Verdict.FAULT
    first = report.findings[0]
    assert (first.code, first.cure) == ("bucket_ttl", f"nats kv edit {bucket} --ttl=0s")


@pytest.mark.parametrize(
    ("stream", "code", "verdict"),
    [
        ({"storage": "memory"}, "bucket_in_memory", Verdict.FAULT),
        ({"max_msg_size": 65_536}, "bucket_value_cap", Verdict.FAULT),
        ({"allow_rollup_hdrs": True}, "roll_ups_allowed", Verdict.ADVICE),
        ({"allow_direct": False}, "direct_reads_off", Verdict.ADVICE),
        ({"max_msgs_per_subject": 5}, "history_kept", Verdict.ADVICE),
        ({"max_msgs_per_subject": -1}, "history_kept", Verdict.ADVICE),
        ({"republish": {"src": ">", "dest": "copies.>"}}, "bucket_republished", Verdict.ADVICE),
        ({"duplicate_window": 7200 * SECOND}, "duplicate_window_long", Verdict.ADVICE),
    ],
    ids=str,
)
async def test_a_setting_is_judged_by_whom_it_harms(
    nc: Client, bucket: str, stream: Mapping[str, object], code: str, verdict: Verdict
) -> None:
    """A doctor who cries at everything is not heard when memories vanish."""
    name = f"{bucket}-2"
    await make_bucket(nc, name, **({"allow_rollup_hdrs": False} | dict(stream)))
    report = await examine_bucket(nc, name)
    assert report.verdict is verdict
    (finding,) = [each for each in report.findings if each.code == code]
    assert finding.cure.startswith("nats ")


async def test_roll_ups_that_markers_bring_along_are_turned_off_together_with_them(nc: Client, bucket: str) -> None:
    """The server takes the bare edit, says nothing, and leaves them on."""
    name = f"{bucket}-2"
    await make_bucket(nc, name, allow_msg_ttl=True, subject_delete_marker_ttl=60 * SECOND)
    (finding,) = check(await examine_bucket(nc, name), "roll_ups").findings
    assert finding.cure.endswith("--subject-del-markers-ttl=0s --no-allow-rollup --force")


# -- How full it is -----------------------------------------------------------------------------


async def test_a_bucket_is_called_full_before_it_refuses_the_largest_entry(nc: Client, bucket: str) -> None:
    """The first sign of a full bucket must not be a note that was not kept."""
    name, limit = f"{bucket}-2", 1024 * 1024
    await make_bucket(nc, name, max_bytes=limit, max_msg_size=128 * 1024)
    said = []
    for filled in (1, 7, 8):
        await put(nc, name, [f"alice.k{number}" for number in range(filled)], b"x" * 122_000)
        report = await examine_bucket(nc, name)
        said.append((check(report, "bucket_bytes").verdict, codes(report) & {"bucket_nearly_full", "bucket_full"}))
    assert said == [
        (Verdict.OK, set()),
        (Verdict.WARNING, {"bucket_nearly_full"}),
        (Verdict.FAULT, {"bucket_full"}),
    ]
    (finding,) = check(report, "bucket_bytes").findings
    assert finding.cure == f"nats stream edit KV_{name} --max-bytes=2048K --force"


async def test_an_edit_does_not_turn_roll_ups_on_behind_an_operators_back(nc: Client, bucket: str) -> None:
    """A cure that opens the bucket to whoever wants to wipe it is worse than the fault."""
    name = f"{bucket}-2"
    await make_bucket(nc, name, max_bytes=200_000, allow_rollup_hdrs=False)
    await put(nc, name, ["alice.k"], b"x" * 130_000)
    (finding,) = check(await examine_bucket(nc, name), "bucket_bytes").findings
    assert finding.cure == f"nats stream edit KV_{name} --max-bytes=391K --force"


@pytest.mark.parametrize(
    ("count", "verdict"), [(MAX_ENTRIES * 7 // 10, Verdict.OK), (900, Verdict.WARNING), (MAX_ENTRIES, Verdict.FAULT)]
)
async def test_a_prefix_near_its_capacity_is_named(nc: Client, bucket: str, count: int, verdict: Verdict) -> None:
    """Agents cannot make room before they are told that there is none."""
    await put(nc, bucket, [f"alice.k{number}" for number in range(count)])
    await put(nc, bucket, ["bob.k"])
    assert check(await examine_bucket(nc, bucket, "alice"), "entries").verdict is verdict
    fullest = check(await examine_bucket(nc, bucket), "fullest")
    assert fullest.verdict is verdict
    assert "alice" in fullest.said


async def test_consumers_are_counted_against_what_is_let_in(nc: Client, bucket: str) -> None:
    """Every listing takes one: without a place for it no agent knows what it remembers."""
    name = f"{bucket}-2"
    await make_bucket(nc, name, max_consumers=16)
    js = nc.jetstream()
    for number in range(14):
        await js.add_consumer(f"KV_{name}", durable_name=f"d{number}", ack_policy="none")  # type: ignore[arg-type]
    assert check(await examine_bucket(nc, name), "consumers").verdict is Verdict.WARNING


async def test_consumers_that_nobody_uses_are_told_from_those_of_listings(nc: Client, bucket: str) -> None:
    """What an interrupted tool has left behind takes a place for ever."""
    ours = {"name": "ours", "config": {"inactive_threshold": 10 * SECOND}}
    left = {"name": "left $(behind)", "config": {"durable_name": "left"}}
    waited_for = {"name": "busy", "num_waiting": 1}
    now = datetime.now().astimezone()
    seen = [consumer(each | {"created": (now - timedelta(minutes=6)).isoformat()}) for each in (ours, left, waited_for)]
    (finding,) = judge(bucket, seen, now).findings
    assert finding.cure == f"nats consumer rm KV_{bucket} 'left $(behind)' --force"
    assert "1 of the bucket's consumers" in finding.problem
    assert judge(bucket, seen, now - timedelta(minutes=4)).verdict is Verdict.OK


async def test_what_is_left_of_deleted_keys_is_noticed_when_it_piles_up(nc: Client, bucket: str) -> None:
    """Fault 38: every listing passes by all of it, and nothing else tells why it takes longer and longer."""
    await put(nc, bucket, [f"alice.gone{number}" for number in range(MANY_MARKERS)], b"", **MARKER)
    for prefix in (None, "alice"):
        report = await examine_bucket(nc, bucket, prefix)
        (finding,) = check(report, "markers").findings
        assert finding.code == "markers_piled_up"
        of_whom = "" if prefix is None else f" --prefix {prefix}"
        assert finding.cure.startswith(f"jsmemory compact --bucket {bucket}{of_whom}; ")
    assert check(await examine_bucket(nc, bucket, "bob"), "markers").verdict is Verdict.OK


# -- What is in it ------------------------------------------------------------------------------


async def test_what_other_programs_put_there_is_told_with_what_it_means(nc: Client, bucket: str) -> None:
    """What no store shows can only be found here."""
    await put(nc, bucket, ["alice.note", "alice.a/b", "alice.Ümlaut"])
    await put(nc, bucket, ["alice.raw"], b"no header at all", Other="1")
    await put(nc, bucket, ["alice.fine"], VALUE, Other="1")
    await put(nc, bucket, ["alice.huge"], b"x" * (MAX_ENTRY_BYTES + 1), **OURS)
    for prefix in ("alice", None):
        report = await examine_bucket(nc, bucket, prefix)
        assert codes(report) >= {"foreign_keys", "header_unreadable", "oversize"}
        assert check(report, "foreign_keys").findings[0].cure.endswith(f"nats kv del {bucket} alice.a/b --force")
        assert r"alice.\xdcmlaut" in check(report, "foreign_keys").said
        assert "alice.raw" in check(report, "descriptions").said
        assert "alice.fine" not in check(report, "descriptions").said
        assert "alice.huge" in check(report, "oversize").said
    assert f"--bucket {bucket} --prefix alice read raw" in check(report, "descriptions").findings[0].cure
    assert not codes(await examine_bucket(nc, bucket, "bob")) & {"foreign_keys", "header_unreadable", "oversize"}


async def test_a_large_bucket_is_sampled_and_says_so(nc: Client, bucket: str) -> None:
    """A check that takes minutes is not made; one that looked at a part must not pass for the whole."""
    count = WALKED + 1_000
    await put(nc, bucket, [f"a{number % 6}.k{number}" for number in range(count)], b"", **MARKER)
    await put(nc, bucket, ["full.note" + str(number) for number in range(900)])
    report = await examine_bucket(nc, bucket)
    assert f"256 of {count + 900:,} were drawn" in check(report, "contents").said
    assert check(report, "markers").findings[0].code == "markers_piled_up"
    whole = await examine_bucket(nc, bucket, thorough=True)
    assert f"{count:,} beside 900 entries" in check(whole, "markers").said
    assert "contents" not in {each.name for each in whole.checks}
    assert check(whole, "fullest").findings[0].problem.startswith("The store of full is nearly full, 900")


def test_counting_takes_no_more_memory_for_more_names() -> None:
    """A bucket of a million entries must be examined on a host that has nothing to spare."""
    census = Census(None)
    for number in range(20_000):
        census.take(Seen(f"p{number}.key", 0, is_value=True, is_described=False))
        census.take(Seen(f"p{number}.a/b", MAX_ENTRY_BYTES + 1, is_value=True, is_described=False))
    assert census.values == census.foreign.count == 20_000
    assert len(census.unlooked) == BODIES
    assert len(census.by_prefix) <= 10_000
    assert len(census.foreign.names) + len(census.oversize.names) <= 6


# -- Who may what -------------------------------------------------------------------------------


WORKERS = (
    WorkerPermissions(bucket="team", prefix="alice"),
    WorkerPermissions(bucket="team", prefix="alice", read_only=True),
)


def accounts() -> str:
    """An account with an operator, two workers, and somebody without any right; and one without JetStream."""
    users = [
        {"user": "operator", "password": "p"},
        *(
            {
                "user": worker.worker,
                "password": "p",
                "permissions": {"publish": list(worker.publish), "subscribe": list(worker.subscribe)},
            }
            for worker in WORKERS
        ),
        {"user": "nobody", "password": "p", "permissions": {"publish": {"deny": ">"}, "subscribe": ["_INBOX.>"]}},
    ]
    bare = [{"user": "bare", "password": "p"}]
    return f"accounts: {json.dumps({'WORK': {'jetstream': 'enabled', 'users': users}, 'BARE': {'users': bare}})}"


@pytest.fixture(scope="module")
def guarded() -> Iterator[NatsServer]:
    """A server with these accounts, and the bucket team in it."""

    async def make(url: str) -> None:
        async with plain_client(url, user="operator", password="p") as operator:
            await make_bucket(operator, "team", allow_rollup_hdrs=False)

    with local_server(settings=ServerSettings(extra=accounts())) as server:
        asyncio.run(make(server.url))
        yield server


async def as_user(server: NatsServer, user: str, prefix: str | None, **how: Any) -> Report:
    """What the doctor finds with somebody's credentials."""
    inbox = None if user in ("operator", "nobody", "bare") else f"_INBOX_{user}"
    async with connect(servers=server.url, user=user, password="p", inbox_prefix=inbox) as nats:
        return await examine_bucket(nats, "team", prefix, **how)


async def test_a_worker_with_the_rights_of_its_prefix_is_fine(guarded: NatsServer) -> None:
    """A worker checks itself where it is deployed; what only its operator may see is no fault of it."""
    report = await as_user(guarded, "alice", "alice", write_probe=True)
    assert report.verdict is Verdict.ADVICE
    assert codes(report) == {"may_not_examine"}
    assert [check(report, f"may_{right}").verdict for right in ("read", "list", "write")] == [Verdict.OK] * 3
    assert check(report, "write_probe").verdict is Verdict.OK


async def test_a_right_that_is_missing_is_named_as_it_has_to_be_granted(guarded: NatsServer) -> None:
    """ "Unavailable" would send an operator to look at a server that is well."""
    report = await as_user(guarded, "alice", "bob")
    assert report.verdict is Verdict.DENIED
    assert codes(report) >= {"may_not_read", "may_not_list", "may_not_write"}
    (finding,) = check(report, "may_write").findings
    assert '"$KV.team.bob.>"' in finding.cure
    assert finding.cure.endswith("jsmemory permissions --bucket team --prefix bob")
    assert '"$JS.API.CONSUMER.CREATE.KV_team.*.$KV.team.bob.>"' in check(report, "may_list").findings[0].cure


async def test_who_is_to_read_only_is_not_blamed_for_not_writing(guarded: NatsServer) -> None:
    """And who is to write, and may not, is."""
    reader = await as_user(guarded, "alice_reader", "alice", read_only=True)
    assert reader.verdict is Verdict.ADVICE
    writer = await as_user(guarded, "alice_reader", "alice")
    assert (writer.verdict, codes(writer) - {"may_not_examine"}) == (Verdict.DENIED, {"may_not_write"})


@pytest.mark.parametrize("bare", [False, True], ids=["supervised", "bare"])
@pytest.mark.parametrize("read_only", [False, True], ids=["writer", "reader"])
@pytest.mark.parametrize("isolated", [False, True], ids=["flat", "isolated"])
async def test_whoever_has_what_is_printed_for_it_is_fine(
    grounds: Any, isolated: bool, read_only: bool, bare: bool
) -> None:
    """Rights that were pasted, and then found wanting, make an operator grant them all."""
    worker = WorkerPermissions(bucket="team", prefix="alice", read_only=read_only, isolated=isolated)
    async with (
        grounds.server(worker, allow_rollup_hdrs=False) as server,
        (grounds.bare if bare else grounds.connection)(server.url, worker) as nats,
    ):
        report = await examine_bucket(
            nats, "team", "alice", read_only=read_only, write_probe=not read_only, api_prefix=worker.api_prefix
        )
    assert report.verdict is Verdict.ADVICE
    assert codes(report) == ({"replicas_one"} if isolated else {"may_not_examine"})
    assert check(report, "entries").verdict is Verdict.OK


async def test_who_may_nothing_at_all_hears_so(guarded: NatsServer) -> None:
    """The credentials of another system, pasted into this one."""
    report = await as_user(guarded, "nobody", None)
    assert report.verdict is Verdict.DENIED
    assert codes(report) >= {"may_not_read", "may_not_list", "may_not_write", "may_not_examine"}


async def test_an_account_without_jetstream_is_told_from_a_server_without(guarded: NatsServer) -> None:
    """The one is mended with a line in an account, the other with a disk."""
    report = await as_user(guarded, "bare", None)
    assert (report.verdict, codes(report)) == (Verdict.FAULT, {"account_without_jetstream"})
    without = ServerSettings(extra="accounts: { A: { users: [{ user: u, password: p }] } }, no_auth_user: u")
    async with embedded_server(settings=without) as server, plain_client(server.url) as client:
        assert codes(await examine_bucket(client, "team")) == {"account_without_jetstream"}


async def test_a_server_without_jetstream_is_told_at_once(tmp_path: Path) -> None:
    """Whoever forgot one line of a configuration must not wait for an answer that cannot come."""
    program = find_nats_server()
    process = subprocess.Popen([program, "-a", "127.0.0.1", "-p", "-1", "--ports_file_dir", tmp_path])
    try:
        ports = tmp_path / f"{program.name}_{process.pid}.ports"
        async with asyncio.timeout(30):
            while not ports.exists() or not ports.read_text():
                await asyncio.sleep(0.02)
        async with plain_client(json.loads(ports.read_text())["nats"][0]) as client:
            report = await examine_bucket(client, "team")
    finally:
        process.kill()
        process.wait()
    assert (report.verdict, codes(report)) == (Verdict.FAULT, {"server_without_jetstream"})


# -- Who is there -------------------------------------------------------------------------------


async def test_a_wrong_name_is_answered_with_the_one_that_was_meant(nc: Client, bucket: str) -> None:
    """A letter left out in a deployment's configuration."""
    report = await examine_bucket(nc, bucket[:-1])
    assert (report.verdict, codes(report)) == (Verdict.FAULT, {"bucket_not_found"})
    assert f"There is one called {bucket}." in report.findings[0].problem
    assert report.findings[0].cure.startswith(f"nats kv add {bucket[:-1]} ")


@pytest.mark.parametrize("bucket", ["", "a.b", "a b", "b" * 201])
async def test_a_name_that_no_bucket_can_have_is_refused(nc: Client, bucket: str) -> None:
    """It would become a part of subjects that mean something else."""
    with pytest.raises(InvalidOptionsError):
        await examine_bucket(nc, bucket)
    with pytest.raises(InvalidKeyError):
        await examine_bucket(nc, "team", "a.b")


async def test_a_replica_that_is_away_is_noticed_and_then_that_nothing_can_be_written(
    fresh_cluster: NatsCluster,
) -> None:
    """The first crash is survived in silence; it must not be the second one that is noticed."""
    async with plain_client(*fresh_cluster.urls) as client:
        await make_bucket(client, "team", replicas=3)
    first, second = await fresh_cluster.followers_of("KV_team")
    leader = await fresh_cluster.leader_of("KV_team")
    async with plain_client(leader.url) as client:
        first.kill()
        report = await until(client, "team", lambda found: "replica_away" in found)
        (finding,) = check(report, "followers").findings
        assert finding.cure == f"start the servers again: {first.name}"
        second.kill()
        report = await until(client, "team", lambda found: found & {"majority_away", "bucket_unanswered"})
        assert report.verdict is Verdict.UNANSWERED
        # After some 20 s the last one gives the lead up, and lists itself among those that it does not hear of.
        report = await until(client, "team", lambda found: "no_leader" in found)
    (finding,) = check(report, "replicas").findings
    names = ", ".join(sorted((first.name, second.name)))
    assert finding.cure == f"start the servers again: {names}"
    assert f"has no leader: {names} are away." in finding.problem
    assert not {each.name for each in report.checks} & {"followers", "may_read", "may_list", "may_write", "contents"}


async def test_a_leader_that_was_lost_is_away_for_the_one_that_follows_it(fresh_cluster: NatsCluster) -> None:
    """The new leader never heard of it, and shows it as if it were there and a little late."""
    async with plain_client(*fresh_cluster.urls) as client:
        await make_bucket(client, "team", replicas=3)
        lost = await fresh_cluster.leader_of("KV_team")
        lost.kill()
        await fresh_cluster.leader_of("KV_team")
        report = await until(client, "team", lambda found: found & {"replica_away", "replica_behind"})
        (finding,) = check(report, "followers").findings
        assert (finding.code, finding.cure) == ("replica_away", f"start the servers again: {lost.name}")


class Unheard(LossyConnection):
    """A connection over which a listing gets no answer, though whoever asks for one consumer gets it."""

    async def publish(self, *_: Any, **__: Any) -> None:
        return


@pytest.mark.parametrize(
    ("lost", "code"),
    [
        ("$JS.API.INFO", "service_unanswered"),
        ("$JS.API.CONSUMER.LIST.", "consumers_unanswered"),
        (None, "contents_unanswered"),
    ],
)
async def test_what_is_not_answered_is_no_good_news(nc: Client, bucket: str, lost: str | None, code: str) -> None:
    """In the first seconds after a crash much stays without an answer, and a pipeline would take that for well."""
    lossy = Unheard(nc) if lost is None else LossyConnection(nc)
    if lost is not None:
        lossy.lose("request", lost, times=2)
    report = await examine_bucket(lossy, bucket)
    assert report.verdict is Verdict.UNANSWERED
    assert code in codes(report)


def test_what_nobody_can_see_is_no_finding() -> None:
    """A program that is told "unknown", and ends with 0, cannot tell which of the two counts."""
    assert Report("jetstream", "team", (unknown("sync_interval", "no client can see it"),)).verdict is Verdict.OK


async def test_one_replica_of_a_cluster_is_a_warning_with_the_command(
    cluster_nc: Client, replicated_bucket: str
) -> None:
    """Whoever pays for three servers must not lose the bucket with one."""
    name = f"{replicated_bucket}-1"
    await make_bucket(cluster_nc, name, replicas=1)
    report = await until(cluster_nc, name, lambda found: "replicas_one" in found)
    (finding,) = check(report, "replicas").findings
    assert finding.cure == f"nats stream edit KV_{name} --replicas=3 --force"
    assert check(report, "replicas").verdict is Verdict.WARNING


async def until(nc: Client, bucket: str, is_so: Callable[[set[str]], object]) -> Report:
    """The report as soon as its findings are so: a cluster needs a moment to know what is the case."""
    async with asyncio.timeout(90):
        while not is_so(codes(report := await examine_bucket(nc, bucket))):
            await asyncio.sleep(0.1)
    return report


# -- What servers tell on their own pages -------------------------------------------------------


@pytest.mark.parametrize(("interval", "verdict"), [("always", Verdict.OK), ("2m", Verdict.WARNING)])
async def test_when_a_server_syncs_is_read_from_its_page(interval: str, verdict: Verdict) -> None:
    """No client can see it, and a power cut tells it too late."""
    async with embedded_server(monitor=True, settings=ServerSettings(sync_interval=interval)) as server:
        await make_bucket(server.url, "team")
        async with plain_client(server.url) as client:
            report = await examine_bucket(client, "team", monitors=[str(server.monitor_url)])
            without = await examine_bucket(client, "team")
    assert check(report, "sync_interval").verdict is verdict
    assert check(report, "sync_interval").said.startswith(f"{server.name}: ")
    assert check(without, "sync_interval").verdict is Verdict.UNKNOWN


async def test_a_page_that_is_none_is_a_warning_and_its_address_is_not_repeated(
    nc: Client, bucket: str, nats_server: NatsServer
) -> None:
    """A report is pasted into tickets."""
    address = nats_server.url.replace("nats://", "http://")
    report = await examine_bucket(nc, bucket, monitors=[address])
    assert check(report, "monitor").findings[0].code == "monitor_silent"
    assert str(nats_server.port) not in str(report)
    assert "127.0.0.1" not in str(report)


async def test_a_page_that_does_not_end_is_not_waited_for(nc: Client, bucket: str) -> None:
    """Behind a wrong address something answers byte by byte, and a doctor that hangs tells nobody anything."""

    left = asyncio.Event()

    async def drip(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError):
            await reader.readuntil(b"\r\n\r\n")
            writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
            while True:
                writer.write(b" ")
                await writer.drain()
                await asyncio.sleep(0.1)
        writer.transport.abort()
        left.set()

    server = await asyncio.start_server(drip, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with asyncio.timeout(60):
        report = await examine_bucket(nc, bucket, monitors=[f"http://127.0.0.1:{port}"])
        await left.wait()
    server.close()
    assert check(report, "monitor").findings[0].code == "monitor_silent"


@pytest.mark.parametrize("address", ["", "n1", "ftp://n1", "http://", "http://ada:secret@n1:8222", "http://n1:port"])
async def test_what_is_no_address_is_refused_without_being_repeated(nc: Client, bucket: str, address: str) -> None:
    """A password in it ends up in a log."""
    with pytest.raises(InvalidOptionsError) as refused:
        await examine_bucket(nc, bucket, monitors=[address])
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize(
    ("seconds", "verdict"), [(0, Verdict.OK), (4, Verdict.OK), (-30, Verdict.WARNING), (30, Verdict.WARNING)]
)
def test_a_clock_that_is_wrong_is_told(seconds: int, verdict: Verdict) -> None:
    """Credentials that seem expired send an operator to look for thieves."""
    now = datetime.now().astimezone()
    told = clock((now + timedelta(seconds=seconds)).isoformat(), now, now + timedelta(milliseconds=20))
    assert told.verdict is verdict
    assert clock("never", now, now).verdict is Verdict.UNKNOWN
    assert clock("2026-01-01T00:00:00", now, now).verdict is Verdict.UNKNOWN


def consumer(fields: Mapping[str, object]) -> Consumer:
    """A consumer as a server describes it."""
    return msgspec.convert(fields, Consumer)
