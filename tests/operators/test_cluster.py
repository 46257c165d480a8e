"""The cluster that operators run: three real nodes, started with what is in ops/cluster and nothing else."""

import asyncio
import dataclasses
import http.client
import json
import shutil
import socket
import ssl
import time
from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest

import jsmemory
from jsmemory import (
    AccessDeniedError,
    BackendUnavailableError,
    BucketRecipe,
    JetStreamStore,
    PreparedCluster,
    Scope,
    Verdict,
    apply_recipe,
    examine_bucket,
    prepare_cluster,
)
from jsmemory.cli.nodes import free_places, nodes_of
from jsmemory.testing.servers import NatsCluster, NatsServer, ServerSettings, WrittenConfiguration, embedded_server

ROOT = Path(__file__).parents[2]
MARKER = "the-whale-sings-at-noon"
GENEROUS_S = 60.0
JETSTREAM_NOT_ENABLED = 10039


class Running:
    """The cluster, and who connects to it."""

    def __init__(self, prepared: PreparedCluster) -> None:
        self.prepared = prepared
        self.places = free_places(0)
        self.cluster = NatsCluster.of(nodes_of(prepared, self.places))

    @property
    def monitors(self) -> list[str]:
        return [str(node.monitor_url) for node in self.cluster.nodes]

    def with_secrets(self, **secrets: str) -> NatsServer:
        """The last node with other secrets."""
        other = dataclasses.replace(self.prepared, secrets={**self.prepared.secrets, **secrets})
        return nodes_of(other, self.places)[-1]

    def connect(
        self, user: str = "operator", *, password: str | None = None, authority: Path | None = None
    ) -> AbstractAsyncContextManager[Any]:
        trusting = ssl.create_default_context(cafile=authority or self.prepared.authority)
        return jsmemory.connect(
            servers=[url.replace("nats:", "tls:") for url in self.cluster.urls],
            user=user,
            password=password or self.prepared.password(user),
            tls=trusting,
        )


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> PreparedCluster:
    """A cluster's folder, with the configuration from ops/cluster in place of the code's."""
    prepared = prepare_cluster(tmp_path_factory.mktemp("cluster"))
    for file in (ROOT / "ops" / "cluster").iterdir():
        shutil.copy(file, prepared.configuration.parent)
    return prepared


@pytest.fixture(scope="module")
def running(prepared: PreparedCluster) -> Iterator[Running]:
    """The cluster with a bucket `team`; tests leave all its nodes running."""
    running = Running(prepared)

    async def make() -> None:
        async with running.connect() as nats:
            await apply_recipe(nats, BucketRecipe(bucket="team", replicas=3, allow_rollup=False))

    try:
        running.cluster.start(GENEROUS_S)
        asyncio.run(make())
        yield running
    finally:
        running.cluster.kill_all()


async def test_a_store_works_over_tls(running: Running) -> None:
    """What all of it is for."""
    async with running.connect() as nats:
        store = await JetStreamStore.bind(nats, "team", prefix="alice")
        scope = Scope()
        await store.create("k", "d", "one", scope=scope)
        await store.update("k", "d", "two", scope=scope)
        assert (await store.read("k", scope=scope)).content == "two"


async def test_the_doctor_finds_nothing(running: Running) -> None:
    """Whoever pasted what ops/README.md says must not be told that memory is not safe there."""
    async with running.connect() as nats, asyncio.timeout(GENEROUS_S):
        # A follower of a new bucket may need a moment before its leader has heard of it.
        while (report := await examine_bucket(nats, "team", monitors=running.monitors, thorough=True)).findings:
            await asyncio.sleep(0.5)
    assert {check.verdict for check in report.checks} == {Verdict.OK}
    assert [check.said for check in report.checks if check.name == "sync_interval"] == [
        "n1: always",
        "n2: always",
        "n3: always",
    ]
    assert {check.said for check in report.checks if check.name == "certificate"} == {
        f"{node}: for {whom}, 364 days" for node in ("n1", "n2", "n3") for whom in ("clients", "servers")
    }


def test_a_client_without_tls_is_not_answered(running: Running) -> None:
    """Its password would be read on the way, by whoever sits there."""
    who = {"verbose": True, "user": "operator", "pass": running.prepared.password()}
    with socket.create_connection(("127.0.0.1", running.cluster.nodes[0].port), timeout=GENEROUS_S) as client:
        assert json.loads(client.recv(65_536).removeprefix(b"INFO "))["tls_required"] is True
        client.sendall(b"CONNECT " + json.dumps(who).encode() + b"\r\nPING\r\n")
        heard = b""
        # A reset ends it as well as an orderly close.
        try:
            while more := client.recv(65_536):
                heard += more
        except ConnectionResetError:
            pass
    assert b"+OK" not in heard
    assert b"PONG" not in heard


async def test_a_client_with_another_authority_does_not_connect(running: Running, tmp_path: Path) -> None:
    """Whoever stands between would show a certificate of its own, and learn the password."""
    stranger = prepare_cluster(tmp_path / "stranger").authority
    with pytest.raises(BackendUnavailableError, match="certificate"):
        async with running.connect(authority=stranger):
            pass


async def test_a_wrong_password_is_refused(running: Running) -> None:
    """Each user is who it says."""
    with pytest.raises(AccessDeniedError):
        async with running.connect(password="a" * 43):
            pass


async def test_the_operator_of_buckets_is_none_of_the_servers(running: Running) -> None:
    """Who manages memories must not be able to reload or to end servers; who looks after servers reads no memory."""
    subject = "$SYS.REQ.SERVER.PING.VARZ"
    async with running.connect("sys") as system:
        assert (
            json.loads((await system.request(subject, b"", timeout=GENEROUS_S)).data)["server"]["cluster"] == "memory"
        )
        reply = await system.request("$JS.API.STREAM.INFO.KV_team", b"", timeout=GENEROUS_S)
        assert json.loads(reply.data)["error"]["err_code"] == JETSTREAM_NOT_ENABLED
    async with running.connect() as operator:
        with pytest.raises(Exception, match="no responders"):
            await operator.request(subject, b"", timeout=GENEROUS_S)


def test_a_node_of_another_authority_does_not_join(running: Running, tmp_path: Path) -> None:
    """Whoever could join would be sent every memory."""
    stranger = prepare_cluster(tmp_path / "stranger")
    (place, *_) = free_places(0)
    routes = [f"127.0.0.1:{each.route}" for each in (place, *running.places[:2])]
    variables = stranger.variables(
        "n1", listen=f"127.0.0.1:{place.client}", monitor=f"127.0.0.1:{place.monitor}", routes=routes
    )
    written = WrittenConfiguration(file=stranger.configuration, environment=variables | {"NODE": "n4"})
    node = NatsServer(stranger.folder / "n1", name="n4", port=place.client, monitor=place.monitor, written=written)
    try:
        node.start()
        end = time.monotonic() + GENEROUS_S
        while node.log.count("TLS route handshake error") < 2:
            assert time.monotonic() < end, node.log
            time.sleep(0.05)
        assert page(node, "/routez")["routes"] == []
        for member in running.cluster.nodes:
            assert {route["remote_name"] for route in page(member, "/routez")["routes"]} <= {"n1", "n2", "n3"}
    finally:
        node.kill()


def test_a_route_without_a_certificate_is_cut(running: Running) -> None:
    """A client that knows the authority is no node."""
    trusting = ssl.create_default_context(cafile=running.prepared.authority)
    port = running.places[0].route
    # In this protocol the handshake is done before the server has looked at what it asked for.
    with (
        socket.create_connection(("127.0.0.1", port), timeout=GENEROUS_S) as plain,
        trusting.wrap_socket(plain, server_hostname="n1") as route,
        pytest.raises(ssl.SSLError, match=r"(?i)certificate"),
    ):
        route.recv(65_536)


async def test_what_lies_on_the_disk_is_encrypted(running: Running, tmp_path: Path) -> None:
    """A disk that is thrown away, or a snapshot of one, must tell nobody what agents know."""
    async with running.connect() as nats:
        store = await JetStreamStore.bind(nats, "team", prefix="secretive")
        await store.create("whale", MARKER, MARKER, scope=None)
    for node in running.cluster.nodes:
        assert files_with(MARKER, node.folder / "data") == []
        assert files_with("secretive", node.folder / "data") == []
    # So that it cannot be found because it is looked for in the wrong way:
    async with embedded_server(tmp_path / "plain", settings=ServerSettings(sync_interval="always")) as server:
        async with jsmemory.connect(servers=server.url) as nats:
            await apply_recipe(nats, BucketRecipe(bucket="team"))
            store = await JetStreamStore.bind(nats, "team", prefix="secretive")
            await store.create("whale", MARKER, MARKER, scope=None)
        assert files_with(MARKER, server.folder) != []
        assert files_with("secretive", server.folder) != []


async def test_writes_go_on_without_one_node(running: Running) -> None:
    """A machine is lost some day."""
    cluster = running.cluster
    leader = await cluster.leader_of("KV_team", GENEROUS_S)
    async with running.connect() as nats:
        store = await JetStreamStore.bind(nats, "team", prefix="steady", write_budget=GENEROUS_S)
        leader.kill()
        await store.create("k", "d", "without", scope=None)
        leader.begin()
        await cluster.ready(GENEROUS_S)
        assert (await store.read("k", scope=None)).content == "without"


async def test_a_node_with_another_key_does_not_serve(running: Running) -> None:
    """A node that came up with the wrong secrets must not begin with empty streams beside the encrypted ones."""
    node = running.cluster.nodes[2]
    node.terminate()
    other = running.with_secrets(JETSTREAM_KEY="x" * 43)
    try:
        other.begin()
        end = time.monotonic() + GENEROUS_S
        while other.is_running:
            assert time.monotonic() < end, other.log
            await asyncio.sleep(0.05)
        assert "Can't start JetStream" in other.log
    finally:
        other.kill()
        node.begin()
        await running.cluster.ready(GENEROUS_S)


async def test_the_key_is_changed_node_by_node(running: Running) -> None:
    """A key that somebody has seen must not be for ever; and to change it, memory.conf says how."""
    async with running.connect() as nats:
        store = await JetStreamStore.bind(nats, "team", prefix="rekeyed", write_budget=GENEROUS_S)
        await store.create("k", "d", "kept", scope=None)
        node = running.cluster.nodes[2]
        # There and back again, so that the other tests find the key that they know.
        for changed in (running.with_secrets(JETSTREAM_KEY="x" * 43), node):
            running.cluster.nodes[2].terminate()
            shutil.rmtree(node.folder / "data")
            running.cluster.nodes = (*running.cluster.nodes[:2], changed)
            changed.start(GENEROUS_S)
            await running.cluster.ready(GENEROUS_S)
            assert page(changed, "/healthz") == {"status": "ok"}
            assert messages_of(changed, "KV_team") == messages_of(running.cluster.nodes[0], "KV_team")
        assert (await store.read("k", scope=None)).content == "kept"


def page(node: NatsServer, path: str) -> dict[str, Any]:
    connection = http.client.HTTPConnection(str(node.monitor_url).removeprefix("http://"), timeout=GENEROUS_S)
    try:
        connection.request("GET", path)
        read: dict[str, Any] = json.loads(connection.getresponse().read())
        return read
    finally:
        connection.close()


def messages_of(node: NatsServer, stream: str) -> int:
    """How many the node itself holds."""
    accounts = page(node, "/jsz?accounts=true&streams=true")["account_details"]
    (held,) = [each for account in accounts for each in account["stream_detail"] if each["name"] == stream]
    messages: int = held["state"]["messages"]
    return messages


def files_with(text: str, folder: Path) -> list[Path]:
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert files
    return [path for path in files if text.encode() in path.read_bytes()]
