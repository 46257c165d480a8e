"""
What is wrong with a bucket, told before it is used: pure, from facts to findings.

Refused is what loses memories silently (an age limit, memory storage, discard old with a
limit, acknowledgement before the write, retention by interest), what refuses legal ones (a
cap or a ``max_payload`` below an entry, discard new per subject, a counter, a sealed stream,
a mirror, no acknowledgements, too few consumers for listings), and what breaks a promise
behind the store's back (other subjects, a transform, sources, which write without the guard
and past the capacity, a server that ignores the condition behind the capacity).

Only advice, and left to a check that an operator runs: one replica; roll-ups allowed, which
let a hostile worker wipe the bucket; direct reads turned off, which need a wider permission;
a republished copy, which shows memories to whoever subscribes; a history above one, which
keeps old text; limits with discard new, which refuse aloud; how full the bucket is;
compression, placement and the deduplication window. Without any bearing: ``deny_purge`` and
``deny_delete`` (a delete here is a tombstone), per-message TTLs and delete markers (nothing
here carries a TTL, and a marker reads as absent).

What no client can see is not judged: whether the server syncs before it acknowledges.
"""

from collections.abc import Iterator
from typing import Final

from jsmemory.backends.jetstream.facts import STREAM_PREFIX, Origin, StreamConfig, StreamFacts
from jsmemory.backends.jetstream.recipe import MAX_VALUE_SIZE, advised, size, successor, successor_cure
from jsmemory.findings import Finding
from jsmemory.limits import MAX_ENTRY_BYTES

MIN_CONSUMERS: Final = 16
"""Consumers that a bucket must allow: a listing takes one, and a fleet that starts lists together."""

MIN_INACTIVE_SECONDS: Final = 30
"""Seconds that consumers must be allowed to idle: the server refuses one that asks for more than the limit."""

MIN_API_LEVEL: Final = 1
"""The JetStream API since nats-server 2.11; older servers ignore a condition on a whole prefix."""

CONSUMERS_EDITABLE: Final = 2
"""The JetStream API since nats-server 2.12; older servers never change how many consumers a stream allows."""

SECOND: Final = 1_000_000_000
"""Nanoseconds: what JetStream counts durations in."""


def examine(facts: StreamFacts, *, max_payload: int, api_level: int | None) -> tuple[Finding, ...]:
    """
    Everything that makes a bucket unfit for memories, at once; nothing where it is fit.

    Args:
        facts: What the server says of the stream.
        max_payload: Bytes that the server takes in one message, headers included.
        api_level: The level of the JetStream API; None where it could not be asked for.

    Returns:
        The findings, each with its cure. Where one of the bucket's faults is beyond an edit,
        the cure of them all is its successor: an edit of such a bucket is wasted, or refused.
    """
    return (*_faults_of_bucket(facts, api_level or 0), *_faults_of_server(max_payload, api_level))


def _faults_of_bucket(facts: StreamFacts, api_level: int) -> Iterator[Finding]:
    config = facts.config
    if config.mirror is not None:
        yield _mirrored(facts.bucket, config.mirror)
        return
    final = tuple(_final_faults(config, api_level))
    replacement = _replacement(facts) if final else ""
    yield from (Finding(code, problem, replacement) for code, problem in final)
    for code, problem, flags in _editable_faults(facts.bucket, config, api_level):
        yield Finding(code, problem, replacement or _edit(facts, flags))


def _edit(facts: StreamFacts, flags: str) -> str:
    edit = f"nats kv edit {facts.bucket}{flags}"
    if facts.config.allow_rollup_hdrs:
        return edit
    # It turns roll-ups on, whatever somebody had decided.
    return f"{edit} && nats stream edit {facts.config.name} --no-allow-rollup --force"


def _mirrored(bucket: str, origin: Origin) -> Finding:
    source = origin.name.removeprefix(STREAM_PREFIX)
    return Finding(
        "bucket_mirror",
        "The bucket is a mirror, and refuses every write.",
        f"open the bucket that it mirrors, {source}, in its own domain"
        if source == bucket
        else f"open the bucket that it mirrors: {source}",
    )


def _replacement(facts: StreamFacts) -> str:
    recipe = advised(facts.bucket, is_clustered=facts.is_clustered)
    if facts.config.retention != "workqueue":
        return successor_cure(recipe)
    new = successor(recipe)
    # A work queue refuses the consumer that lists keys, so there is no loop to print.
    return (
        f"{new.one_line()} && for subject in $(nats stream subjects {facts.config.name} --names); do "
        f'key=${{subject#*.*.}}; nats kv get {facts.bucket} "$key" --raw >entry && '
        f'nats kv put {new.bucket} "$key" <entry; done'
    )


def _final_faults(config: StreamConfig, api_level: int) -> Iterator[tuple[str, str]]:
    """What a server never changes in a stream, or the command line has no flag for: code and problem."""
    if config.storage != "file":
        yield "bucket_in_memory", "The bucket keeps its values in memory: a restart loses them all."
    if config.persist_mode == "async":
        yield (
            "bucket_async",
            "The bucket acknowledges a write before it is stored: a crash loses what was reported saved.",
        )
    if config.sealed:
        yield "bucket_sealed", "The bucket is sealed, and refuses every write."
    if config.retention == "workqueue":
        yield "bucket_retention", "The bucket is a work queue: it can not be listed, and a value that is taken is gone."
    if config.allow_msg_counter:
        yield "bucket_counter", "The bucket counts, and refuses values that are no increments."
    if config.sources:
        yield (
            "bucket_sources",
            "The bucket copies from others, whose writes overwrite what was not read and fill it past its capacity.",
        )
    if _allows_too_few_consumers(config) and api_level < CONSUMERS_EDITABLE:
        yield _too_few_consumers(config)


def _allows_too_few_consumers(config: StreamConfig) -> bool:
    return 0 < config.max_consumers < MIN_CONSUMERS


def _too_few_consumers(config: StreamConfig) -> tuple[str, str]:
    allowed = config.max_consumers
    return (
        "bucket_max_consumers",
        f"The bucket allows {allowed} consumers and every listing needs one: a fleet needs {MIN_CONSUMERS} or more.",
    )


def _editable_faults(bucket: str, config: StreamConfig, api_level: int) -> Iterator[tuple[str, str, str]]:
    """
    What one edit mends: code, problem and the flags of the edit.

    ``nats kv edit`` writes the whole stream anew out of the bucket's own settings, so that
    everything which no bucket has is mended by the bare command. What an operator had set on
    the stream itself goes too: atomic batches are not allowed any more, and roll-ups are.
    """
    if config.max_age != 0:
        yield "bucket_ttl", "The bucket has a TTL: every memory would silently expire.", " --ttl=0s"
    if 0 < config.max_msg_size < MAX_ENTRY_BYTES:
        yield (
            "bucket_value_cap",
            f"The bucket takes {config.max_msg_size} bytes a value and a legal entry has up to {MAX_ENTRY_BYTES}.",
            f" --max-value-size={size(MAX_VALUE_SIZE)}",
        )
    if config.discard == "old" and (config.max_bytes > 0 or config.max_msgs > 0):
        yield (
            "bucket_discards_old",
            "The bucket makes room by dropping its oldest values: memories vanish silently.",
            "",
        )
    if config.discard_new_per_subject:
        yield "bucket_discards_new_per_subject", "The bucket refuses a new value for a key that holds one.", ""
    if config.retention == "interest":
        yield "bucket_retention", "The bucket keeps values only until its consumers have seen them.", ""
    if config.no_ack:
        yield "bucket_no_ack", "The bucket acknowledges no write, so that none can be known to have landed.", ""
    if config.subjects != (f"$KV.{bucket}.>",):
        yield "bucket_subjects", f"The stream does not hold exactly the subjects $KV.{bucket}.> of its bucket.", ""
    if config.subject_transform:
        yield (
            "bucket_transform",
            "The bucket renames subjects: a value is not found under the key that it was stored with.",
            "",
        )
    if _allows_too_few_consumers(config) and api_level >= CONSUMERS_EDITABLE:
        yield (*_too_few_consumers(config), "")
    idle = config.consumer_limits.inactive_threshold if config.consumer_limits else 0
    if 0 < idle < MIN_INACTIVE_SECONDS * SECOND:
        yield (
            "bucket_consumer_limits",
            f"The bucket refuses the consumers of listings: let them idle for {MIN_INACTIVE_SECONDS} s at least.",
            "",
        )


def _faults_of_server(max_payload: int, api_level: int | None) -> Iterator[Finding]:
    if max_payload < MAX_ENTRY_BYTES:
        yield Finding(
            "server_max_payload",
            f"The server takes {max_payload} bytes a message and a legal entry has up to {MAX_ENTRY_BYTES}.",
            'put "max_payload: 1MB" into the configuration of every server, then run: nats-server --signal reload',
        )
    if api_level is not None and api_level < MIN_API_LEVEL:
        yield Finding(
            "server_too_old",
            "The server is older than 2.11 and ignores the condition that keeps a full store from being overfilled.",
            "upgrade every nats-server of the cluster to 2.11 or later",
        )
