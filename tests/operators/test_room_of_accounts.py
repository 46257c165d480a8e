"""What the limits of isolated memories have servers set aside: measured, since the page for operators says so."""

import json
import re
import urllib.request
from pathlib import Path

import pytest

from jsmemory import JetStreamJournal, JetStreamStore, WorkerPermissions
from jsmemory.errors import BackendUnavailableError
from jsmemory.journal import records
from jsmemory.provisioning.permissions import MEMORY_LIMITS
from jsmemory.testing.servers import ServerSettings, local_cluster, local_server, make_bucket, plain_client
from jsmemory.testing.streams import make_stream

PAGE = (Path(__file__).parents[2] / "ops" / "README.md").read_text()
ROOM = 1024**3
"""Of a server: as much as two isolated memories may take."""


def with_memories(count: int) -> ServerSettings:
    """A server with so many isolated memories, and room for two."""
    printed = (
        WorkerPermissions(bucket="team", prefix=f"p{number}", isolated=True).configuration() for number in range(count)
    )
    accounts = re.sub(r"\$PASSWORD_\w+", '"secret"', "\n".join(printed))
    return ServerSettings(extra=f"accounts {{\n{accounts}\n}}\n", max_file=ROOM)


def test_a_server_alone_starts_only_with_room_for_all_of_them() -> None:
    """A server that ran for months does not come back after the memory that was one too many."""
    with local_server(settings=with_memories(2)):
        pass
    with pytest.raises(BackendUnavailableError) as caught, local_server(settings=with_memories(3)):
        pass
    assert "insufficient storage resources available (10047)" in "".join(caught.value.__notes__)


async def test_a_cluster_sets_nothing_aside() -> None:
    """Seven memories, and nodes that together have room for six: nobody is refused before they write."""
    with local_cluster(settings=with_memories(7)) as cluster:
        for number in range(7):
            async with plain_client(*cluster.urls, user=f"MEMORY_team_p{number}", password="secret") as nc:
                await make_bucket(nc, "team", replicas=3)
        with urllib.request.urlopen(f"{cluster.nodes[0].monitor_url}/jsz") as answer:
            page = json.load(answer)
        assert (page["streams"], page["reserved_storage"]) == (7, 0)


async def test_who_fills_an_account_is_told_which_limit_to_raise() -> None:
    """The bucket has no limit of its own: to raise that would be no help, and a code of the server is none either."""
    account = "MEMORY: { jetstream: { max_file: 250KB }, users: [ { user: operator, password: secret } ] }"
    with local_server(settings=ServerSettings(extra=f"accounts {{ {account} }}")) as server:
        async with plain_client(server.url, user="operator", password="secret") as nc:
            await make_bucket(nc, "team")
            await make_stream(nc, "runs")
            store, journal = await JetStreamStore.bind(nc, "team", "p"), await JetStreamJournal.bind(nc, "runs")
            for number in range(4):
                await store.create(f"k{number}", "d", "x" * 60_000, scope=None)
            with pytest.raises(
                BackendUnavailableError, match=r"account .*Nothing was written\. .*max_file of the account"
            ):
                await store.create("k4", "d", "x" * 60_000, scope=None)
            with pytest.raises(
                BackendUnavailableError, match=r"account .*Nothing was written\. .*max_file of the account"
            ):
                await journal.begin("night", records.host("message", "x" * 60_000))


def test_the_page_says_which_holds_where() -> None:
    """Whoever buys disks by it must not be told of room that nobody keeps."""
    file, memory = (MEMORY_LIMITS[name].replace("MB", " MB") for name in ("max_file", "max_mem"))  # type: ignore[attr-defined]
    assert "A cluster sets nothing aside for an account." in PAGE
    assert re.search(rf"`max_file_store` has room for {file}, and its `max_memory_store` for {memory}, of each", PAGE)
    assert f"that may grow to {file} over all replicas" in PAGE
