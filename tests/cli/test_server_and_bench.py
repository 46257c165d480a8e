"""The server that is there to try things on, and the benchmark that leaves nothing behind."""

import asyncio
import json
import signal
import socket
import time
from typing import Any

import nats
import pytest

from jsmemory.cli.comparing import bounds_for
from jsmemory.cli.tuning import Tuning
from jsmemory.testing.measuring import Comparison
from jsmemory.testing.servers import NatsServer, plain_client

OPERATIONS = {"read", "update", "create", "delete", "list", "live_list", "copy", "file_create"}
TOOLS = {"memory_list", "memory_read", "memory_write", "memory_overwrite", "memory_delete"}
QUICK = ("--rounds", "10", "--entries", "20", "--entry-size", "100")


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_server_is_there_until_it_is_stopped(shell: Any, how: signal.Signals) -> None:
    """Whoever tries it out needs one command for a server and a bucket, and a second one that works with it."""
    server = shell.start("server", "--port", "0", "--bucket", "team", "--store", "kept", "--json")
    try:
        said = json.loads(server.stdout.readline())
        assert said["bucket"] == "team"
        assert shell("-s", said["url"], "-b", "team", "write", "k", "-d", "x").code == 0
        # What makes a bucket and what compares one agree.
        assert shell("-s", said["url"], "-b", "team", "provision", "--replicas", "1", "--diff").code == 0
        server.send_signal(how)
        server.communicate(timeout=60)
        assert server.returncode == 0
        with pytest.raises(OSError, match="refused"):
            socket.create_connection(("127.0.0.1", int(said["url"].rpartition(":")[2]))).close()
    finally:
        server.kill()
        server.communicate()


def test_a_store_that_is_kept_is_there_again(shell: Any) -> None:
    """Whoever said --store must find the notes the next day."""
    for expected in (b"", b"k\tx\n"):
        server = shell.start("server", "--port", "0", "--store", "kept", "--json")
        try:
            url = json.loads(server.stdout.readline())["url"]
            assert shell("-s", url, "-b", "memory", "list").out == expected
            shell("-s", url, "-b", "memory", "write", "k", "-d", "x")
        finally:
            server.terminate()
            server.communicate(timeout=60)


def test_a_port_that_is_taken_is_told_at_once(shell: Any, nats_server: NatsServer) -> None:
    """Whoever has a server already must hear so, and not wait for one that cannot start."""
    refused = shell("server", "--port", str(nats_server.port))
    assert (refused.code, refused.err.count("\n")) == (5, 1)
    assert "--port" in refused.err


def test_a_folder_that_cannot_be_kept_in_is_told(shell: Any) -> None:
    """A path that is a file must not end in a traceback."""
    (shell.folder / "file").touch()
    refused = shell("server", "--port", "0", "--store", "file")
    assert (refused.code, refused.err.count("\n")) == (5, 1)


def test_the_benchmark_compares_every_operation(shell: Any) -> None:
    """Whoever decides by cost needs the whole table, on a machine where nothing is set up."""
    measured = shell("bench", *QUICK, "--json").json
    assert set(measured["operations"]) == OPERATIONS
    assert set(measured["tools"]) == TOOLS
    for numbers in (measured["operations"] | measured["tools"]).values():
        assert {"median_ms", "p99_ms", "raw_median_ms", "ratio"} <= set(numbers)
        assert 0 < numbers["median_ms"] <= numbers["p99_ms"]
        assert numbers["ratio"] == pytest.approx(numbers["median_ms"] / numbers["raw_median_ms"], abs=0.01)
    assert measured["operations"]["list"]["entries"] == 20
    assert 0 < measured["operations"]["list"]["wire_bytes"] < 20_000
    assert measured["replay"]["records"] == 100_000
    assert measured["replay"]["seconds"] > 0
    assert measured["server_version"].count(".") == 2
    assert measured["replicas"] == 1
    assert list(shell.folder.iterdir()) == []


def test_a_full_store_is_listed_within_a_mebibyte(shell: Any) -> None:
    """Fault 15: a listing that moves the bodies takes 67 MB at the start of every run."""
    # Of a sixteenth of the size, and still four times as much as it may take.
    listing = shell("bench", "--rounds", "10", "--entry-size", "4096", "--json").json["operations"]["list"]
    assert listing["entries"] == 1024
    # Not nothing either: headers and protocol are counted, which the client's own figure leaves out.
    assert 100_000 < listing["wire_bytes"] <= 1024 * 1024


def test_a_bound_is_of_the_sizes_that_it_was_set_for() -> None:
    """A small listing that always is over its bound sends people to look for a busy machine."""
    tools = dict.fromkeys(TOOLS, Comparison.of([1.0], [1.0]))
    many = {"list", "live_list", "copy", "memory_list"}
    one = {"read", "update", "create", "file_create"} | TOOLS - many
    assert set(bounds_for(Tuning(), tools)) == many | one
    assert set(bounds_for(Tuning(entries=64, entry_size=1024), tools)) == one
    assert set(bounds_for(Tuning(size=64), tools)) == many


def test_the_benchmark_leaves_a_bucket_as_it_was(shell: Any, nats_server: NatsServer, new_bucket: str) -> None:
    """An operator who measures a bucket in use must find every note of others, and nothing else, afterwards."""
    place = ("-s", nats_server.url, "-b", new_bucket)
    shell(*place, "write", "k", "-d", "x")
    before = asyncio.run(subjects(nats_server.url, new_bucket))
    measured = shell(*place, "bench", *QUICK)
    assert measured.code == 0, measured
    for shown in OPERATIONS | TOOLS:
        assert shown.encode() in measured.out
    assert "100,000 records" in measured.err
    assert ", 1 replica." in measured.err
    # The entries are fewer and smaller than those that the bounds were set for.
    rows = {row[0]: row for row in map(str.split, measured.out.decode().splitlines()) if row}
    assert {name: rows[name][5] for name in ("list", "live_list", "copy", "memory_list", "read")} == {
        **dict.fromkeys(("list", "live_list", "copy", "memory_list"), "-"),
        "read": "1.30",
    }
    assert "is known for --size 4096, --entries 1024 and --entry-size 65536" in measured.err
    assert asyncio.run(subjects(nats_server.url, new_bucket)) == before == {f"$KV.{new_bucket}.default.k": 1}


def test_the_benchmark_refuses_a_place_that_is_taken(shell: Any, nats_server: NatsServer, new_bucket: str) -> None:
    """It removes what is under its prefix: that must never be somebody's."""
    place = ("-s", nats_server.url, "-b", new_bucket)
    shell(*place, "--prefix", "mine-a", "write", "k", "-d", "x")
    refused = shell(*place, "--prefix", "mine", "bench", *QUICK, "--json")
    assert (refused.code, refused.json["error"]["code"]) == (5, "invalid_options")
    shell(*place, "--prefix", "theirs", "write", "k", "-d", "x")
    refused = shell(*place, "--prefix", "theirs", "bench", *QUICK, "--json")
    assert (refused.code, refused.json["error"]["code"]) == (5, "invalid_options")
    wild = shell(*place, "--prefix", "*", "bench", *QUICK, "--json")
    assert (wild.code, wild.json["error"]["code"]) == (5, "invalid_options")
    assert asyncio.run(subjects(nats_server.url, new_bucket)) == {
        f"$KV.{new_bucket}.mine-a.k": 1,
        f"$KV.{new_bucket}.theirs.k": 1,
    }


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_benchmark_that_is_stopped_cleans_up(
    shell: Any, nats_server: NatsServer, new_bucket: str, how: signal.Signals
) -> None:
    """Whoever loses patience must not leave a thousand entries in a bucket that others use."""
    place = ("-s", nats_server.url, "-b", new_bucket)
    bench = shell.start(*place, "bench", "--rounds", "100000", "--entries", "50", "--entry-size", "100")
    try:
        end = time.monotonic() + 60
        while len(asyncio.run(subjects(nats_server.url, new_bucket))) < 10:
            assert time.monotonic() < end
        bench.send_signal(how)
        _, err = bench.communicate(timeout=60)
    finally:
        bench.kill()
        bench.communicate()
    assert bench.returncode == (130 if how == signal.SIGINT else 143), err
    assert b"there are no figures" in err
    assert asyncio.run(subjects(nats_server.url, new_bucket)) == {}


def test_a_folder_to_measure_in_is_made(shell: Any) -> None:
    """Elsewhere --directory is made where it is missing."""
    (shell.folder / "file").touch()
    refused = shell("bench", *QUICK, "--directory", "file/deeper")
    assert (refused.code, refused.err.count("\n")) == (5, 1)
    assert shell("bench", *QUICK, "--directory", "new/deeper", "--json").code == 0
    assert list((shell.folder / "new" / "deeper").iterdir()) == []


async def subjects(url: str, bucket: str) -> dict[str, int]:
    """What a bucket holds, delete markers too."""
    async with plain_client(url) as client:
        client_js: nats.js.JetStreamContext = client.jetstream()
        info = await client_js.stream_info(f"KV_{bucket}", subjects_filter=">")
    return dict(info.state.subjects or {})
