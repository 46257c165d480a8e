"""
What is written down of a run: one line of JSON for each thing that happened, in the order in which it did.

A call takes two lines, so that a worker that is killed loses nothing but the end of its last
calls. All times are of the monotonic clock, which the processes of one host share.
"""

from typing import Final, Literal

import msgspec

Operation = Literal["create", "read", "update", "delete", "list"]

Outcome = Literal["ok", "refused", "unavailable", "unknown", "foreign"]
"""
Carried out; refused, and nothing was written; not reached, and nothing was written; sent, and
nobody knows; or not in the words of the contract at all.
"""


class Began(msgspec.Struct, frozen=True, tag="began", omit_defaults=True):
    """
    A call was made.

    Attributes:
        worker: By which process.
        number: Which of its calls.
        at: When.
        operation: The method.
        store: On which store object.
        scope: With the scope of which run.
        space: In which keyspace.
        key: Of which key; ``""`` for a listing.
        value: What a write is to store; it names the write.
    """

    worker: str
    number: int
    at: float
    operation: Operation
    store: str
    scope: str
    space: str
    key: str = ""
    value: str = ""


class Ended(msgspec.Struct, frozen=True, tag="ended", omit_defaults=True):
    """
    A call returned or raised.

    Attributes:
        worker: By which process.
        number: Which of its calls.
        at: When.
        outcome: What it said.
        code: The code of its error; ``""`` where there was none.
        value: What a read has seen.
        existed: What a delete has answered.
        listed: Keys and values that a listing has shown.
        lost: How many of its writes to the server were not acknowledged in time.
    """

    worker: str
    number: int
    at: float
    outcome: Outcome
    code: str = ""
    value: str = ""
    existed: bool = False
    listed: tuple[tuple[str, str], ...] = ()
    lost: int = 0


class Opened(msgspec.Struct, frozen=True, tag="opened", omit_defaults=True):
    """
    A worker has opened a store.

    Attributes:
        store: What its calls call it.
        at: When.
        ends_authority: Whether what is seen through it is worth nothing through another one.
    """

    store: str
    at: float
    ends_authority: bool = False


class Suspended(msgspec.Struct, frozen=True, tag="suspended"):
    """A run was suspended: a snapshot of its scope was taken, under a name of its own."""

    scope: str
    snapshot: str
    at: float


class Restored(msgspec.Struct, frozen=True, tag="restored"):
    """A run went on, perhaps in another process: its new scope holds what the snapshot held."""

    scope: str
    snapshot: str
    at: float


class Died(msgspec.Struct, frozen=True, tag="died"):
    """A worker is gone; of what it had begun, nothing is sent any more."""

    worker: str
    at: float


class Wiped(msgspec.Struct, frozen=True, tag="wiped"):
    """The operator has deleted the keyspaces and made them anew, at one moment between the two times."""

    began: float
    ended: float


class Struck(msgspec.Struct, frozen=True, tag="struck", omit_defaults=True):
    """
    A fault, from when it began until it was healed.

    Attributes:
        fault: Its kind.
        target: Whom it struck; ``""`` for all.
        began: When.
        ended: When it was healed, or had come to its end by itself.
    """

    fault: str
    target: str
    began: float
    ended: float


class Stored(msgspec.Struct, frozen=True, tag="stored", omit_defaults=True):
    """
    A message of the stream, as its own history shows it.

    Attributes:
        era: Which incarnation of the bucket, from 0.
        sequence: Its sequence in the stream.
        space: The keyspace.
        key: The key.
        value: What was stored; ``""`` for a delete marker.
    """

    era: int
    sequence: int
    space: str
    key: str
    value: str = ""


class Rested(msgspec.Struct, frozen=True, tag="rested"):
    """
    The final state of a keyspace, read when all was over and healed.

    Attributes:
        space: The keyspace.
        at: When the reading began.
        entries: The value of each key.
        is_whole_history: Whether every message that was ever stored is among the records.
    """

    space: str
    at: float
    entries: dict[str, str]
    is_whole_history: bool = False


class Set(msgspec.Struct, frozen=True, tag="set", omit_defaults=True):
    """
    What was run.

    Attributes:
        backend: ``jetstream`` or ``file``.
        replicas: Of the bucket.
        seed: Where chance came from.
        seconds: For how long.
        workers: How many processes at a time.
        capacity: Entries that a keyspace may hold.
        mutant: What was broken on purpose; ``""`` for nothing.
        began: When.
        servers: How many there were; 0 where there were none, or nobody said.
    """

    backend: str
    replicas: int
    seed: int
    seconds: float
    workers: int
    capacity: int
    began: float
    mutant: str = ""
    servers: int = 0


class Sealed(msgspec.Struct, frozen=True, tag="sealed"):
    """All was over, and how many lines each other file had then, by its name."""

    lines: dict[str, int]


Record = Began | Ended | Opened | Suspended | Restored | Died | Wiped | Struck | Stored | Rested | Set | Sealed

SUFFIX: Final = ".jsonl"

encode: Final = msgspec.json.Encoder().encode
decode: Final = msgspec.json.Decoder(Record).decode
