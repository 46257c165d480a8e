"""What a host may say about a JetStream store, each with its bounds; decoded strictly."""

from typing import Annotated, Final

import msgspec
from msgspec import Meta, Struct

from jsmemory.errors import InvalidOptionsError

MAX_BUCKET_LENGTH: Final = 200
"""
Characters of a bucket's name. The server takes 252, its 255 for a stream less ``KV_``; what
is left over is for the suffix of a bucket's successor, and for a subject that holds a name
twice, a prefix and a key, and still fits NATS' 4,096 bytes of a protocol line.
"""

BUCKET_PATTERN: Final = r"^[A-Za-z0-9_-]+$(?!\n)"
"""What NATS allows in a bucket's name, in the words that Python and JSON Schema share; no trailing newline."""

BucketName = Annotated[str, Meta(pattern=BUCKET_PATTERN, min_length=1, max_length=MAX_BUCKET_LENGTH)]
"""The name of a bucket, as options hold it."""

Seconds = Annotated[float, Meta(ge=0.1, le=300.0)]
"""How long something may take, as options hold it."""

WRITE_BUDGET: Final = 15.0
"""Seconds for one call: it outlasts the election after a lost leader, which takes 4 to 9 s."""

BIND_TIMEOUT: Final = 10.0
"""Seconds for finding and examining a bucket, or the stream of a journal. A wrong name is told at once."""

ELECTION_TIMEOUT: Final = 20.0
"""
The same on a cluster: a fleet that starts after a crash meets an election, of twice 4 to 9 s where
votes split.
"""


class JetStreamOptions(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """
    Where a JetStream store lives and how long it may try.

    Args:
        bucket: The key-value bucket, without the ``KV_`` of its stream. It must exist.
        prefix: The namespace in the bucket, one token without a dot. Left out, the identity
            under which the store is opened; ``""`` is the flat keyspace of the whole bucket.
        require_read_before_update: Whether an update needs a scope that has read the key.
        preflight: Whether to examine the bucket before the first use. Off, nothing but the
            keyspace itself is asked for: that is how a worker runs whose permissions end
            at its own prefix, and it trusts the operator to have examined the bucket.
        write_budget: Seconds, 0.1 to 300, within which a write is tried, and its outcome
            found out, before the write is given up. The default outlasts the election
            after a lost leader, which takes 4 to 9 s.
        bind_timeout: Seconds, 0.1 to 300, for finding and examining the bucket. Left out, 10;
            and 20 on a cluster, which outlasts an election in which votes split.
        api_prefix: The subject in front of the JetStream API, as an account imports it. Left
            out, the connection's own, or ``$JS.API``.
    """

    bucket: BucketName
    prefix: Annotated[str, Meta(pattern=r"^[A-Za-z0-9_=-]*$(?!\n)", max_length=200)] | None = None
    require_read_before_update: bool = True
    preflight: bool = True
    write_budget: Seconds = WRITE_BUDGET
    bind_timeout: Seconds | None = None
    api_prefix: Annotated[str, Meta(pattern=r"^[^\s.*>]+(\.[^\s.*>]+)*$(?!\n)", max_length=200)] | None = None


def bind_seconds(asked: float | None, *, is_clustered: bool) -> float:
    """How long a bind may take: as asked for, or the default for a server or a cluster."""
    if asked is not None:
        return asked
    return ELECTION_TIMEOUT if is_clustered else BIND_TIMEOUT


def check_seconds(**options: float) -> None:
    """
    Check arguments that say how long something may take, each under its name.

    Raises:
        InvalidOptionsError: one is out of range.
    """
    for name, value in options.items():
        try:
            msgspec.convert(value, Seconds)
        except msgspec.ValidationError:
            raise InvalidOptionsError(name, "is out of range", "Give 0.1 to 300 seconds.") from None
