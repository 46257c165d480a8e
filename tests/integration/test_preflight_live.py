"""Unfit buckets, each made on a real server, and what preflight says of what that server tells."""

import asyncio
import re
import subprocess
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from nats.aio.client import Client
from nats.js.errors import APIError

from jsmemory.backends.jetstream import messages
from jsmemory.backends.jetstream.facts import StreamFacts, api_level_of
from jsmemory.backends.jetstream.preflight import MIN_CONSUMERS, examine
from jsmemory.limits import MAX_CONTENT_BYTES, MAX_ENTRY_BYTES
from jsmemory.testing.servers import ServerSettings, embedded_server, find_nats_server, make_bucket, plain_client

FactsOf = Callable[[str], Awaitable[StreamFacts]]

HOUR_NS = 3600 * 1_000_000_000

LONGEST_HEADER = 3_040
"""Bytes of front matter that the longest legal description takes."""


async def test_a_bucket_as_we_ask_for_it_has_no_findings(nc: Client, bucket: str, facts_of: FactsOf) -> None:
    """An operator who did everything right must not be sent away."""
    facts = await facts_of(bucket)
    level = api_level_of((await nc.request("$JS.API.INFO", b"")).data)
    assert examine(facts, max_payload=nc.max_payload, api_level=level) == ()
    assert facts.bucket == bucket


async def test_every_unfit_bucket_is_found_out_by_what_its_server_says(nc: Client, unfit_bucket: Any) -> None:
    """Fault 21: a bucket that is accepted although it loses memories is noticed when they are gone."""
    findings = examine(unfit_bucket.facts, max_payload=nc.max_payload, api_level=1)
    assert [finding.code for finding in findings] == [unfit_bucket.code]


@pytest.mark.parametrize(
    "stream",
    [
        {"allow_msg_ttl": True, "subject_delete_marker_ttl": 60_000_000_000},
        {"max_msgs_per_subject": 64},
        {"max_msgs_per_subject": -1},
        {"max_bytes": 100_000_000},
        {"discard": "old"},
        {"allow_direct": False},
        {"allow_rollup_hdrs": False, "deny_purge": True, "deny_delete": False},
        {"republish": {"src": ">", "dest": "copies.>"}},
        {"max_msg_size": MAX_ENTRY_BYTES},
        {"max_consumers": MIN_CONSUMERS},
        {"persist_mode": "default"},
        {"compression": "s2"},
    ],
    ids=str,
)
async def test_what_is_only_a_matter_of_taste_stops_nobody(
    nc: Client, bucket: str, facts_of: FactsOf, stream: dict[str, object]
) -> None:
    """A store that refuses sound buckets is opened with preflight turned off, and then nothing is checked."""
    await make_bucket(nc, f"{bucket}-2", **stream)
    assert examine(await facts_of(f"{bucket}-2"), max_payload=nc.max_payload, api_level=1) == ()


async def test_everything_that_is_wrong_is_said_at_once(nc: Client, bucket: str, facts_of: FactsOf) -> None:
    """An operator who is told one fault a deployment needs a day for a bucket."""
    name = f"{bucket}-2"
    await make_bucket(
        nc, name, storage="memory", max_age=HOUR_NS, discard="old", max_msgs=9, max_msg_size=10, no_ack=True
    )
    findings = examine(await facts_of(name), max_payload=1_000, api_level=0)
    assert {finding.code for finding in findings} == {
        "bucket_in_memory",
        "bucket_ttl",
        "bucket_value_cap",
        "bucket_discards_old",
        "bucket_no_ack",
        "server_max_payload",
        "server_too_old",
    }


async def test_a_bucket_made_anew_under_its_name_is_told_from_its_namesake(
    nc: Client, bucket: str, facts_of: FactsOf
) -> None:
    """A revision of the deleted bucket would authorise an overwrite in the new one."""
    before = await facts_of(bucket)
    await nc.request(f"$JS.API.STREAM.DELETE.KV_{bucket}", b"")
    await make_bucket(nc, bucket)
    assert before.created
    assert (await facts_of(bucket)).created != before.created


async def test_a_bucket_capped_at_exactly_an_entry_takes_the_longest_one_with_its_headers(nc: Client) -> None:
    """Fault 13: the longest legal memory must not fail on a bucket that preflight let pass."""
    bucket, prefix, key = "b" * 200, "p" * 200, "k" * 200
    await make_bucket(nc, bucket, max_msg_size=MAX_ENTRY_BYTES)
    headers = {
        messages.OPERATION: messages.new_operation(),
        messages.PREVIOUS: messages.new_operation(),
        messages.EXPECTED: "0",
        messages.EXPECTED_WITHIN: f"$KV.{bucket}.{prefix}.>",
    }
    value = b"v" * (MAX_CONTENT_BYTES + LONGEST_HEADER)
    ack = await nc.jetstream().publish(f"$KV.{bucket}.{prefix}.{key}", value, headers=headers)
    assert ack.seq == 1


async def test_a_server_counts_headers_towards_the_cap(nc: Client, bucket: str) -> None:
    """If it did not, a cap could be sized for the value alone; it does, so the recipe asks for more."""
    await make_bucket(nc, f"{bucket}-2", max_msg_size=1_000)
    headers = {"a": "b"}
    counted = len("NATS/1.0\r\n" + "a: b\r\n" + "\r\n")
    subject = f"$KV.{bucket}-2.key"
    await nc.jetstream().publish(subject, b"v" * (1_000 - counted), headers=headers)
    with pytest.raises(APIError) as refused:
        await nc.jetstream().publish(subject, b"v" * (1_000 - counted + 1), headers=headers)
    assert refused.value.err_code == 10054


async def test_a_small_max_payload_is_found_and_mended_by_the_line_that_is_printed() -> None:
    """A full memory would not be refused there: the server cuts the connection, for good."""
    async with embedded_server(settings=ServerSettings(max_payload=65_536)) as server:
        await make_bucket(server.url, "team")
        async with plain_client(server.url) as client:
            facts = StreamFacts.of((await client.request("$JS.API.STREAM.INFO.KV_team", b"")).data)
            (finding,) = examine(facts, max_payload=client.max_payload, api_level=1)
        assert finding.code == "server_max_payload"
        line, command = re.findall(r'"(.*)".*run: nats-server (.*)', finding.cure)[0]
        config = server.folder / "server.conf"
        config.write_text(config.read_text().replace("max_payload: 65536", line))
        subprocess.run([find_nats_server(), *f"{command}={server.pid}".split()], check=True)
        async with asyncio.timeout(10):
            # The signal is not waited for; whoever connects after the reload gets the new limit.
            while (payload := await max_payload(server.url)) == 65_536:
                await asyncio.sleep(0.02)
        assert examine(facts, max_payload=payload, api_level=1) == ()


async def max_payload(url: str) -> int:
    async with plain_client(url) as client:
        return client.max_payload
