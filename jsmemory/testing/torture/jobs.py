"""What a worker is told: its job when it starts, and one order a line after that."""

from typing import Final, Literal

import msgspec

FEW: Final = "few"
"""A keyspace with so few keys that everybody is in everybody's way."""

FULL: Final = "full"
"""A keyspace that is nearly full, and gets full again and again."""

CRASHES: Final = "crashes"
"""The keyspace in which one process after the other dies in the middle of a write."""

Verb = Literal["stop", "clock", "files"]


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """
    A worker's job.

    Attributes:
        worker: Its name, which no other one has or had.
        seed: Where its chance comes from.
        records: The folder that it records into.
        handover: The folder in which suspended runs lie until somebody goes on with them.
        spaces: The keyspaces that it works on.
        runs: How many runs at a time.
        pause: Seconds that a run thinks between two calls, at most.
        examines: Whether its stores examine the bucket.
        mutant: What is broken on purpose; ``""`` for nothing.
        urls: Where servers are, for a bucket.
        bucket: The bucket.
        budget: Seconds that a store takes for one call at most.
        directory: Where files are, without a bucket.
    """

    worker: str
    seed: int
    records: str
    handover: str
    spaces: tuple[str, ...] = (FEW, FULL)
    runs: int = 8
    pause: float = 0.15
    examines: bool = True
    mutant: str = ""
    urls: tuple[str, ...] = ()
    bucket: str = ""
    budget: float = 30.0
    directory: str = ""


class Order(msgspec.Struct, frozen=True):
    """
    An order.

    Attributes:
        verb: ``stop`` finishes what is under way and ends. ``clock`` sets the clock of the
            process off by seconds. ``files`` lets no file grow over so many bytes; below 0, any.
        amount: The seconds or the bytes.
    """

    verb: Verb
    amount: float = 0.0


encode: Final = msgspec.json.Encoder().encode
decode_job: Final = msgspec.json.Decoder(Job).decode
decode_order: Final = msgspec.json.Decoder(Order).decode
