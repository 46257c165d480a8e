"""``jsmemory compact``: bounded, interruptible, and kind where there is nothing to do."""

import asyncio
import json
import signal
import time
from typing import Any

import pytest

from jsmemory.cli.compacting import seconds_of
from jsmemory.cli.exits import UsageRefused
from jsmemory.examining.census import MANY_MARKERS
from jsmemory.testing.servers import NatsServer, ServerSettings, embedded_server, make_bucket, plain_client, plant
from jsmemory.testing.servers.users import Worker, account_of, rights_in


@pytest.fixture
def place(nats_server: NatsServer, new_bucket: str) -> tuple[str, ...]:
    """The options that name a fresh bucket."""
    return ("--server", nats_server.url, "--bucket", new_bucket)


async def leave_markers(url: str, bucket: str, count: int) -> None:
    """What so many deleted keys of alice leave."""
    async with plain_client(url) as client:
        await plant(client, bucket, {f"alice.k{number}": b"" for number in range(count)}, {"KV-Operation": "DEL"})


async def messages_in(url: str, bucket: str) -> int:
    async with plain_client(url) as client:
        answer = json.loads((await client.request(f"$JS.API.STREAM.INFO.KV_{bucket}", b"")).data)
    return int(answer["state"]["messages"])


def test_the_cure_of_the_doctor_mends_what_it_found(
    shell: Any, place: tuple[str, ...], nats_server: NatsServer, new_bucket: str
) -> None:
    """A command that does not help costs an operator the trust in all others."""
    asyncio.run(leave_markers(nats_server.url, new_bucket, MANY_MARKERS))
    shell(*place, "--prefix", "alice", "write", "kept", "-d", "x")
    (cure,) = [
        finding["cure"]
        for check in shell("doctor", *place, "--prefix", "alice", "--json").json["checks"]
        for finding in check["findings"]
        if finding["code"] == "markers_piled_up"
    ]
    command = cure.partition(";")[0].split()[1:]
    at = ("--server", nats_server.url, "--json")
    young = shell(*command, *at)
    assert (young.code, young.json["removed"], young.json["young"]) == (0, 0, MANY_MARKERS)
    would = shell(*command, *at, "--older-than", "0s", "--dry-run")
    assert (would.json["removed"], would.json["dry_run"]) == (MANY_MARKERS, True)
    few = shell(*command, "--server", nats_server.url, "--older-than", "0s", "--limit", "24")
    assert (few.code, few.out) == (0, b"")
    assert few.err == (
        f"24 markers were removed, of {MANY_MARKERS + 1:,} names.\n"
        "There are more. Run the same command again, and it goes on from there.\n"
    )
    done = shell(*command, *at, "--older-than", "0s")
    assert done.json == {
        "dry_run": False,
        "seen": MANY_MARKERS - 24 + 1,
        "removed": MANY_MARKERS - 24,
        "young": 0,
        "odd": 0,
        "whole": True,
    }
    assert shell(*place, "--prefix", "alice", "list").out == b"kept\tx\n"


def test_files_have_nothing_to_compact(shell: Any) -> None:
    """A script that tidies up every night runs on a laptop too."""
    said = shell("compact")
    assert (said.code, said.out) == (0, b"")
    assert said.err.startswith("Files keep no markers")
    assert shell("compact", "--directory", "notes", "--json").json["whole"] is True
    assert list(shell.folder.iterdir()) == []


@pytest.mark.parametrize(
    ("how", "code", "word"), [(signal.SIGINT, 130, "interrupted"), (signal.SIGTERM, 143, "terminated")]
)
def test_stopped_it_says_how_far_it_came_and_a_second_run_goes_on(
    shell: Any, place: tuple[str, ...], nats_server: NatsServer, new_bucket: str, how: int, code: int, word: str
) -> None:
    """A large bucket takes minutes, and an operator has other things to do."""
    count = 60_000
    asyncio.run(leave_markers(nats_server.url, new_bucket, count))
    while asyncio.run(messages_in(nats_server.url, new_bucket)) < count:
        # A server counts what is on its way into a stream when it is there.
        time.sleep(0.01)
    process = shell.start("compact", *place, "--older-than", "0s")
    try:
        deadline = time.monotonic() + 60
        while asyncio.run(messages_in(nats_server.url, new_bucket)) > count - 2048 and time.monotonic() < deadline:
            time.sleep(0.002)
        process.send_signal(how)
        out, err = process.communicate(timeout=60)
    finally:
        process.kill()
        process.communicate()
    assert (process.returncode, out) == (code, b"")
    assert err.startswith(f"jsmemory: {word.capitalize()} after ".encode())
    assert b" of 60,000 names. " in err
    assert b"run the same command again" in err
    left = asyncio.run(messages_in(nats_server.url, new_bucket))
    assert 0 < left < count
    assert shell("compact", *place, "--older-than", "0s", "--json").json["removed"] == left


async def test_a_worker_may_not_compact(shell: Any) -> None:
    """With the right to purge, one agent could wipe the notes of all others."""
    worker = Worker("ann", [*rights_in("team", "ann"), "$JS.API.STREAM.INFO.KV_team"])
    async with embedded_server(settings=ServerSettings(extra=account_of(worker))) as server:
        async with plain_client(server.url, user="operator", password="secret") as operator:
            await make_bucket(operator, "team")
            await operator.request("$KV.team.ann.k", b"", headers={"KV-Operation": "DEL"})
        context = shell.folder / "config" / "nats" / "context" / "ann.json"
        context.parent.mkdir(parents=True)
        login = {"url": server.url, "user": "ann", "password": "secret", "inbox_prefix": "_INBOX_ann"}
        context.write_text(json.dumps(login))
        arguments = ("--context", "ann", "-b", "team", "--prefix", "ann", "--older-than", "0s", "--json")
        ran = await asyncio.to_thread(shell, "compact", *arguments)
    assert (ran.code, ran.json["error"]["code"]) == (3, "access_denied")
    assert "STREAM.PURGE.KV_team" in ran.json["error"]["message"]


@pytest.mark.parametrize(
    ("arguments", "code", "named"),
    [
        (("--identity", "alice"), 2, "--identity"),
        (("--read-only",), 2, "--read-only"),
        (("--older-than", "soon"), 2, "--older-than"),
        (("--backend", "in_process"), 2, "--bucket"),
        (("--bucket", "a.b"), 5, "--bucket"),
        (("--config", "reader.yaml"), 2, "--dry-run"),
    ],
)
def test_what_cannot_be_meant_is_refused_in_one_line(
    shell: Any, arguments: tuple[str, ...], code: int, named: str
) -> None:
    """Whoever mistypes must see what, and how to go on."""
    (shell.folder / "reader.yaml").write_text("{backend: jetstream, read_only: true, options: {bucket: team}}\n")
    refused = shell("compact", *arguments)
    assert (refused.code, refused.out, refused.err.count("\n")) == (code, b"", 1)
    assert named in refused.err


@pytest.mark.parametrize(
    ("age", "seconds"), [("90s", 90), ("30m", 1800), ("1h30m", 5400), ("1.5d", 129_600), ("2w", 1_209_600), ("0s", 0)]
)
def test_an_age_is_read_as_it_is_written(age: str, seconds: float) -> None:
    """Minutes that are taken for months keep every marker, and hours for seconds remove what is needed."""
    assert seconds_of(age) == seconds


@pytest.mark.parametrize("age", ["", "30", "m", "-5m", "30 m", "30M", "1y", "5m!", "1e3s"])
def test_an_age_that_could_mean_two_things_is_refused(age: str) -> None:
    """A number without its unit is a guess."""
    with pytest.raises(UsageRefused, match="--older-than 30m"):
        seconds_of(age)
