"""Every page of ops/runbooks, walked through on real servers in the situation that it is for."""

import asyncio
import json
import re
import shutil
import signal
import socket
import ssl
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from nats.aio.client import Client

from jsmemory import (
    AccessDeniedError,
    BackendError,
    BucketNotFoundError,
    EntryNotFoundError,
    JetStreamJournal,
    JetStreamStore,
    Run,
    Scope,
    StaleEntryError,
    StoreFullError,
    connect,
    list_prefixes,
    prepare_cluster,
)
from jsmemory.testing.servers import NatsCluster, NatsServer, make_bucket, plain_client
from jsmemory.testing.servers.monitoring import leader_seen_by
from jsmemory.testing.streams import make_stream

PAGES = Path(__file__).parents[2] / "ops" / "runbooks"
OPERATOR = {"user": "operator", "password": "secret"}
PATIENT = {"write_budget": 60.0, "bind_timeout": 60.0}


async def noted(store: JetStreamStore) -> dict[str, str]:
    """Every key with its text."""
    return {item.key: (await store.read(item.key, scope=None)).content for item in await store.list()}


async def sequences(nc: Client, bucket: str = "team") -> dict[str, int]:
    """Every name in a bucket with its sequence, asked of the server itself."""
    stream = nc.jetstream()
    info = await stream.stream_info(f"KV_{bucket}", subjects_filter=">")
    names = sorted(info.state.subjects or {})
    found = {}
    for name in names:
        message = await stream.get_last_msg(f"KV_{bucket}", name)
        found[name] = message.seq or 0
    return found


async def test_every_page_is_in_the_list_and_the_list_has_no_other(reader: Any, server: NatsServer) -> None:
    """A page that nobody finds helps nobody; and the first page has commands of its own."""
    pages = {path.stem for path in PAGES.glob("*.md")} - {"README"}
    assert set(re.findall(r"\]\(([a-z-]+)\.md\)", (PAGES / "README.md").read_text())) == pages
    async with plain_client(server.url, **OPERATOR) as nc:
        await make_bucket(nc, "team")
    reader.keeps_isolated(replicas=1)
    reader.opens("README").run("Runbooks")


# -- Back up and restore ----------------------------------------------------------------------


async def is_there(nc: Client, stream: str) -> bool:
    """Whether a stream answers; while one is restored nobody may answer for it at all."""
    try:
        return b"stream not found" not in (await nc.request(f"$JS.API.STREAM.INFO.{stream}", timeout=1.0)).data
    except TimeoutError:
        return False


BACKUPS = ("Back up", "Restore", "Without the nats command line")
BROKEN_OFF = "A restore that broke off"


async def test_a_backup_comes_back_with_every_sequence_and_no_run_overwrites_by_an_old_one(
    cluster: NatsCluster, reader: Any
) -> None:
    """A restored sequence is given out again, and would let a run overwrite what it never saw."""
    page = reader.opens("back-up-and-restore", leaves=(BROKEN_OFF,))
    async with plain_client(*cluster.urls, **OPERATOR) as nc:
        await make_bucket(nc, "team", replicas=3)
        store = await JetStreamStore.bind(nc, "team", prefix="alice", **PATIENT)
        other = await JetStreamStore.bind(nc, "team", prefix="alice", **PATIENT)
        scope, later = Scope(), Scope()
        for key in ("kept", "changed", "gone", "again"):
            await store.create(key, "d", f"{key} one", scope=scope)
        await store.update("changed", "d", "two", scope=scope)
        await store.delete("gone", scope=scope)
        before, texts = await sequences(nc), await noted(store)
        reader.keeps_isolated(replicas=1)

        page.run("Back up")
        isolated = "NATS_CONTEXT=MEMORY_team_zoe nats"
        page.shell(f"{isolated} stream rm KV_team --force")
        page.shell(f"{isolated} backup restore stream last/MEMORY_team_zoe.backup")
        assert "k" in page.shell("jsmemory --context MEMORY_team_zoe --bucket team --prefix zoe list")

        # What happens after the backup, and is lost with what is restored.
        await store.create("later", "d", "after the backup", scope=later)
        await store.update("kept", "d", "after the backup", scope=scope)
        suspended = scope.snapshot()

        hasty = await JetStreamStore.bind(nc, "team", prefix="alice", write_budget=1.0)
        page.run("Restore", lines=slice(0, 1))
        with pytest.raises(BackendError):
            await hasty.list()
        page.run("Restore", lines=slice(1, None))

        assert await sequences(nc) == before
        # The store object that was there all the time, and one that knew nothing.
        for each in (store, other):
            assert await noted(each) == texts

        # The sequence that `later` was written at is given out again, to a value that nobody has seen.
        await other.create("unseen", "d", "of the restored bucket", scope=None)
        await other.create("later", "d", "of the restored bucket", scope=None)
        resumed = Scope()
        resumed.restore(suspended)
        for stale, key in (
            (scope, "kept"),
            (scope, "changed"),
            (later, "later"),
            (resumed, "kept"),
            (resumed, "again"),
        ):
            with pytest.raises(StaleEntryError):
                await store.update(key, "d", "blind", scope=stale)
        # Read again, and it goes on.
        await store.read("kept", scope=resumed)
        await store.update("kept", "d", "seen", scope=resumed)
        assert (await other.read("kept", scope=None)).content == "seen"

        page.run("Without the nats command line")


async def test_a_restore_that_broke_off_leaves_an_empty_bucket_which_is_removed(
    cluster: NatsCluster, reader: Any
) -> None:
    """A worker would find its memory empty, and fill it anew."""
    page = reader.opens("back-up-and-restore", leaves=BACKUPS)
    async with plain_client(*cluster.urls, **OPERATOR) as nc:
        await make_bucket(nc, "team", replicas=3)
        store = await JetStreamStore.bind(nc, "team", prefix="alice", **PATIENT)
        await store.create("k", "d", "one", scope=None)
        page.shell("mkdir last; nats backup stream KV_team last/team.backup; nats stream rm KV_team --force")
        kept = json.loads((page.home / "last" / "team.backup" / "backup.json").read_text())
        begun = json.dumps({"config": kept["config"], "state": kept["state"]}).encode()
        assert b"deliver_subject" in (await nc.request("$JS.API.STREAM.RESTORE.KV_team", begun, timeout=30.0)).data
        # Nothing is sent, and the server gives up after ten seconds.
        async with asyncio.timeout(60):
            while not await is_there(nc, "KV_team"):
                await asyncio.sleep(0.2)
        assert await noted(store) == {}
        page.run(BROKEN_OFF)
        assert await noted(store) == {"k": "one"}


async def test_a_journal_comes_back_from_a_backup_and_its_runs_go_on(cluster: NatsCluster, reader: Any) -> None:
    """A run that waits in a journal would be lost with the stream."""
    page = reader.opens("back-up-and-restore", leaves=(*BACKUPS, BROKEN_OFF))
    async with plain_client(*cluster.urls, **OPERATOR) as nc:
        await make_bucket(nc, "team", replicas=3)
        await make_stream(nc, "runs", replicas=3)
        store = await JetStreamStore.bind(nc, "team", prefix="alice", **PATIENT)
        journal = await JetStreamJournal.bind(nc, "runs")
        note = {"key": "k", "description": "d", "content": "one"}
        async with Run.start(store, journal, "night") as run:
            assert (await run.tools.call("memory_write", note)).code == "ok"
            await run.suspend()
        page.shell("nats backup stream KV_team team.backup; nats backup stream runs runs.backup")
        page.shell("nats stream rm KV_team --force; nats stream rm runs --force")
        page.shell("nats backup restore stream team.backup; nats backup restore stream runs.backup")
        async with Run.resume(store, journal, "night") as run:
            again = note | {"content": "two", "overwrite": True}
            assert (await run.tools.call("memory_write", again)).code == "stale_entry"
            assert (await run.tools.call("memory_read", {"key": "k"})).code == "ok"
            assert (await run.tools.call("memory_write", again)).code == "ok"


# -- Replicas ---------------------------------------------------------------------------------


async def test_a_bucket_grows_to_three_replicas_under_its_workers(cluster: NatsCluster, reader: Any) -> None:
    """Who grows it to survive a loss must not lose by growing."""
    page = reader.opens("grow-replicas")
    async with plain_client(*cluster.urls, **OPERATOR) as nc:
        await make_bucket(nc, "team", replicas=1)
        store = await JetStreamStore.bind(nc, "team", prefix="alice", **PATIENT)
        scope = Scope()
        await store.create("k", "d", "one", scope=scope)
        reader.keeps_isolated(replicas=1)
        page.run("Grow replicas")
        async with plain_client(*cluster.urls, user="MEMORY_team_zoe", password="secret") as other:
            assert (await other.jetstream().stream_info("KV_team")).config.num_replicas == 3
        await store.update("k", "d", "two", scope=scope)
        leader = await cluster.leader_of("KV_team")
        leader.kill()
        assert await noted(store) == {"k": "two"}
        await store.update("k", "d", "three", scope=scope)


@pytest.mark.parametrize("disk", ["kept", "lost"])
async def test_a_lost_server_comes_back_with_its_disk_and_without(cluster: NatsCluster, reader: Any, disk: str) -> None:
    """Whoever brings it back wrongly loses the next server with all notes."""
    page = reader.opens("lost-node", leaves=("If it never comes back",))
    async with plain_client(*cluster.urls, **OPERATOR) as nc:
        await make_bucket(nc, "team", replicas=3)
        store = await JetStreamStore.bind(nc, "team", prefix="alice", **PATIENT)
        scope = Scope()
        await store.create("k", "d", "one", scope=scope)
        reader.keeps_isolated(replicas=3)
        lost = await cluster.leader_of("KV_team")
        lost.kill()
        await store.update("k", "d", "two", scope=scope)
        # The leader of each bucket notices it by itself.
        while page.run("See it", fails=True).count(f"start the servers again: {lost.name}") < 2:
            await asyncio.sleep(0.5)
        if disk == "lost":
            shutil.rmtree(lost.folder / "jetstream")
        lost.begin()
        await cluster.ready()
        page.run("Bring it back")
        # It holds everything: with it alone and one more of the others, nothing is missing.
        next(node for node in cluster.nodes if node is not lost).kill()
        assert await noted(store) == {"k": "two"}


async def test_a_server_of_another_name_takes_the_place_of_one_that_never_comes_back(
    spare_cluster: NatsCluster, reader: Any
) -> None:
    """Two replicas of three are one loss away from none."""
    page = reader.opens("lost-node", leaves=("See it",))
    async with plain_client(*spare_cluster.urls, **OPERATOR) as nc:
        await make_bucket(nc, "team", replicas=3)
        store = await JetStreamStore.bind(nc, "team", prefix="alice", **PATIENT)
        await store.create("k", "d", "one", scope=None)
        followers = await spare_cluster.followers_of("KV_team")
        lost = next(node for node in followers if leader_seen_by(node, "KV_team"))
        lost.kill()
        # Until the servers agree who leads them, none of them answers; the page says so.
        await spare_cluster.ready()
        page.run("If it never comes back", put={"n2": lost.name})
        page.run("Bring it back")
        assert await noted(store) == {"k": "one"}


# -- Room -------------------------------------------------------------------------------------


async def test_a_full_bucket_gets_room_and_nothing_was_dropped(server: NatsServer, reader: Any) -> None:
    """Making room in a hurry is how notes are lost."""
    page = reader.opens("full-bucket", leaves=("The account",))
    async with plain_client(server.url, **OPERATOR) as nc:
        await make_bucket(nc, "team", max_bytes=200_000)
        store = await JetStreamStore.bind(nc, "team", prefix="alice")
        for number in range(1, 4):
            await store.create(f"k{number}", "d", "x" * 60_000, scope=None)
        with pytest.raises(BackendError, match="full"):
            await store.create("k4", "d", "x" * 60_000, scope=None)
        assert "full" in page.run("A full bucket", fails=True)
        assert len(await store.list()) == 3
        page.run("The bucket")
        await store.create("k4", "d", "x" * 60_000, scope=None)
        for number in range(1020):
            await store.create(f"n{number}", "d", "x", scope=None)
        with pytest.raises(StoreFullError):
            await store.create("one-more", "d", "x", scope=None)
        page.run("The notes of one agent")
        await store.create("one-more", "d", "x", scope=None)
        assert (Path(page.home) / "alice.tar.gz").exists()


# -- A bucket made anew -----------------------------------------------------------------------


async def test_old_notes_come_back_and_new_ones_stay(cluster: NatsCluster, reader: Any) -> None:
    """Restoring over what agents have noted since would lose the second half to save the first."""
    page = reader.opens("bucket-made-anew")
    async with plain_client(*cluster.urls, **OPERATOR) as nc:
        await make_bucket(nc, "team", replicas=3)
        alice = await JetStreamStore.bind(nc, "team", prefix="alice", **PATIENT)
        bob = await JetStreamStore.bind(nc, "team", prefix="bob", **PATIENT)
        flat = await JetStreamStore.bind(nc, "team", prefix="", **PATIENT)
        scope = Scope()
        await alice.create("old", "d", "before", scope=scope)
        await alice.create("both", "d", "before", scope=scope)
        page.shell("mkdir last; nats backup stream KV_team last/team.backup; nats stream rm KV_team --force")
        await make_bucket(nc, "team", replicas=3)

        with pytest.raises(StaleEntryError):
            await alice.update("old", "d", "blind", scope=scope)
        with pytest.raises(EntryNotFoundError):
            await alice.read("old", scope=scope)
        await alice.create("both", "d", "since", scope=scope)
        await bob.create("new", "d", "since", scope=None)
        await flat.create("flat", "d", "since", scope=None)

        page.run("See it")
        said = page.run("Bring the old notes back")
        assert "both" in said
        assert await noted(alice) == {"old": "before", "both": "before"}
        assert await noted(bob) == {"new": "since"}
        assert (await flat.read("flat", scope=None)).content == "since"


# -- Credentials ------------------------------------------------------------------------------


class Encrypted:
    """`jsmemory server --cluster` in the reader's folder, with one isolated worker."""

    def __init__(self, reader: Any) -> None:
        self._reader = reader
        self._folder = reader.home / "nats-cluster"
        reader.runs(
            "mkdir -p nats-cluster/conf/workers\n"
            "jsmemory permissions --bucket team --prefix alice --isolated >nats-cluster/conf/workers/alice.conf"
        )
        self._server = reader.starts("jsmemory", "server", "--cluster", "--bucket", "team", "--port", "0", "--json")
        line = self._server.stdout.readline()
        assert line, self._server.communicate()
        self._said = json.loads(line)

    @property
    def port(self) -> int:
        """Where clients connect to the first node."""
        return int(self._said["urls"][0].rpartition(":")[2])

    def end(self) -> None:
        """Ctrl-C in its terminal."""
        self._server.send_signal(signal.SIGINT)
        self._server.communicate(timeout=60)

    def secret(self, user: str) -> str:
        """A password, as it is in the file of variables now."""
        return prepare_cluster(self._folder).password(user)

    def connects(self, user: str, **options: Any) -> Any:
        """A supervised connection of a user."""
        return connect(
            servers=",".join(self._said["urls"]),
            user=user,
            password=options.pop("password", None) or self.secret(user),
            tls=ssl.create_default_context(cafile=self._said["ca"]),
            first_connect_timeout=30.0,
            **options,
        )

    def connects_worker(self, name: str) -> Any:
        """As its host does."""
        return self.connects(name, inbox_prefix=f"_INBOX_{name}", jetstream_api_prefix="MEMORY.team.alice.API")


@pytest.fixture
def encrypted(newcomer: Any) -> Iterator[Encrypted]:
    """It runs, and the reader has made the contexts as the page for operators says, and the bucket of the memory."""
    encrypted = Encrypted(newcomer)
    try:
        page = (PAGES.parent / "README.md").read_text()
        made = re.findall(r"^ {4}(unset .+|\. .+|nats context add (?:team|system|MEMORY_team_alice) .+)$", page, re.M)
        newcomer.runs("\n".join([*made, "echo MEMORY_team_alice >memories"]))
        newcomer.runs("jsmemory --context MEMORY_team_alice --bucket team provision --apply")
        yield encrypted
    finally:
        encrypted.end()


PAUSED = 'kill -STOP "$(cat nats-cluster/n3/server.pid)"; (sleep 2; kill -CONT "$(cat nats-cluster/n3/server.pid)") &'
"""One of the nodes takes its time with the next answer; where all are asked, it must not be left out."""


async def fill(store: JetStreamStore) -> None:
    """Write more than a megabyte."""
    for number in range(40):
        await store.create(f"k{number}", "d", "x" * 60_000, scope=None)


async def test_a_full_account_gets_room_while_its_worker_is_connected(encrypted: Encrypted, newcomer: Any) -> None:
    """More bytes for the bucket are no help there, and to try them costs the night."""
    page = newcomer.opens("full-bucket", leaves=("A full bucket", "The bucket", "The notes of one agent"))
    newcomer.runs("sed -i 's/max_file: 512MB/max_file: 1MB/' nats-cluster/conf/workers/alice.conf")
    prepared, reloads = page.section("The account").rpartition("\n")[0].split("\n", 1)[1].split("\n", 1)
    seen = page.shell("\n".join((prepared, PAUSED, reloads)))
    assert seen.count("Statistics:") == 3, "each server prints what it runs with"
    async with encrypted.connects_worker("alice") as worker:
        store = await JetStreamStore.bind(worker, "team", prefix="alice")
        client = worker.client.client_id
        with pytest.raises(BackendError, match=r"account .*max_file"):
            await fill(store)
        # A server tells the others every 1.5 s what its accounts hold, and the doctor asks only one of them.
        seen = page.shell(
            "for again in 1 2 3 4 5 6 7 8 9 10\n"
            "do jsmemory --context MEMORY_team_alice --bucket team doctor || break\n"
            "done",
        )
        assert "The account is full" in seen
        page.run("The account")
        await store.create("room", "d", "x" * 60_000, scope=None)
        assert worker.client.client_id == client


OPERATORS = "The operator's password, and that of the system account"


async def test_a_worker_gets_another_password_and_nobody_is_interrupted(encrypted: Encrypted, newcomer: Any) -> None:
    """A rotation that interrupts is put off until it is too late."""
    page = newcomer.opens("rotate-credentials", leaves=(OPERATORS, "Certificates"))
    scope = Scope()
    async with encrypted.connects_worker("alice") as old:
        before = await JetStreamStore.bind(old, "team", prefix="alice")
        await before.create("k", "d", "one", scope=scope)
        client = old.client.client_id
        page.run("A worker's password", lines=slice(0, 4))
        # The first one is still served, without having been cut off.
        await before.update("k", "d", "two", scope=scope)
        assert old.client.client_id == client
        async with encrypted.connects_worker("alice2") as new:
            after = await JetStreamStore.bind(new, "team", prefix="alice")
            client = new.client.client_id
            await after.update("k", "d", "three", scope=scope)
            page.run("A worker's password", lines=slice(4, None))
            await after.update("k", "d", "four", scope=scope)
            assert new.client.client_id == client
        with pytest.raises(BackendError):
            await JetStreamStore.bind(old, "team", prefix="alice", bind_timeout=3.0)


async def test_the_operator_gets_another_password_and_nodes_other_certificates(
    encrypted: Encrypted, newcomer: Any
) -> None:
    """Whoever starts all servers at once interrupts every agent of the fleet."""
    page = newcomer.opens("rotate-credentials", leaves=("A worker's password",))
    former, certificate = encrypted.secret("operator"), newcomer.home / "nats-cluster" / "n1" / "tls" / "node.pem"
    async with encrypted.connects_worker("alice") as worker:
        store = await JetStreamStore.bind(worker, "team", prefix="alice", write_budget=60.0)
        rotating = asyncio.create_task(asyncio.to_thread(page.run, OPERATORS, lines=slice(0, 3)))
        written = 0
        while not rotating.done():
            await store.create(f"k{written}", "d", "text", scope=None)
            written += 1
            await asyncio.sleep(0.2)
        await rotating
        assert len(await store.list()) == written
    assert encrypted.secret("operator") != former
    async with encrypted.connects("operator") as nc:
        with pytest.raises(BucketNotFoundError):
            await list_prefixes(nc, "absent")
    with pytest.raises(AccessDeniedError):
        async with encrypted.connects("operator", password=former):
            pass
    # As if it had but a week left: it is not good for a name that the nodes are to have.
    before = presented(encrypted.port)
    newcomer.runs("jsmemory server --cluster --prepare --host memory.example")
    assert presented(encrypted.port) == before != certificate.read_bytes()
    page.run("Certificates")
    assert presented(encrypted.port) == certificate.read_bytes()


def presented(port: int) -> bytes:
    """The certificate that a node shows to a client, in PEM."""
    trusting = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    trusting.check_hostname, trusting.verify_mode = False, ssl.CERT_NONE
    with socket.create_connection(("127.0.0.1", port), 10.0) as plain:
        # NATS says who it is before it speaks TLS.
        while not plain.recv(4096).endswith(b"\r\n"):
            pass
        with trusting.wrap_socket(plain) as secured:
            shown = secured.getpeercert(binary_form=True)
    assert shown
    return ssl.DER_cert_to_PEM_cert(shown).encode()
