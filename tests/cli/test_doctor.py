"""The command that says whether memory is safe: its table, its JSON, and the code that it ends with."""

import asyncio
import json
import re
from pathlib import Path
from typing import Any

import pytest

from jsmemory import Verdict
from jsmemory.cli.examining import CODES
from jsmemory.cli.exits import MEANINGS
from jsmemory.limits import MAX_ENTRY_BYTES
from jsmemory.testing.servers import NatsServer, make_bucket, plain_client
from jsmemory.testing.streams import make_stream

README = (Path(__file__).parents[2] / "README.md").read_text()


def test_a_bucket_without_a_fault_ends_with_nothing_and_shows_the_cures(
    shell: Any, nats_server: NatsServer, new_bucket: str
) -> None:
    """An operator reads what is wrong, and pastes what mends it."""
    place = ("-s", nats_server.url, "-b", new_bucket)
    shown = shell(*place, "doctor")
    assert shown.code == 0
    lines = shown.out.decode().splitlines()
    assert "advice\troll_ups\ton" in lines
    assert f"    nats stream edit KV_{new_bucket} --no-allow-rollup --force" in lines
    document = shell(*place, "doctor", "--json").json
    assert (document["backend"], document["location"], document["verdict"]) == ("jetstream", new_bucket, "advice")
    (roll_ups,) = [each for each in document["checks"] if each["check"] == "roll_ups"]
    assert roll_ups["findings"][0]["code"] == "roll_ups_allowed"


def test_the_code_is_that_of_the_worst_finding(shell: Any, nats_server: NatsServer, new_bucket: str) -> None:
    """A pipeline goes by it."""
    expiring = f"{new_bucket}-ttl"
    asyncio.run(make_bucket(nats_server.url, expiring, max_age=3_600_000_000_000))
    assert shell("-s", nats_server.url, "-b", expiring, "doctor").code == 5
    asyncio.run(plant(nats_server.url, new_bucket, b"x" * (MAX_ENTRY_BYTES + 1)))
    warned = shell("-s", nats_server.url, "-b", new_bucket, "doctor", "--json")
    assert (warned.code, warned.json["verdict"]) == (6, "warning")
    assert shell("-s", nats_server.url, "-b", new_bucket, "-i", "bob", "doctor").code == 0


def test_a_bucket_that_is_not_there_is_a_report_too(shell: Any, nats_server: NatsServer, new_bucket: str) -> None:
    """A program that reads reports must find this one as well."""
    missing = shell("-s", nats_server.url, "-b", new_bucket[:-1], "doctor", "--json")
    assert (missing.code, missing.json["verdict"]) == (5, "fault")
    (finding,) = missing.json["checks"][-1]["findings"]
    assert finding["code"] == "bucket_not_found"
    assert new_bucket in finding["problem"]


def test_nobody_there_is_an_error_as_everywhere(shell: Any, closed_port: int) -> None:
    """A script must tell a server that is down from a bucket that is unfit."""
    refused = shell("-s", f"nats://127.0.0.1:{closed_port}", "-b", "team", "doctor", "--json")
    assert (refused.code, refused.json["error"]["code"]) == (3, "backend_unavailable")


def test_files_are_examined_as_well(shell: Any) -> None:
    """Whoever begins without a server has notes to lose too."""
    assert json.loads(shell("doctor", "--json").out)["checks"][0]["findings"][0]["code"] == "directory_missing"
    shell("write", "k", "-d", "x")
    report = shell("doctor", "--write-probe", "--json").json
    assert report["backend"] == "file"
    assert {"entries", "left_over", "disk", "write_probe"} <= {each["check"] for each in report["checks"]}
    assert str(shell.folder) not in json.dumps(report)


def test_a_script_waits_for_one_check(shell: Any) -> None:
    """Whoever waits until all is well waits for ever, where another thing is wrong; or not at all, if none is made."""
    shell("write", "k", "-d", "x")
    assert {each["check"] for each in shell("doctor", "--only", "entries", "--json").json["checks"]} == {"entries"}
    refused = shell("doctor", "--only", "entries", "--only", "followers")
    assert (refused.code, refused.out) == (2, b"")
    assert "'followers'" in refused.err
    assert "left_over" in refused.err


@pytest.mark.parametrize(
    ("arguments", "code", "named"),
    [
        (("--monitor", "http://n1:8222"), 2, "--monitor"),
        (("--backend", "in_process"), 2, "--bucket"),
        (("--read-only", "--write-probe"), 2, "--write-probe"),
        (("--journal", "./runs"), 2, "--journal"),
        (("--journal", "runs", "--write-probe"), 2, "written to"),
        (("-b", "b", "--directory", "d"), 2, "directory"),
    ],
)
def test_what_cannot_be_examined_is_refused_in_one_line(
    shell: Any, arguments: tuple[str, ...], code: int, named: str
) -> None:
    """Whoever mistypes must see what, and how to go on."""
    refused = shell("doctor", *arguments)
    assert (refused.code, refused.out, refused.err.count("\n")) == (code, b"", 1)
    assert named in refused.err


@pytest.mark.parametrize("verdict", [each for each in Verdict if each is not Verdict.UNKNOWN], ids=str)
def test_every_verdict_has_a_code_that_is_documented(verdict: Verdict) -> None:
    """A code that is not in the table means nothing to whoever gets it."""
    assert CODES[verdict] in MEANINGS
    assert re.search(rf"^\| {CODES[verdict].value} \|", README, flags=re.MULTILINE)


async def plant(url: str, bucket: str, value: bytes) -> None:
    """Store a value past every store."""
    async with plain_client(url) as client:
        await client.jetstream().publish(f"$KV.{bucket}.alice.huge", value)


def test_the_prefixes_are_named_for_a_script(shell: Any, nats_server: NatsServer, new_bucket: str) -> None:
    """A loop over all agents takes its names from there."""
    place = ("-s", nats_server.url, "-b", new_bucket)
    for prefix, key in (("alice", "a"), ("bob", "b"), ("alice", "c")):
        assert shell(*place, "--prefix", prefix, "write", key, "-d", "d", "--content", "-", stdin=b"text").code == 0
    assert shell(*place, "prefixes").out == b"alice\t2\nbob\t1\n"
    assert shell(*place, "prefixes", "--json").json == {
        "prefixes": [{"prefix": "alice", "entries": 2}, {"prefix": "bob", "entries": 1}]
    }
    assert shell("write", "k", "-d", "d", "--content", "-", stdin=b"text").code == 0
    assert shell("prefixes").out == b"default\t1\n"
    assert shell("prefixes", "--prefix", "alice").code == 2
    assert (
        shell("-b", "absent", "-s", nats_server.url, "prefixes", "--json").json["error"]["code"] == "bucket_not_found"
    )


def test_a_journal_is_examined_alone_and_beside_a_store(shell: Any, nats_server: NatsServer, new_bucket: str) -> None:
    """A run that cannot be taken up again is lost with everything that it was allowed to do."""
    stream = f"j{new_bucket}"[:32]
    asyncio.run(make_stream(nats_server.url, stream, max_age=3_600_000_000_000))
    at = ("-s", nats_server.url, "--journal", stream, "--json")
    alone = shell("doctor", *at)
    assert (alone.code, alone.json["location"], alone.json["verdict"]) == (5, stream, "fault")
    names = [each["check"] for each in alone.json["checks"]]
    assert "journal_configuration" in names
    both = shell("doctor", "-b", new_bucket, *at)
    assert (both.code, both.json["location"]) == (5, new_bucket)
    together = [each["check"] for each in both.json["checks"]]
    assert {"journal_configuration", "configuration", "clock", "service"} <= set(together)
    assert len(together) == len(set(together))
    notes = ("--directory", "notes", "--journal", stream, "--json")
    assert shell("doctor", *notes, environment={"NATS_URL": nats_server.url}).json["backend"] == "file"
