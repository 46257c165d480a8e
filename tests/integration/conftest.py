"""Buckets that lose or refuse memories, made for real; and what needs a program that may be missing."""

import json
import secrets
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

import pytest
from nats.aio.client import Client

from jsmemory.backends.jetstream.facts import StreamFacts
from jsmemory.testing.servers import make_bucket

HOUR_NS = 3600 * 1_000_000_000

UNFIT: Mapping[str, Mapping[str, object]] = {
    "bucket_ttl": {"max_age": HOUR_NS},
    "bucket_value_cap": {"max_msg_size": 65_536},
    "bucket_in_memory": {"storage": "memory"},
    "bucket_async": {"persist_mode": "async"},
    "bucket_sealed": {},
    "bucket_mirror": {
        "mirror": {"name": "KV_{origin}"},
        "subjects": None,
        "deny_delete": None,
        "allow_rollup_hdrs": None,
    },
    "bucket_sources": {
        "sources": [
            {
                "name": "KV_{origin}",
                "subject_transforms": [{"src": "$KV.{origin}.>", "dest": "$KV.{bucket}.>"}],
            }
        ]
    },
    "bucket_counter": {"allow_msg_counter": True, "discard": "old"},
    "bucket_retention/workqueue": {"retention": "workqueue"},
    "bucket_retention/interest": {"retention": "interest"},
    "bucket_discards_old/max_bytes": {"discard": "old", "max_bytes": 1_000_000},
    "bucket_discards_old/max_msgs": {"discard": "old", "max_msgs": 100},
    "bucket_discards_new_per_subject": {"discard_new_per_subject": True},
    "bucket_no_ack": {"no_ack": True},
    "bucket_subjects/more": {"subjects": ["$KV.{bucket}.>", "{bucket}.elsewhere"]},
    "bucket_subjects/fewer": {"subjects": ["$KV.{bucket}.note.>"]},
    "bucket_transform": {"subject_transform": {"src": "$KV.{bucket}.other.>", "dest": "$KV.{bucket}.renamed.>"}},
    "bucket_max_consumers": {"max_consumers": 4},
    "bucket_consumer_limits": {"consumer_limits": {"inactive_threshold": 1_000_000_000}},
}
"""What makes a bucket unfit, under the code of its finding: how its stream differs from a fit one."""

ENTRIES: Mapping[str, bytes] = {
    "note.one": b"---\ndescription: a line\n---\n\ntwo lines\nand no end of line",
    "note.two=": b"\n\n \n",
    "note.empty": b"",
}
"""What is in the buckets before they are mended."""


@dataclass(frozen=True)
class UnfitBucket:
    """A bucket on the shared server with one thing wrong; `origin` is where a mirror gets its values."""

    name: str
    code: str
    origin: str
    facts: StreamFacts


AskFacts = Callable[[str], Awaitable[StreamFacts]]


@pytest.fixture
def facts_of(nc: Client) -> AskFacts:
    """What the shared server says of a bucket."""

    async def ask(bucket: str) -> StreamFacts:
        return StreamFacts.of((await nc.request(f"$JS.API.STREAM.INFO.KV_{bucket}", b"")).data)

    return ask


@pytest.fixture(params=UNFIT)
async def unfit_bucket(request: pytest.FixtureRequest, nc: Client, facts_of: AskFacts) -> UnfitBucket:
    """One bucket of each kind, with some entries where it takes any."""
    name, origin = (f"unfit-{secrets.token_hex(6)}" for _ in range(2))
    code = request.param.partition("/")[0]
    text = json.dumps(UNFIT[request.param]).replace("{bucket}", name).replace("{origin}", origin)
    await make_bucket(nc, origin)
    made = await make_bucket(nc, name, **json.loads(text))
    for key, value in ENTRIES.items():
        await nc.publish(f"$KV.{name}.{key}", value)
    await nc.flush()
    if code == "bucket_sealed":
        config = json.dumps({**made["config"], "sealed": True}).encode()
        await nc.request(f"$JS.API.STREAM.UPDATE.KV_{name}", config)
    return UnfitBucket(name, code, origin, await facts_of(name))
