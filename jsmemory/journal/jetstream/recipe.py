"""
The stream that we ask an operator for, and what makes one unfit.

A journal binds to a stream and never makes one: replicas, placement and the right to create
streams are the operator's. So the line that makes it is printed, and always from here.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal

from jsmemory.backends.jetstream.facts import STREAM_PREFIX, StreamConfig, StreamFacts
from jsmemory.backends.jetstream.recipe import advised_replicas
from jsmemory.findings import Finding
from jsmemory.journal.records import MAX_RECORD_BYTES

MAX_HEADER_BYTES: Final = 1024
"""Bytes of the headers of a record: two ids, a sequence, and their names."""

MAX_STREAM_LENGTH: Final = 32
"""Characters of a stream's name: JetStream itself warns of longer ones, which become names of folders."""

LEGAL_NAME: Final = f"1 to {MAX_STREAM_LENGTH} characters out of A-Z a-z 0-9 _ -, and not {STREAM_PREFIX} first"
"""What begins like that is the stream of a bucket."""

_NAME: Final = re.compile(rf"(?!{STREAM_PREFIX})[A-Za-z0-9_-]+")


def is_stream_name(name: str) -> bool:
    """Whether a journal's stream can be called so; what can needs no quoting in a shell."""
    return len(name) <= MAX_STREAM_LENGTH and _NAME.fullmatch(name) is not None


def root_of(stream: str) -> str:
    """What the subjects of all runs in a stream begin with."""
    return f"jsmemory.journal.{stream}."


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamRecipe:
    """
    A stream that keeps every promise of a journal.

    Args:
        stream: Its name, 1 to 32 characters out of ``A-Z a-z 0-9 _ -``, and not ``KV_`` first.
        replicas: 3 survives the crash of a server, 5 of two; 1 is all that a single server can give.

    Raises:
        ValueError: no stream of a journal can be called so, or have so many replicas.
    """

    stream: str
    replicas: Literal[1, 3, 5] = 1

    def __post_init__(self) -> None:
        if not is_stream_name(self.stream):
            raise ValueError(f"A journal's stream has {LEGAL_NAME}.")
        if self.replicas not in (1, 3, 5):
            raise ValueError("A stream has 1, 3 or 5 replicas: an even number survives no more than the odd one below.")

    def nats_stream_add(self) -> str:
        """The line that makes the stream, for the nats command line."""
        return nats_stream_add(self.stream, replicas=self.replicas)


def nats_stream_add(stream: str, *, replicas: int = 1) -> str:
    """
    The line that makes the stream, for the nats command line.

    Args:
        stream: Its name.
        replicas: 3 survives the crash of a server; 1 is all that a single server can give.
    """
    return (
        f"nats stream add {stream} --subjects='{root_of(stream)}>' --storage=file --replicas={replicas} "
        "--retention=limits --discard=new --allow-direct --no-allow-rollup --deny-delete --deny-purge --defaults"
    )


def missing_stream_cure(stream: str, *, is_clustered: bool) -> str:
    """The line that makes the stream which a journal was told to use and which is not there."""
    return nats_stream_add(stream, replicas=advised_replicas(is_clustered=is_clustered))


def examine(facts: StreamFacts, *, max_payload: int) -> tuple[Finding, ...]:
    """
    Everything that makes a stream unfit for a journal, at once; nothing where it is fit.

    Args:
        facts: What the server says of it.
        max_payload: Bytes that the server takes in one message, headers included.
    """
    config = facts.config
    successor = f"{config.name[: MAX_STREAM_LENGTH - 2]}-2"
    replacement = missing_stream_cure(successor, is_clustered=facts.is_clustered)
    edit = f"nats stream edit {config.name} --force"
    findings = [Finding(f"stream_{code}", problem, replacement) for code, problem in _final_faults(config)]
    for code, problem, flags in () if config.mirror is not None else _editable_faults(config):
        findings.append(Finding(f"stream_{code}", problem, replacement if findings else f"{edit} {flags}"))
    if max_payload < MAX_RECORD_BYTES + MAX_HEADER_BYTES:
        findings.append(
            Finding(
                "server_max_payload",
                f"The server takes {max_payload} bytes a message and a record has up to {MAX_RECORD_BYTES}.",
                'put "max_payload: 1MB" into the configuration of every server, then run: nats-server --signal reload',
            )
        )
    return tuple(findings)


def _final_faults(config: StreamConfig) -> Iterator[tuple[str, str]]:
    """What a server never changes in a stream: code and problem."""
    if config.mirror is not None:
        yield "mirror", "The stream is a mirror, and refuses every record."
        return
    if config.storage != "file":
        yield "in_memory", "The stream keeps its records in memory: a restart loses every suspended run."
    if config.persist_mode == "async":
        yield (
            "async",
            "The stream acknowledges a record before it is stored: a crash loses a run that was suspended.",
        )
    if config.sealed:
        yield "sealed", "The stream is sealed, and refuses every record."
    if config.retention != "limits":
        yield "retention", "The stream drops records once they were read: a run could be resumed once, or never."
    if config.allow_msg_counter:
        yield "counter", "The stream counts, and refuses records."
    if config.sources:
        yield "sources", "The stream copies from others, whose records no run has written."


def _editable_faults(config: StreamConfig) -> Iterator[tuple[str, str, str]]:
    """What one edit mends: code, problem and the flags of the edit."""
    if config.max_age != 0:
        yield "max_age", "The stream drops records when they are old: a suspended run would fade away.", "--max-age=0s"
    if config.max_msgs_per_subject > 0:
        yield (
            "max_msgs_per_subject",
            f"The stream keeps {config.max_msgs_per_subject} records a run: a longer one loses its beginning.",
            "--max-msgs-per-subject=-1",
        )
    if config.discard == "old" and (config.max_bytes > 0 or config.max_msgs > 0):
        yield "discards_old", "The stream makes room by dropping its oldest records: runs vanish.", "--discard=new"
    if 0 < config.max_msg_size < MAX_RECORD_BYTES + MAX_HEADER_BYTES:
        yield (
            "max_msg_size",
            f"The stream takes {config.max_msg_size} bytes a message and a record has up to {MAX_RECORD_BYTES}.",
            "--max-msg-size=-1",
        )
    if config.no_ack:
        yield "no_ack", "The stream acknowledges nothing, so that no record can be known to have landed.", "--ack"
    if not config.allow_direct:
        yield "allow_direct", "The stream serves no direct reads, by which a run is read back.", "--allow-direct"
    if config.subjects != (f"{root_of(config.name)}>",):
        yield (
            "subjects",
            f"The stream does not hold exactly the subjects {root_of(config.name)}> of its runs.",
            f"--subjects='{root_of(config.name)}>'",
        )
    if config.subject_transform:
        yield "transform", "The stream renames subjects: a run is not found under its name.", "--no-transform"
