"""The doctor looks at the stream of a journal: what it finds, with which cure, and that it writes nothing."""

import asyncio
import json
import secrets
from collections.abc import Callable
from typing import Any

import pytest
from nats.aio.client import Client

from jsmemory import (
    Check,
    InProcessStore,
    InvalidOptionsError,
    JetStreamJournal,
    Report,
    Run,
    StreamRecipe,
    Verdict,
    WorkerPermissions,
    connect,
    examine_journal,
)
from jsmemory.testing.servers import (
    NatsServer,
    ServerSettings,
    embedded_server,
    plain_client,
)
from jsmemory.testing.servers.users import Worker, account_of
from jsmemory.testing.streams import make_stream


@pytest.fixture
def stream() -> str:
    """A name for a stream that nobody else uses."""
    return f"runs-{secrets.token_hex(6)}"


def check(report: Report, name: str) -> Check:
    """The check of a name; there is exactly one."""
    (found,) = [each for each in report.checks if each.name == name]
    return found


def codes(report: Report) -> set[str]:
    """What was found, in words for programs."""
    return {finding.code for finding in report.findings}


async def state_of(nc: Client, stream: str) -> Any:
    return json.loads((await nc.request(f"$JS.API.STREAM.INFO.{stream}", b"")).data)["state"]


async def record_runs(nc: Client, stream: str, count: int) -> None:
    journal = await JetStreamJournal.bind(nc, stream)
    for number in range(count):
        async with Run.start(InProcessStore(), journal, f"run-{number}") as run:
            await run.suspend()


async def until(nc: Client, stream: str, is_so: Callable[[set[str]], object]) -> Report:
    """The report as soon as its findings are so: a cluster needs a moment to know what is the case."""
    async with asyncio.timeout(90):
        while not is_so(codes(report := await examine_journal(nc, stream))):
            await asyncio.sleep(0.1)
    return report


async def test_a_stream_as_it_should_be_gets_advice_only_and_stays_as_it_was(nc: Client, stream: str) -> None:
    """Whoever did everything right must not learn to overlook warnings; and a look changes nothing."""
    await make_stream(nc, stream)
    await record_runs(nc, stream, 3)
    before = await state_of(nc, stream)
    report = await examine_journal(nc, stream)
    assert (report.backend, report.location, report.verdict) == ("jetstream", stream, Verdict.ADVICE)
    assert codes(report) == {"replicas_one"}
    assert check(report, "journal_runs").said == f"3 with {before['messages']} records"
    assert {"service", "clock", "journal_configuration", "journal_may_read", "journal_may_write"} <= {
        each.name for each in report.checks
    }
    assert await state_of(nc, stream) == before


async def test_on_a_cluster_its_replicas_are_looked_at_and_one_is_too_few(cluster_nc: Client, stream: str) -> None:
    """The memory survives the crash, and the runs that used it do not."""
    await make_stream(cluster_nc, stream, replicas=3)
    report = await until(cluster_nc, stream, lambda found: not found)
    assert check(report, "journal_replicas").said == "3, and it goes on without 1"
    assert "leads" in check(report, "journal_followers").said
    alone = f"{stream}-1"
    await make_stream(cluster_nc, alone, replicas=1)
    report = await until(cluster_nc, alone, lambda found: "replicas_one" in found)
    (finding,) = check(report, "journal_replicas").findings
    assert finding.problem.startswith("One server of the cluster holds the journal")
    assert finding.cure == f"nats stream edit {alone} --replicas=3 --force"


@pytest.mark.parametrize(
    ("code", "differs"),
    [("stream_max_age", {"max_age": 3_600_000_000_000}), ("stream_in_memory", {"storage": "memory"})],
)
async def test_what_a_journal_refuses_is_a_fault_with_its_cure(
    nc: Client, stream: str, code: str, differs: dict[str, object]
) -> None:
    """A run that was suspended on Friday is gone on Monday."""
    await make_stream(nc, stream, **differs)
    report = await examine_journal(nc, stream)
    assert report.verdict is Verdict.FAULT
    (finding,) = check(report, "journal_configuration").findings
    assert finding.code == code
    assert finding.cure.startswith("nats stream ")


async def test_a_stream_that_is_nearly_full_is_told_before_it_is(nc: Client, stream: str) -> None:
    """A full one refuses the record with which a run is suspended."""
    await make_stream(nc, stream, max_bytes=4 * 1024 * 1024, max_msgs=4)
    for number in range(4):
        await nc.request(f"jsmemory.journal.{stream}.run-{number}", b"{}")
    (finding,) = check(await examine_journal(nc, stream), "journal_messages").findings
    assert finding.code == "journal_messages_full"
    assert finding.cure == f"nats stream edit {stream} --max-msgs=-1 --force"
    small = f"{stream}-s"
    await make_stream(nc, small, max_bytes=400_000)
    (finding,) = check(await examine_journal(nc, small), "journal_bytes").findings
    assert finding.code == "journal_full"
    assert "a record of the largest size does not fit" in finding.problem
    assert finding.cure == f"nats stream edit {small} --max-bytes=782K --force"


async def test_a_missing_stream_is_told_with_the_line_that_makes_it(nc: Client, stream: str) -> None:
    """A typo in a name looks like an operator who forgot something."""
    await make_stream(nc, stream)
    report = await examine_journal(nc, stream[:-1])
    assert report.verdict is Verdict.FAULT
    (finding,) = check(report, "journal").findings
    assert (finding.code, finding.cure) == ("stream_not_found", StreamRecipe(stream=stream[:-1]).nats_stream_add())
    assert f"There is one called {stream}." in finding.problem
    with pytest.raises(InvalidOptionsError, match="journal"):
        await examine_journal(nc, "a.b")


@pytest.mark.parametrize("isolated", [False, True], ids=["flat", "isolated"])
async def test_whoever_has_what_is_printed_for_it_is_fine(grounds: Any, isolated: bool) -> None:
    """A worker examines itself where it is deployed, and must not be told to ask for more."""
    worker = WorkerPermissions(bucket="team", prefix="alice", isolated=isolated, journal="runs")
    async with grounds.server(worker) as server, grounds.connection(server.url, worker) as connection:
        report = await examine_journal(connection, "runs")
    assert codes(report) == {"replicas_one"}


async def test_a_right_that_is_missing_is_named() -> None:
    """An operator would see a time-out, and look for the fault in the network."""
    looks = ["$JS.API.STREAM.INFO.runs", "$JS.API.STREAM.MSG.GET.runs"]
    users = account_of(
        Worker("nobody", ["x"]), Worker("reader", [*looks, "$JS.API.DIRECT.GET.runs"]), Worker("half", looks)
    )
    async with embedded_server(settings=ServerSettings(extra=users)) as server:
        async with plain_client(server.url, user="operator", password="secret") as operator:
            await make_stream(operator, "runs")
        cures = {name: await cures_of(server, name) for name in ("nobody", "reader", "half")}
    assert cures["nobody"].keys() == {"may_not_examine"}
    assert '"$JS.API.STREAM.INFO.runs"' in cures["nobody"]["may_not_examine"]
    assert cures["reader"].keys() == {"may_not_write"}
    assert '"jsmemory.journal.runs.>"' in cures["reader"]["may_not_write"]
    assert cures["half"].keys() == {"may_not_read", "may_not_write"}
    assert cures["half"]["may_not_read"].startswith('grant them publish to "$JS.API.DIRECT.GET.runs"; ')
    assert cures["half"]["may_not_read"].endswith("--journal runs")


async def cures_of(server: NatsServer, name: str) -> dict[str, str]:
    """The cures that somebody is told, but for that of a single server."""
    login = {"user": name, "password": "secret", "inbox_prefix": f"_INBOX_{name}"}
    async with connect(servers=server.url, **login) as nc:
        report = await examine_journal(nc, "runs")
    assert report.verdict is Verdict.DENIED
    return {finding.code: finding.cure for finding in report.findings if finding.code != "replicas_one"}


async def test_an_account_without_jetstream_is_told_at_once() -> None:
    """Every further question would wait in vain."""
    users = "accounts { A: { users: [ { user: ann, password: secret } ] } }"
    async with (
        embedded_server(settings=ServerSettings(extra=users)) as server,
        plain_client(server.url, user="ann", password="secret") as nc,
    ):
        report = await examine_journal(nc, "runs")
    assert codes(report) == {"account_without_jetstream"}
    assert [each.name for each in report.checks] == ["service"]


async def test_when_the_servers_sync_is_told_for_a_journal_too(nc: Client, stream: str) -> None:
    """What a power cut takes of a run is as little seen by a client as what it takes of a note."""
    await make_stream(nc, stream)
    without = await examine_journal(nc, stream)
    assert check(without, "sync_interval").verdict is Verdict.UNKNOWN
