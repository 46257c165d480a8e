"""
The bucket that we ask an operator for: one value, and the command that makes it.

A backend binds to a bucket and never makes one: replicas, placement and the right to create
streams are the operator's. So the recipe is printed, by an error, by the documents under
``ops`` and by the command line, and always from here.
"""

import re
from dataclasses import dataclass
from typing import Final, Literal

from jsmemory.backends.jetstream.options import BUCKET_PATTERN, MAX_BUCKET_LENGTH

KIB: Final = 1024
"""What the nats command line calls K: its 128K are 131,072 bytes."""

MAX_VALUE_SIZE: Final = 128 * KIB
"""
Bytes of a stored message that we ask for: the value and its headers, for the server counts
both. A value has at most 69,600; the headers that a write cannot do without have less than
700, and the description, which travels in a header too so that a listing needs no bodies,
up to some 6,000. The next round number leaves room for what a later release adds.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class BucketRecipe:
    """
    A bucket that keeps every promise of the contract.

    Args:
        bucket: Its name, 1 to 200 characters out of ``A-Z a-z 0-9 _ -``.
        replicas: 3 survives the crash of a server; 1 is all that a single server can give.
        max_value_size: Bytes of a message with its headers, a whole number of KiB.

    Raises:
        ValueError: the name is none that a bucket can have, or the size is no whole KiB.
    """

    bucket: str
    replicas: Literal[1, 3] = 1
    max_value_size: int = MAX_VALUE_SIZE

    def __post_init__(self) -> None:
        # The name goes into a command line: what passes here needs no quoting in any shell.
        if len(self.bucket) > MAX_BUCKET_LENGTH or not re.search(BUCKET_PATTERN, self.bucket):
            raise ValueError(f"A bucket's name has 1 to {MAX_BUCKET_LENGTH} characters out of A-Z a-z 0-9 _ -.")
        if self.max_value_size <= 0 or self.max_value_size % KIB:
            raise ValueError("The maximum value size is a whole number of KiB, e.g. 128 * 1024.")

    def nats_kv_add(self) -> str:
        """
        The line that makes the bucket, for the nats command line.

        What it leaves out is right by default: no TTL, no size limit on the bucket, discard
        new, direct reads. Only what the defaults get wrong or leave to chance is said.
        """
        return (
            f"nats kv add {self.bucket} --storage=file --replicas={self.replicas} --history=1 "
            f"--max-value-size={size(self.max_value_size)}"
        )


def size(count: int) -> str:
    """A number of bytes, a whole number of KiB, as the nats command line writes it."""
    return f"{count // KIB}K"


def missing_bucket_cure(bucket: str) -> str:
    """The line that makes the bucket which a store was told to use and which is not there."""
    return BucketRecipe(bucket=bucket).nats_kv_add()


def successor(bucket: str, *, replicas: int = 1) -> BucketRecipe:
    """The recipe of the bucket that takes over from one that no edit can mend."""
    return BucketRecipe(
        bucket=bucket[: MAX_BUCKET_LENGTH - 2] + "-2",
        replicas=1 if replicas == 1 else 3,
    )


def successor_cure(bucket: str, *, replicas: int = 1) -> str:
    """
    The line that replaces a bucket where the server changes nothing of what is wrong with it.

    It makes a second bucket and copies every entry, byte for byte, through a file: a pipe
    would store an empty value where a read failed. The copies have revisions of their own,
    so nothing that a scope remembers of the old bucket authorises an overwrite in the new.
    """
    new = successor(bucket, replicas=replicas)
    return (
        f"{new.nats_kv_add()} && for key in $(nats kv ls {bucket}); do "
        f'nats kv get {bucket} "$key" --raw >entry && nats kv put {new.bucket} "$key" <entry || break; done'
    )
