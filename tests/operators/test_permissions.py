"""What is printed for a worker is enough for its store, and the server takes it."""

import asyncio
import json
import os
import re
import signal
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from nats.aio.client import Client

from jsmemory import (
    AccessDeniedError,
    BucketUnfitError,
    InvalidOptionsError,
    JetStreamJournal,
    JetStreamStore,
    Run,
    RunClaimedError,
    RunExistsError,
    Scope,
    StaleEntryError,
    WorkerPermissions,
)
from jsmemory.provisioning.worker_names import variable_of
from jsmemory.testing.lagging import LaggingConnection
from jsmemory.testing.servers import (
    ServerSettings,
    embedded_cluster,
    embedded_server,
    find_nats_server,
    make_bucket,
)

FLAT = WorkerPermissions(bucket="team", prefix="alice")
ISOLATED = WorkerPermissions(bucket="team", prefix="alice", isolated=True)
FLAT_READER = WorkerPermissions(bucket="team", prefix="alice", read_only=True)
ISOLATED_READER = WorkerPermissions(bucket="team", prefix="alice", read_only=True, isolated=True)
PAIRS = [pytest.param(FLAT, FLAT_READER, id="flat"), pytest.param(ISOLATED, ISOLATED_READER, id="isolated")]


@pytest.mark.parametrize("bare", [False, True], ids=["supervised", "bare"])
@pytest.mark.parametrize("worker", [FLAT, ISOLATED], ids=["flat", "isolated"])
async def test_a_store_works_whole_with_what_is_printed(grounds: Any, worker: WorkerPermissions, bare: bool) -> None:
    """An operator who pastes it and finds a verb denied grants everything the next time."""
    async with grounds.server(worker) as server, grounds.store(server.url, worker, bare=bare) as store:
        await grounds.use_whole(store)


@pytest.mark.parametrize("bare", [False, True], ids=["supervised", "bare"])
@pytest.mark.parametrize(("writer", "reader"), PAIRS)
async def test_a_reader_reads_all_and_the_server_refuses_it_every_write(
    grounds: Any, writer: WorkerPermissions, reader: WorkerPermissions, bare: bool
) -> None:
    """What only the library refuses, another program with the same credentials does."""
    async with grounds.server(writer, reader) as server:
        async with grounds.store(server.url, writer) as store:
            for key in ("a", "b", "c"):
                await store.create(key, "d", key, scope=None)
        async with grounds.store(server.url, reader, bare=bare, write_budget=3) as store:
            await grounds.use_to_read(store, keys=("a", "b", "c"))


@pytest.mark.parametrize("isolated", [False, True], ids=["flat", "isolated"])
async def test_a_run_lives_whole_with_what_is_printed_for_its_journal(grounds: Any, isolated: bool) -> None:
    """A worker that may not record its run, or not take it up again, loses what it had read with its process."""
    writer = WorkerPermissions(bucket="team", prefix="alice", isolated=isolated, journal="runs")
    reader = replace(writer, worker="alice_reader", read_only=True)
    async with grounds.server(writer, reader) as server:
        async with grounds.places(server.url, writer) as places:
            async with Run.start(*places, "night") as run:
                assert (await write(run, "one")).code == "ok"
                await run.record("message", {"text": "x" * 1000})
                await run.suspend()
            with pytest.raises(RunExistsError):
                async with Run.start(*places, "night"):
                    pass
        async with grounds.places(server.url, writer) as (store, journal):
            for turn in range(3):
                async with Run.resume(store, journal, "night") as run:
                    assert (await write(run, f"again {turn}", overwrite=True)).code == (
                        "ok" if isolated else "stale_entry"
                    )
                    with pytest.raises(RunClaimedError):
                        async with Run.resume(store, journal, "night"):
                            pass
                    await run.suspend()
            assert [record.data["text"] async for record in journal.history("night")] == ["x" * 1000]
        async with grounds.places(server.url, reader) as (store, journal):
            async with Run.resume(store, journal, "night", read_only=True) as run:
                assert (await run.tools.call("memory_read", {"key": "k"})).code == "ok"
            with pytest.raises(AccessDeniedError):
                await store.delete("k", scope=None)
            assert [(line.run_id, line.status) for line in await journal.runs()] == [("night", "completed")]


async def write(run: Run, content: str, *, overwrite: bool = False) -> Any:
    arguments = {"key": "k", "description": "d", "content": content, "overwrite": overwrite}
    return await run.tools.call("memory_write", arguments)


@pytest.mark.parametrize("isolated", [False, True], ids=["flat", "isolated"])
async def test_without_a_journal_none_may_be_written(grounds: Any, isolated: bool) -> None:
    """Whoever records no runs has no business in those of others."""
    bob = WorkerPermissions(bucket="team", prefix="bob", isolated=isolated, journal="runs")
    alice = WorkerPermissions(bucket="team", prefix="alice", isolated=isolated)
    async with grounds.server(bob, alice) as server, grounds.connection(server.url, alice) as connection:
        with pytest.raises(AccessDeniedError, match=r"STREAM\.INFO\.runs"):
            await JetStreamJournal.bind(connection, "runs")


@pytest.mark.parametrize(("writer", "reader"), PAIRS)
async def test_a_reader_lists_an_empty_memory_at_once(
    grounds: Any, writer: WorkerPermissions, reader: WorkerPermissions
) -> None:
    """Also in a bucket in which others have notes, or which held some of its own."""
    async with grounds.server(writer, reader) as server, grounds.store(server.url, reader) as store:
        assert await asyncio.wait_for(store.list(), 10) == ()
        async with grounds.operator(server.url, writer) as operator:
            await operator.request("$KV.team.others.note", b"theirs")
        assert await asyncio.wait_for(store.list(), 10) == ()
        async with grounds.store(server.url, writer) as writing:
            await writing.create("k", "d", "c", scope=None)
            await writing.delete("k", scope=None)
        assert await asyncio.wait_for(store.list(), 10) == ()


async def test_on_a_cluster_both_layouts_work_whole_and_a_reader_misses_nothing(grounds: Any) -> None:
    """
    A replica that lags behind the leader holds a listing back; a reader, who may not ask by a
    publish how far the leader is, must not be given what the replica has.
    """
    bob = WorkerPermissions(bucket="team", prefix="bob")
    bob_reader = WorkerPermissions(bucket="team", prefix="bob", read_only=True)
    async with embedded_cluster(settings=grounds.settings([bob, bob_reader, ISOLATED, ISOLATED_READER])) as cluster:
        for writer, reader in ((bob, bob_reader), (ISOLATED, ISOLATED_READER)):
            async with grounds.operator(cluster.urls[0], writer) as operator:
                await make_bucket(operator, "team", replicas=3)
            async with (
                grounds.store(cluster.urls[0], writer) as store,
                grounds.store(cluster.urls[1], reader) as reading,
                grounds.store(cluster.urls[2], reader) as elsewhere,
            ):
                await grounds.use_whole(store)
                expected = {item.key for item in await store.list()}
                for number in range(60):
                    await store.create(f"new{number}", "d", "c", scope=None)
                    expected.add(f"new{number}")
                    for listed in await asyncio.gather(reading.list(), elsewhere.list()):
                        assert {item.key for item in listed} == expected


@pytest.mark.parametrize(("writer", "reader"), PAIRS)
async def test_a_reader_waits_for_a_replica_that_lags(
    grounds: Any, writer: WorkerPermissions, reader: WorkerPermissions
) -> None:
    """What happens by chance on a cluster, on demand."""
    async with grounds.server(writer, reader) as server, grounds.bare(server.url, reader) as client:
        lagging = LaggingConnection(client)
        reading = await JetStreamStore.bind(lagging, **reader.options, api_prefix=reader.api_prefix)
        async with grounds.store(server.url, writer) as store:
            for key in ("a", "b", "c"):
                await store.create(key, "d", "c", scope=None)
        lagging.deliver_late("$KV.team.alice.c")
        assert [item.key for item in await reading.list()] == ["a", "b", "c"]


class OfAnotherRelease:
    """A connection to a server that knows no consumers which only the leader may hold."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    async def request(self, subject: str, payload: bytes = b"", timeout: float = 0.5, **options: Any) -> Any:
        return await self._client.request(subject, payload.replace(b'"direct":true,', b""), timeout, **options)


async def test_a_reader_that_cannot_ask_the_leader_is_told_and_gets_no_list(grounds: Any) -> None:
    """An index that may lack notes has an agent write them anew."""
    async with grounds.server(FLAT, FLAT_READER) as server, grounds.bare(server.url, FLAT_READER) as client:
        store = await JetStreamStore.bind(OfAnotherRelease(client), **FLAT_READER.options)
        with pytest.raises(AccessDeniedError, match="list"):
            await store.list()


async def test_questions_of_a_reader_leave_no_consumer(grounds: Any) -> None:
    """A bucket allows so many consumers, and a fleet of readers lists all the time."""
    async with grounds.server(FLAT, FLAT_READER) as server:
        async with grounds.store(server.url, FLAT_READER) as store:
            for _ in range(50):
                await store.list()
        async with grounds.operator(server.url, FLAT) as operator:
            async with asyncio.timeout(60):
                while json.loads((await operator.request("$JS.API.CONSUMER.NAMES.KV_team")).data)["total"]:
                    await asyncio.sleep(0.05)


async def test_isolated_the_bucket_is_examined_and_authority_outlives_the_store(grounds: Any) -> None:
    """With an account of its own a worker has every promise, as if nobody had locked it down."""
    async with grounds.server(ISOLATED) as server:
        scope = Scope()
        async with grounds.store(server.url, ISOLATED) as store:
            await store.create("k", "d", "one", scope=scope)
        resumed = Scope()
        resumed.restore(scope.snapshot())
        async with grounds.store(server.url, ISOLATED) as store:
            await store.update("k", "d", "two", scope=resumed)
            async with grounds.operator(server.url, ISOLATED) as operator:
                await operator.request("$JS.API.STREAM.DELETE.KV_team")
                await make_bucket(operator, "team")
                await operator.request("$KV.team.alice.k", b"planted")
                await operator.request("$KV.team.alice.k", b"planted")
            with pytest.raises(StaleEntryError):
                await store.update("k", "d", "three", scope=resumed)
    async with grounds.server(ISOLATED, max_age=3600 * 10**9) as server:
        with pytest.raises(BucketUnfitError):
            async with grounds.store(server.url, ISOLATED):
                pass


async def test_a_memory_that_is_printed_twice_is_there_once(grounds: Any) -> None:
    """Two who share a memory are printed each with its account, and pasted one after the other."""
    other = WorkerPermissions(bucket="team", prefix="alice", worker="bob", isolated=True)
    async with (
        grounds.server(ISOLATED, other, ISOLATED_READER) as server,
        grounds.store(server.url, ISOLATED) as store,
        grounds.store(server.url, other) as same,
    ):
        scope = Scope()
        await store.create("k", "d", "one", scope=scope)
        await same.read("k", scope=scope)
        await same.update("k", "d", "two", scope=scope)
        assert (await store.read("k", scope=None)).content == "two"


async def test_two_reloads_add_an_isolated_worker_to_a_server_that_runs(grounds: Any, tmp_path: Path) -> None:
    """After a single one its account is there, and nobody answers it: a night is lost on that."""
    other = WorkerPermissions(bucket="team", prefix="bob", isolated=True)
    included = ServerSettings(extra="accounts {\n  include ../workers.conf\n}")
    file = tmp_path / "workers.conf"

    def write(*workers: WorkerPermissions) -> None:
        text = "".join(worker.configuration() for worker in workers)
        file.write_text(re.sub(r"\$PASSWORD_\w+", '"secret"', text))

    write(ISOLATED)
    async with embedded_server(tmp_path / "server", settings=included) as server:
        async with grounds.operator(server.url, ISOLATED) as operator:
            await make_bucket(operator, "team")
        async with grounds.store(server.url, ISOLATED) as store:
            await store.create("k", "d", "c", scope=None)
            write(ISOLATED, other)
            for count in (1, 2):
                os.kill(server.pid, signal.SIGHUP)
                async with asyncio.timeout(60):
                    while server.log.count("Reloaded server configuration") < count:
                        await asyncio.sleep(0.02)
            async with grounds.operator(server.url, other) as operator:
                await make_bucket(operator, "team")
            async with grounds.store(server.url, other) as added:
                await grounds.use_whole(added)
            assert [item.key for item in await store.list()] == ["k"]


@pytest.mark.parametrize("isolated", [False, True], ids=["flat", "isolated"])
@pytest.mark.parametrize(
    ("prefix", "worker"), [("", ""), ("a-b=c_d", ""), ("123", ""), ("-x", "x"), ("p" * 60, ""), ("true", "")]
)
def test_a_server_takes_what_is_printed_whatever_the_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, prefix: str, worker: str, isolated: bool
) -> None:
    """A server that does not start after a paste takes the whole fleet with it."""
    them = WorkerPermissions(bucket="team-1", prefix=prefix, worker=worker, isolated=isolated)
    text = them.configuration()
    users = "" if isolated else "WORK: { users: [ "
    file = tmp_path / "server.conf"
    file.write_text(f"accounts {{ {users}\n{text}{'' if isolated else '] }'} }}\n")
    told = subprocess.run([find_nats_server(), "-t", "-c", file], capture_output=True, text=True, check=False)
    assert (told.returncode, "can not be found" in told.stderr) == (1, True), "a password that is not there"
    for line in text.splitlines():
        if "password: $" in line:
            monkeypatch.setenv(line.partition("password: $")[2].split()[0], "pass")
    taken = subprocess.run([find_nats_server(), "-t", "-c", file], capture_output=True, text=True, check=False)
    assert taken.returncode == 0, taken.stderr


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("a_b", "c"), ("a", "b_c")),
        (("a_b", ""), ("a", "b")),
        (("a_", "b"), ("a", "_b")),
        (("a-b", "c"), ("a_2db", "c")),
    ],
)
def test_no_two_memories_share_an_account_or_a_password(one: tuple[str, str], other: tuple[str, str]) -> None:
    """What is isolated from everybody else would be one with a memory of nearly the same name."""
    printed = [WorkerPermissions(bucket=bucket, prefix=prefix, isolated=True) for bucket, prefix in (one, other)]
    assert len({each.memory for each in printed}) == 2
    assert len({variable_of(each.memory) for each in printed}) == 2


def test_no_user_is_called_like_the_variable_of_another_one() -> None:
    """Who chooses a worker's name would choose whose password it has."""
    assert variable_of("a-b") == "$PASSWORD_a_2db"
    assert variable_of("a_2db") != variable_of("a-b")
    assert variable_of("alice_reader") == "$PASSWORD_alice_reader"


@pytest.mark.parametrize(
    ("names", "option"),
    [
        ({"bucket": "a.b", "prefix": "p"}, "bucket"),
        ({"bucket": "team\n", "prefix": "p"}, "bucket"),
        ({"bucket": "team", "prefix": "a.b"}, "prefix"),
        ({"bucket": "team", "prefix": "p\n"}, "prefix"),
        ({"bucket": "team", "prefix": '"'}, "prefix"),
        ({"bucket": "team", "prefix": "p", "worker": "--force"}, "worker"),
        ({"bucket": "team", "prefix": "p", "worker": "a b"}, "worker"),
        ({"bucket": "team", "prefix": "-x"}, "worker"),
        ({"bucket": "team", "prefix": "p", "journal": "a.>"}, "journal"),
        ({"bucket": "team", "prefix": "p", "journal": "KV_team"}, "journal"),
        ({"bucket": "b" * 100, "prefix": "p" * 100, "isolated": True, "worker": "w"}, "prefix"),
    ],
)
def test_a_name_that_would_mean_something_else_on_the_server_is_refused(names: dict[str, Any], option: str) -> None:
    """A dot in a prefix, or a quote, would hand out somebody else's notes."""
    with pytest.raises(InvalidOptionsError) as refused:
        WorkerPermissions(**names)
    assert refused.value.option == option
