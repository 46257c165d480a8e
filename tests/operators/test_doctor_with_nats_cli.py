"""The doctor's cures, run by the real nats command line; collected as its neighbour for provisioning is."""

import asyncio
import shlex
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from nats.aio.client import Client

from jsmemory import Report, examine_bucket
from jsmemory.testing.servers import NatsCluster, NatsServer, make_bucket

LONGEST_S = 60.0
Shell = Callable[[str, str], None]


@pytest.fixture
def shell(tmp_path: Path, programs: Any, person: Any) -> Shell:
    """Somebody at a terminal, with `nats` on the path, who talks to a server."""

    def run(command: str, url: str) -> None:
        environment = {**programs.environment, "HOME": str(tmp_path), "NATS_URL": url, "TERM": "xterm"}
        seen = person.runs(["sh", "-c", command], environment)
        assert seen.code == 0, seen.text

    return run


async def nearly_full(nc: Client, bucket: str) -> None:
    await make_bucket(nc, bucket, max_bytes=200_000)
    await nc.jetstream().publish(f"$KV.{bucket}.alice.note", b"x" * 130_000)


async def foreign_key(nc: Client, bucket: str) -> None:
    await make_bucket(nc, bucket)
    await nc.jetstream().publish(f"$KV.{bucket}.alice.a/b", b"text")


async def long_history(nc: Client, bucket: str) -> None:
    await make_bucket(nc, bucket, max_msgs_per_subject=5)


Making = Callable[[Client, str], Awaitable[None]]


@pytest.mark.parametrize(
    ("make", "code"),
    [
        (nearly_full, "bucket_full"),
        (foreign_key, "foreign_keys"),
        (long_history, "history_kept"),
    ],
)
async def test_a_cure_mends_what_was_found(
    nc: Client, bucket: str, nats_server: NatsServer, shell: Shell, make: Making, code: str
) -> None:
    """A command that does not help costs an operator the trust in all others."""
    name = f"{bucket}-2"
    await make(nc, name)
    cure = cure_of(await examine_bucket(nc, name), code)
    shell(cure.removeprefix("if nobody needs it: "), nats_server.url)
    assert code not in await codes_of(nc, name)


@pytest.mark.parametrize("order", [1, -1], ids=["as printed", "the other way round"])
async def test_cures_that_are_carried_out_one_after_the_other_leave_nothing(
    nc: Client, bucket: str, nats_server: NatsServer, shell: Shell, order: int
) -> None:
    """Each is right by itself; an operator pastes them all, and believes that the bucket is safe."""
    name = f"{bucket}-2"
    await make_bucket(nc, name, max_msgs_per_subject=5, max_bytes=200_000, republish={"src": ">", "dest": "copies.>"})
    await nc.jetstream().publish(f"$KV.{name}.alice.note", b"x" * 130_000)
    report = await examine_bucket(nc, name)
    cures = {finding.code: finding.cure for finding in report.findings if finding.cure.startswith("nats ")}
    assert {"bucket_full", "roll_ups_allowed", "bucket_republished", "history_kept"} <= set(cures)
    shell(" && ".join([*cures.values()][::order]), nats_server.url)
    assert not await codes_of(nc, name) & set(cures)


async def test_a_consumer_that_was_left_behind_is_removed(
    nc: Client, bucket: str, nats_server: NatsServer, shell: Shell
) -> None:
    """The command is printed for a name that somebody else has chosen."""
    await nc.jetstream().add_consumer(f"KV_{bucket}", durable_name="left", ack_policy="none")  # type: ignore[arg-type]
    shell(f"nats consumer rm KV_{bucket} {shlex.quote('left')} --force", nats_server.url)


async def test_one_replica_becomes_three(
    nats_cluster: NatsCluster, cluster_nc: Client, bucket: str, shell: Shell
) -> None:
    """It can be mended while agents use it."""
    await make_bucket(cluster_nc, bucket, replicas=1)
    async with asyncio.timeout(LONGEST_S):
        while "replicas_one" not in await codes_of(cluster_nc, bucket):
            await asyncio.sleep(0.1)
    shell(cure_of(await examine_bucket(cluster_nc, bucket), "replicas_one"), nats_cluster.urls[0])
    async with asyncio.timeout(LONGEST_S):
        while await codes_of(cluster_nc, bucket) & {"replicas_one", "replica_away", "replica_behind"}:
            await asyncio.sleep(0.1)


async def codes_of(nc: Client, bucket: str) -> set[str]:
    """What is found, in words for programs."""
    return {finding.code for finding in (await examine_bucket(nc, bucket)).findings}


def cure_of(report: Report, code: str) -> str:
    """The cure of one finding."""
    (finding,) = [each for each in report.findings if each.code == code]
    return finding.cure
