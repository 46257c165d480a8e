"""
The printed commands, run by the real nats command line against a real server.

That program comes with no Python package. It is taken from NATS_CLI, else from the search
path; where it is not found these tests are not collected (see tests/conftest.py),
and with JSMEMORY_REQUIRE_NATS_CLI=1 they are, and fail. A release is checked that way.
"""

import base64
import json
import re
import subprocess
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from nats.aio.client import Client

from jsmemory.backends.jetstream.facts import StreamFacts, api_level_of
from jsmemory.backends.jetstream.preflight import examine
from jsmemory.backends.jetstream.recipe import MAX_VALUE_SIZE, BucketRecipe, missing_bucket_cure, successor
from jsmemory.testing.servers import NatsCluster, NatsServer

FactsOf = Callable[[str], Awaitable[StreamFacts]]
Shell = Callable[[str], subprocess.CompletedProcess[str]]

ROOT = Path(__file__).parents[2]
COMPOSE = ROOT / "docker-compose.yml"
README = ROOT / "ops" / "README.md"


@pytest.fixture
def shell(tmp_path: Path, programs: Any, nats_server: NatsServer) -> Shell:
    """An operator's shell without a terminal: `nats` is on its path and talks to the shared server."""
    environment = {
        **programs.environment,
        "HOME": str(tmp_path),
        "NATS_URL": nats_server.url,
    }

    def run(command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["sh", "-c", command],
            cwd=tmp_path,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
        )

    return run


async def test_the_line_makes_a_bucket_that_preflight_has_nothing_against(
    nc: Client, bucket: str, facts_of: FactsOf, shell: Shell
) -> None:
    """Whoever follows the error's advice must not be sent away a second time."""
    name = f"{bucket}_line"
    done = shell(missing_bucket_cure(name, is_clustered=False))
    assert done.returncode == 0, done.stderr
    facts = await facts_of(name)
    assert examine(facts, max_payload=nc.max_payload, api_level=1) == ()
    assert facts.max_message_size == MAX_VALUE_SIZE
    assert facts.allow_direct
    assert (facts.replicas, facts.config.max_msgs_per_subject, facts.config.storage) == (1, 1, "file")


async def test_a_bucket_with_the_longest_name_can_be_made(bucket: str, facts_of: FactsOf, shell: Shell) -> None:
    """A name that the options accept and no server does would fail only at the operator's."""
    name = bucket.ljust(200, "n")
    done = shell(BucketRecipe(bucket=name).nats_kv_add())
    assert done.returncode == 0, done.stderr
    assert (await facts_of(name)).bucket == name


async def test_a_cure_mends_the_bucket_and_keeps_every_entry(
    nc: Client, unfit_bucket: Any, facts_of: FactsOf, shell: Shell
) -> None:
    """Fault 21: advice that does not work, or that costs the memories it should save, is worse than none."""
    level = api_level_of((await nc.request("$JS.API.INFO", b"")).data)
    (finding,) = examine(unfit_bucket.facts, max_payload=nc.max_payload, api_level=level)
    if finding.code == "bucket_mirror":
        assert finding.cure.endswith(unfit_bucket.origin)
        assert examine(await facts_of(unfit_bucket.origin), max_payload=nc.max_payload, api_level=1) == ()
        return
    before = await values_of(nc, unfit_bucket.name)
    done = shell(finding.cure)
    assert done.returncode == 0, done.stderr
    replaced = "stream add" in finding.cure
    fit = successor(BucketRecipe(bucket=unfit_bucket.name)).bucket if replaced else unfit_bucket.name
    assert examine(await facts_of(fit), max_payload=nc.max_payload, api_level=1) == ()
    assert await values_of(nc, fit) == before


async def test_a_successor_has_what_the_bucket_held_and_not_what_was_deleted(
    nc: Client, bucket: str, facts_of: FactsOf, shell: Shell
) -> None:
    """Fault 38: a memory that was deleted must not come back with the move."""
    name = f"{bucket}-old"
    made = shell(f"nats kv add {name} --storage=memory --history=5")
    assert made.returncode == 0, made.stderr
    old = await nc.jetstream().key_value(name)
    await old.put("kept", b"first")
    await old.put("kept", b"last")
    await old.put("gone", b"text")
    await old.delete("gone")
    (finding,) = examine(await facts_of(name), max_payload=nc.max_payload, api_level=1)
    done = shell(finding.cure)
    assert done.returncode == 0, done.stderr
    assert await values_of(nc, successor(BucketRecipe(bucket=name)).bucket) == {"kept": b"last"}


async def test_an_edit_leaves_alone_what_the_operator_chose(
    nc: Client, bucket: str, facts_of: FactsOf, shell: Shell
) -> None:
    """A cure that shrinks a history or a cap makes the next fault."""
    name = f"{bucket}-own"
    made = shell(f"nats kv add {name} --history=7 --ttl=5m --max-value-size=100K --max-bucket-size=10M --compress")
    assert made.returncode == 0, made.stderr
    (finding,) = examine(await facts_of(name), max_payload=nc.max_payload, api_level=1)
    done = shell(finding.cure)
    assert done.returncode == 0, done.stderr
    config = (await facts_of(name)).config
    assert (config.max_age, config.max_msgs_per_subject, config.max_msg_size) == (0, 7, 100 * 1024)
    assert (config.max_bytes, config.storage, config.discard) == (10 * 1024 * 1024, "file", "new")


async def test_on_a_cluster_the_line_and_the_edit_keep_three_replicas(
    nats_cluster: NatsCluster, cluster_nc: Client, bucket: str, shell: Shell
) -> None:
    """A cure that falls back to one replica loses the bucket at the next crash."""
    url = nats_cluster.urls[0]
    add = BucketRecipe(bucket=bucket, replicas=3).nats_kv_add()
    for command in (f"{add} --ttl=5m", f"nats kv edit {bucket} --ttl=0s"):
        done = shell(f"NATS_URL={url} {command}")
        assert done.returncode == 0, done.stderr
    facts = StreamFacts.of((await cluster_nc.request(f"$JS.API.STREAM.INFO.KV_{bucket}", b"")).data)
    assert examine(facts, max_payload=cluster_nc.max_payload, api_level=1) == ()
    assert facts.replicas == 3


async def test_the_container_that_makes_the_bucket_may_run_again(nc: Client, facts_of: FactsOf, shell: Shell) -> None:
    """A second `docker compose up` must leave the memories of the first one where they are."""
    services = yaml.safe_load(COMPOSE.read_text())["services"]
    (line,) = services["bucket"]["command"]
    assert shell(line).returncode == 0
    await nc.jetstream().publish("$KV.team.note", b"kept")
    again = shell(line)
    assert again.returncode == 0, again.stderr
    assert examine(await facts_of("team"), max_payload=nc.max_payload, api_level=1) == ()
    assert await values_of(nc, "team") == {"note": b"kept"}


async def test_a_backup_comes_back_as_another_bucket_by_the_lines_in_the_readme(
    nc: Client, bucket: str, facts_of: FactsOf, shell: Shell
) -> None:
    """Fault 5: what a run had read before a restore must authorise no overwrite after it."""
    backup, restore = re.findall(r"^ {4}(nats backup .*)$", README.read_text(), flags=re.MULTILINE)
    await nc.jetstream().publish(f"$KV.{bucket}.note", b"kept")
    before = await facts_of(bucket)
    done = shell(
        f"{backup} && nats stream rm KV_team --force && {restore}".replace("KV_team", f"KV_{bucket}"),
    )
    assert done.returncode == 0, done.stderr
    assert await values_of(nc, bucket) == {"note": b"kept"}
    after = await facts_of(bucket)
    assert examine(after, max_payload=nc.max_payload, api_level=1) == ()
    assert after.created != before.created


async def values_of(nc: Client, bucket: str) -> dict[str, bytes]:
    """What a bucket holds, by key, straight from the stream."""
    answer = await nc.request(f"$JS.API.STREAM.INFO.KV_{bucket}", b'{"subjects_filter": ">"}')
    subjects = json.loads(answer.data)["state"].get("subjects", {})
    values = {}
    for subject in subjects:
        request = json.dumps({"last_by_subj": subject}).encode()
        got = json.loads((await nc.request(f"$JS.API.STREAM.MSG.GET.KV_{bucket}", request)).data)
        values[subject.removeprefix(f"$KV.{bucket}.")] = base64.b64decode(got["message"].get("data", ""))
    return values
