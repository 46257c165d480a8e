"""What a parent and its workers tell each other: one JSON document a line."""

from typing import Literal

import msgspec

from jsmemory.testing.measuring.throughput.steps import Mix

Hand = Literal["store", "raw"]
"""Who does the work: the store, or nats-py alone."""


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """
    What a worker is for.

    Attributes:
        servers: Where it connects.
        bucket: Where it writes.
        prefix: What the prefixes begin with that it writes under; nobody else does.
        runs: How many it has at once.
        size: Bytes of a content.
        mix: What they do.
    """

    servers: tuple[str, ...]
    bucket: str
    prefix: str
    runs: int
    size: int
    mix: Mix


class Order(msgspec.Struct, frozen=True):
    """
    Work.

    Attributes:
        hand: Who.
        seconds: For so long.
        rate: How many steps begin a second, at random moments; 0 has all runs work all the time.
    """

    hand: Hand
    seconds: float
    rate: float = 0.0


class Ready(msgspec.Struct, frozen=True, tag="ready"):
    """Everything is there that is read and updated."""


class Done(msgspec.Struct, frozen=True, tag="done"):
    """
    An order was carried out.

    Attributes:
        steps: How many were done when the time was over.
        seconds: How long that took.
        cpu_s: Seconds of processor time that this process used meanwhile.
        waited_s: Seconds that all the steps took together, from when each was due.
    """

    steps: int
    seconds: float
    cpu_s: float
    waited_s: float


class Failed(msgspec.Struct, frozen=True, tag="failed"):
    """
    The worker ends.

    Attributes:
        reason: In words for a person.
    """

    reason: str


Event = Ready | Done | Failed

LINE_LIMIT = 64 * 1024
"""Bytes of a line."""


def line_of(document: Job | Order | Event) -> bytes:
    """A document as one line."""
    return msgspec.json.encode(document) + b"\n"
