"""The JetStream journal: lost answers, unfit streams, foreign messages, replicas."""

import asyncio
import json
import secrets
from collections.abc import AsyncIterator
from typing import Any

import pytest
from nats.aio.client import Client

from jsmemory.errors import (
    AccessDeniedError,
    BackendUnavailableError,
    InvalidOptionsError,
    JournalCorruptError,
    OutcomeUnknownError,
    RunClaimedError,
    RunExistsError,
    RunNotFoundError,
    StreamNotFoundError,
    StreamUnfitError,
)
from jsmemory.journal import records
from jsmemory.journal.claiming import Claimed, claim, start
from jsmemory.journal.jetstream import JetStreamJournal
from jsmemory.journal.jetstream import reading as stream_reading
from jsmemory.journal.jetstream.recipe import is_stream_name, nats_stream_add
from jsmemory.journal.journal import Tail
from jsmemory.testing.lossy import LossyConnection
from jsmemory.testing.servers import NatsCluster, NatsServer, ServerSettings, embedded_server, plain_client
from jsmemory.testing.servers.users import Worker, account_of
from jsmemory.testing.streams import make_stream

SNAPSHOT = {"version": 1, "realms": {"realm": {"k": "1"}}}


@pytest.fixture
def lossy(nc: Client) -> LossyConnection:
    return LossyConnection(nc)


@pytest.fixture
async def journal(lossy: LossyConnection, stream: str) -> JetStreamJournal:
    return await JetStreamJournal.bind(lossy, stream)


@pytest.fixture
async def hasty(lossy: LossyConnection, stream: str) -> JetStreamJournal:
    """The same journal, for who gives up soon."""
    return await JetStreamJournal.bind(lossy, stream, budget=2)


@pytest.fixture
async def other(nc: Client, stream: str) -> JetStreamJournal:
    return await JetStreamJournal.bind(nc, stream)


@pytest.fixture
def appends(stream: str) -> str:
    """What the subjects of appends begin with."""
    return f"jsmemory.journal.{stream}."


async def suspend(journal: JetStreamJournal, run_id: str, tail: Tail) -> Tail:
    tail = await journal.append(run_id, records.terminal("suspended"), after=tail)
    return await journal.append(run_id, records.memory_revisions(SNAPSHOT, "suspended"), after=tail)


# -- Lost answers ---------------------------------------------------------------------------


@pytest.mark.parametrize("what", ["request", "answer"])
@pytest.mark.parametrize("times", [1, 3])
async def test_an_append_that_lost_something_has_landed_once(
    journal: JetStreamJournal, lossy: LossyConnection, appends: str, what: str, times: int
) -> None:
    """A host told that its own record was another's would give up its run."""
    lossy.lose(what, appends, times=times)
    tail = await start(journal, "night")
    lossy.lose(what, appends, times=times)
    tail = await journal.append("night", records.host("message", 1), after=tail)
    tail = await suspend(journal, "night", tail)
    lossy.lose(what, appends, times=times)
    claimed = await claim(journal, "night")
    assert (claimed.state.records, claimed.state.claims) == (5, 1)
    await suspend(journal, "night", claimed.tail)


async def test_a_lost_claim_that_another_overtook_is_refused(
    journal: JetStreamJournal, other: JetStreamJournal, lossy: LossyConnection, appends: str
) -> None:
    await suspend(journal, "night", await start(journal, "night"))
    lossy.lose("request", appends, then=lambda: claim(other, "night"))
    with pytest.raises(RunClaimedError):
        await claim(journal, "night")
    assert (await other.state("night")).claims == 1


async def test_a_claim_that_landed_and_was_gone_on_with_since_is_ours(
    journal: JetStreamJournal, other: JetStreamJournal, lossy: LossyConnection, appends: str
) -> None:
    """Its answer was lost, and meanwhile an operator took the run over: the claim landed all the same."""
    await suspend(journal, "night", await start(journal, "night"))
    lossy.lose("answer", appends, then=lambda: claim(other, "night", take_over=True))
    claimed = await claim(journal, "night")
    assert (claimed.state.claims, claimed.state.records) == (1, 4)
    with pytest.raises(RunClaimedError):
        await journal.append("night", records.host("message", 1), after=claimed.tail)


async def test_an_append_that_cannot_be_settled_says_exactly_that(
    hasty: JetStreamJournal, other: JetStreamJournal, lossy: LossyConnection, appends: str
) -> None:
    tail = await start(other, "night")
    lossy.lose("answer", appends)
    lossy.lose("request", "", times=1000)
    with pytest.raises(OutcomeUnknownError):
        await hasty.append("night", records.host("message", 1), after=tail)
    assert (await other.state("night")).records == 2


async def test_an_append_that_nobody_heard_was_not_written(
    journal: JetStreamJournal, other: JetStreamJournal, lossy: LossyConnection, nc: Client
) -> None:
    tail = await start(journal, "night")
    await nc.close()
    with pytest.raises(BackendUnavailableError):
        await journal.append("night", records.host("message", 1), after=tail)


async def test_an_append_that_arrives_late_lands_behind_nothing_new(
    hasty: JetStreamJournal, other: JetStreamJournal, lossy: LossyConnection, appends: str
) -> None:
    """A network that held back a dead worker's record would put it into its successor's run."""
    tail = await start(other, "night")
    lossy.lose("request", appends, times=1000)
    with pytest.raises(OutcomeUnknownError):
        await hasty.append("night", records.host("message", "late"), after=tail)
    lossy.heal()
    await claim(other, "night", take_over=True)
    for late in lossy.lost:
        await lossy.deliver(late)
    state = await other.state("night")
    assert (state.records, state.claims) == (2, 1)


@pytest.mark.parametrize("lost", ["$JS.API.STREAM.MSG.GET", "$JS.API.DIRECT.GET"])
async def test_questions_are_asked_again(journal: JetStreamJournal, lossy: LossyConnection, lost: str) -> None:
    await suspend(journal, "night", await start(journal, "night"))
    lossy.lose("request", lost)
    assert (await claim(journal, "night")).state.snapshot == SNAPSHOT


@pytest.mark.parametrize("is_left", [True, False])
async def test_a_claim_takes_three_round_trips(
    journal: JetStreamJournal, lossy: LossyConnection, stream: str, is_left: bool
) -> None:
    """A host that resumes a thousand runs would wait for each."""
    tail = await start(journal, "night")
    for number in range(100):
        tail = await journal.append("night", records.host("message", number), after=tail)
    if is_left:
        await suspend(journal, "night", tail)
    lossy.sent.clear()
    await claim(journal, "night", take_over=not is_left)
    assert lossy.sent == [
        f"$JS.API.STREAM.MSG.GET.{stream}",
        f"$JS.API.DIRECT.GET.{stream}",
        f"jsmemory.journal.{stream}.night",
    ]


# -- Reading --------------------------------------------------------------------------------


async def test_a_long_run_is_read_in_pages(journal: JetStreamJournal, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run of a year would not fit the memory of the host that goes on with it."""
    monkeypatch.setattr(stream_reading, "BATCH", 3)
    tail = await start(journal, "night")
    for number in range(20):
        tail = await journal.append("night", records.host("message", number), after=tail)
        await start(journal, f"other-{number}")
    pages = [page async for page in journal.pages("night")]
    assert max(len(page) for page in pages) == 3
    assert [line.position for page in pages for line in page] == sorted({1, *range(2, 42, 2)})
    assert [record.data async for record in journal.history("night")] == list(range(20))
    assert (await journal.state("night", until=tail)).records == 21


async def test_a_record_that_was_deleted_is_missed(nc: Client) -> None:
    """An operator's purge would take a snapshot out of the run, and an older one would count again."""
    name = "deletable"
    await make_stream(nc, name, deny_delete=False)
    journal = await JetStreamJournal.bind(nc, name)
    tail = await start(journal, "night")
    tail = await journal.append("night", records.host("message", 1), after=tail)
    tail = await suspend(journal, "night", tail)
    await nc.request(f"$JS.API.STREAM.MSG.DELETE.{name}", json.dumps({"seq": 2}).encode())
    with pytest.raises(JournalCorruptError, match="does not follow") as refused:
        await journal.state("night")
    assert (refused.value.record, refused.value.position) == (2, 3)
    assert [(run.run_id, run.status) for run in await journal.runs()] == [("night", "suspended")]


@pytest.mark.parametrize("planted", [b"nonsense", records.encode(records.memory_revisions(SNAPSHOT, "suspended")), b""])
async def test_a_message_of_another_program_is_no_record(
    journal: JetStreamJournal, nc: Client, appends: str, planted: bytes
) -> None:
    """Whoever can publish to the subject would hand a run an authority that it never earned."""
    await suspend(journal, "night", await start(journal, "night"))
    await nc.request(f"{appends}night", planted)
    with pytest.raises(JournalCorruptError) as refused:
        await claim(journal, "night")
    assert (refused.value.record, refused.value.position) == (4, 4)


async def test_a_message_that_nests_without_end_hides_no_other_run(
    journal: JetStreamJournal, nc: Client, appends: str
) -> None:
    """Whoever can publish to one subject would keep all runs of the journal from being listed."""
    await suspend(journal, "day", await start(journal, "day"))
    await suspend(journal, "night", await start(journal, "night"))
    await nc.request(f"{appends}night", b'{"kind":"host","name":"x","at":1,"data":' + b"[" * 100_000)
    assert {run.run_id: run.status for run in await journal.runs()} == {"day": "suspended", "night": None}
    with pytest.raises(JournalCorruptError):
        await claim(journal, "night")


@pytest.mark.parametrize(
    "headers", [{"Status": "404"}, {"Status": "204"}, {"Nats-Sequence": "1"}, {"Nats-Sequence": "x"}]
)
async def test_a_message_that_looks_like_an_answer_of_the_server_is_no_record(
    journal: JetStreamJournal, nc: Client, appends: str, headers: dict[str, str]
) -> None:
    """One such message, taken for the end of an answer, would keep all runs of the journal from being listed."""
    await suspend(journal, "night", await start(journal, "night"))
    await nc.request(f"{appends}night", b"{}", headers=headers)
    with pytest.raises(JournalCorruptError):
        await journal.state("night")
    assert [(run.run_id, run.status) for run in await journal.runs()] == [("night", None)]


async def test_a_run_whose_stream_was_made_anew_is_gone(journal: JetStreamJournal, nc: Client, stream: str) -> None:
    tail = await suspend(journal, "night", await start(journal, "night"))
    await nc.request(f"$JS.API.STREAM.DELETE.{stream}", b"")
    with pytest.raises(BackendUnavailableError, match="gone"):
        await journal.last("night")
    await make_stream(nc, stream)
    with pytest.raises(RunNotFoundError):
        await journal.append("night", records.claim(), after=tail)
    await start(journal, "night")
    with pytest.raises(RunClaimedError):
        await journal.append("night", records.claim(), after=tail)


async def test_many_runs_are_listed(journal: JetStreamJournal) -> None:
    await asyncio.gather(*(start(journal, f"run-{number}") for number in range(100)))
    assert {run.run_id for run in await journal.runs()} == {f"run-{number}" for number in range(100)}


# -- Streams --------------------------------------------------------------------------------


async def test_a_missing_stream_is_said_with_the_line_that_makes_it(nc: Client) -> None:
    """An operator would have to guess the subjects."""
    with pytest.raises(StreamNotFoundError) as refused:
        await JetStreamJournal.bind(nc, "nowhere")
    assert refused.value.cure == nats_stream_add("nowhere")
    assert "--subjects='jsmemory.journal.nowhere.>'" in str(refused.value)


@pytest.mark.parametrize("name", ["", "a.b", "a b", "a>", "n" * 33, "ä", "runs\n"])
async def test_a_name_that_no_stream_has_is_refused_before_anything_is_asked(lossy: LossyConnection, name: str) -> None:
    assert not is_stream_name(name)
    with pytest.raises(InvalidOptionsError, match="stream"):
        await JetStreamJournal.bind(lossy, name)
    assert not lossy.sent


async def test_a_bind_to_a_silent_server_ends_within_its_timeout(nc: Client, stream: str) -> None:
    """A wrong address surfaces at the start of a run, not as a run that never starts."""
    async with asyncio.timeout(10):
        with pytest.raises(BackendUnavailableError):
            await JetStreamJournal.bind(nc, stream, bind_timeout=0.3, api_prefix="nobodys.API")


@pytest.mark.parametrize("option", ["budget", "bind_timeout"])
async def test_seconds_that_are_out_of_range_are_refused_by_name(nc: Client, stream: str, option: str) -> None:
    """A budget of nothing would fail every call, and one without an end would hang a run."""
    for seconds in (0, 301, float("nan")):
        with pytest.raises(InvalidOptionsError, match=option):
            await JetStreamJournal.bind(nc, stream, **{option: seconds})
    unlimited: Any = None
    with pytest.raises(InvalidOptionsError, match="budget"):
        await JetStreamJournal.bind(nc, stream, budget=unlimited)


UNFIT = {
    "stream_in_memory": {"storage": "memory"},
    "stream_async": {"persist_mode": "async"},
    "stream_retention": {"retention": "workqueue"},
    "stream_retention/interest": {"retention": "interest"},
    "stream_counter": {"allow_msg_counter": True, "discard": "old"},
    "stream_mirror": {"mirror": {"name": "origin"}, "subjects": None},
    "stream_sources": {"sources": [{"name": "origin"}]},
    "stream_max_age": {"max_age": 3_600_000_000_000},
    "stream_max_msgs_per_subject": {"max_msgs_per_subject": 10},
    "stream_discards_old": {"discard": "old", "max_bytes": 1_000_000},
    "stream_discards_old/msgs": {"discard": "old", "max_msgs": 100},
    "stream_max_msg_size": {"max_msg_size": 65_536},
    "stream_no_ack": {"no_ack": True},
    "stream_allow_direct": {"allow_direct": False},
    "stream_subjects": {"subjects": ["elsewhere.{name}.>"]},
    "stream_transform": {"subject_transform": {"src": ">", "dest": "renamed.>"}},
}


@pytest.mark.parametrize("code", UNFIT)
async def test_a_stream_that_loses_or_refuses_records_is_refused(nc: Client, code: str) -> None:
    """A suspended run would fade away, and nobody would be told until it is resumed."""
    name = f"unfit-{secrets.token_hex(6)}"
    await nc.request("$JS.API.STREAM.CREATE.origin", json.dumps({"name": "origin", "subjects": ["o"]}).encode())
    differs = json.loads(json.dumps(UNFIT[code]).replace("{name}", name))
    await make_stream(nc, name, **differs)
    with pytest.raises(StreamUnfitError) as refused:
        await JetStreamJournal.bind(nc, name)
    (finding,) = refused.value.findings
    assert finding.code == code.partition("/")[0]
    assert finding.cure.startswith(("nats stream edit", "nats stream add"))


async def test_a_sealed_stream_is_refused(nc: Client, stream: str) -> None:
    info = json.loads((await nc.request(f"$JS.API.STREAM.INFO.{stream}", b"")).data)
    await nc.request(f"$JS.API.STREAM.UPDATE.{stream}", json.dumps({**info["config"], "sealed": True}).encode())
    with pytest.raises(StreamUnfitError, match="sealed"):
        await JetStreamJournal.bind(nc, stream)


async def test_a_stream_that_is_full_refuses_aloud(nc: Client) -> None:
    name = "small"
    await make_stream(nc, name, max_msgs=2)
    journal = await JetStreamJournal.bind(nc, name)
    tail = await journal.append("night", records.claim(), after=await start(journal, "night"))
    with pytest.raises(BackendUnavailableError, match="full"):
        await journal.append("night", records.claim(), after=tail)
    assert (await journal.state("night")).records == 2


# -- Permissions ----------------------------------------------------------------------------


_WORKER = Worker(
    "worker",
    [
        "jsmemory.journal.runs.>",
        "$JS.API.STREAM.INFO.runs",
        "$JS.API.STREAM.MSG.GET.runs",
        "$JS.API.DIRECT.GET.runs",
    ],
)
_READER = Worker("reader", ["$JS.API.STREAM.INFO.runs"])


@pytest.fixture
async def guarded() -> AsyncIterator[NatsServer]:
    async with embedded_server(settings=ServerSettings(extra=account_of(_WORKER, _READER))) as server:
        async with plain_client(server.url, user="operator", password="secret") as operator:
            await make_stream(operator, "runs")
        yield server


async def test_the_rights_that_are_named_are_enough(guarded: NatsServer) -> None:
    """An operator would grant more than a worker needs, to be safe."""
    login = {"user": "worker", "password": "secret", "inbox_prefix": b"_INBOX_worker"}
    async with plain_client(guarded.url, **login) as nc:
        journal = await JetStreamJournal.bind(nc, "runs")
        await suspend(journal, "night", await start(journal, "night"))
        claimed = await claim(journal, "night")
        with pytest.raises(RunClaimedError):
            await claim(journal, "night")
        await suspend(journal, "night", claimed.tail)
        assert [run.status for run in await journal.runs()] == ["suspended"]


async def test_a_right_that_is_missing_is_named(guarded: NatsServer) -> None:
    """An operator would see a time-out, and look for the fault in the network."""
    login = {"user": "reader", "password": "secret", "inbox_prefix": b"_INBOX_reader"}
    async with plain_client(guarded.url, **login) as nc:
        journal = await JetStreamJournal.bind(nc, "runs", budget=2)
        with pytest.raises(AccessDeniedError, match=r"publish to jsmemory\.journal\.runs\.night"):
            await start(journal, "night")
        with pytest.raises(AccessDeniedError, match=r"STREAM\.MSG\.GET\.runs"):
            await claim(journal, "night")


# -- Replicas -------------------------------------------------------------------------------


async def test_on_replicas_one_of_many_writers_is_told_that_it_won(
    nats_cluster: NatsCluster, cluster_nc: Client
) -> None:
    """Replicas refuse writes in flight with a code of their own, which is a conflict all the same."""
    name = "replicated"
    await make_stream(cluster_nc, name, replicas=3)
    async with plain_client(nats_cluster.urls[1]) as two, plain_client(nats_cluster.urls[2]) as three:
        hosts = [await JetStreamJournal.bind(each, name) for each in (cluster_nc, two, three)]
        for number in range(20):
            run_id = f"run-{number}"
            begun = await asyncio.gather(
                *(start(host, run_id) for host in hosts for _ in range(3)), return_exceptions=True
            )
            assert sum(isinstance(each, Tail) for each in begun) == 1, begun
            assert sum(isinstance(each, RunExistsError) for each in begun) == 8, begun
            (tail,) = (each for each in begun if isinstance(each, Tail))
            await suspend(hosts[number % 3], run_id, tail)
            claims = await asyncio.gather(
                *(claim(host, run_id) for host in hosts for _ in range(3)), return_exceptions=True
            )
            assert sum(isinstance(each, Claimed) for each in claims) == 1, claims
            assert sum(isinstance(each, RunClaimedError) for each in claims) == 8, claims
            (won,) = (each for each in claims if isinstance(each, Claimed))
            assert (won.state.records, won.state.snapshot) == (4, SNAPSHOT)
