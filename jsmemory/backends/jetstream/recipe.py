"""
The bucket that we ask an operator for: one value, and the command that makes it.

A backend binds to a bucket and never makes one: replicas, placement and the right to create
streams are the operator's. So the recipe is printed, by an error, by the documents under
``ops`` and by the command line, and always from here.
"""

import re
from dataclasses import dataclass, replace
from typing import Final, Literal

from jsmemory.backends.jetstream.facts import STREAM_PREFIX
from jsmemory.backends.jetstream.options import BUCKET_PATTERN, MAX_BUCKET_LENGTH
from jsmemory.limits import MAX_ENTRIES

KIB: Final = 1024
"""What the nats command line calls K: its 128K are 131,072 bytes."""

MAX_VALUE_SIZE: Final = 128 * KIB
"""
Bytes of a stored message that we ask for: the value and its headers, for the server counts
both. A value has at most 69,600; the headers that a write cannot do without have less than
700, and the description, which travels in a header too so that a listing needs no bodies,
up to some 6,000. The next round number leaves room for what a later release adds.
"""

MAX_HISTORY: Final = 64
"""Values of a key that a bucket can keep at most."""

_PLACE: Final = re.compile(r"[A-Za-z0-9_.:-]{1,100}")
# A cluster or a tag; nothing that a shell, YAML or Terraform could take for its own.


@dataclass(frozen=True, slots=True, kw_only=True)
class BucketRecipe:
    """
    A bucket that keeps every promise of the contract.

    Args:
        bucket: Its name, 1 to 200 characters out of ``A-Z a-z 0-9 _ -``.
        replicas: 3 survives the crash of a server, 5 of two; 1 is all that a single server can give.
        max_value_size: Bytes of a message with its headers, a whole number of KiB.
        history: Values kept of a key, 1 to 64. A store reads the newest only.
        max_bucket_size: Bytes of the whole bucket, a whole number of KiB; None for no limit. A
            bucket that is full refuses new entries.
        allow_rollup: Whether a message with a roll-up header may wipe the bucket. Whatever makes
            buckets allows it; only the stream under one can say no.
        expiring_markers: Whether a message may bring the time after which it goes, so that what
            is left of deleted keys can.
        cluster: Where the servers are that hold it; None leaves that to JetStream.
        tags: What those servers are tagged with.

    Raises:
        ValueError: the name is none that a bucket can have, a size is no whole KiB, or another
            value is out of range.
    """

    bucket: str
    replicas: Literal[1, 3, 5] = 1
    max_value_size: int = MAX_VALUE_SIZE
    history: int = 1
    max_bucket_size: int | None = None
    allow_rollup: bool = True
    expiring_markers: bool = False
    cluster: str | None = None
    tags: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        # The name goes into a command line: what passes here needs no quoting in any shell.
        if len(self.bucket) > MAX_BUCKET_LENGTH or not re.search(BUCKET_PATTERN, self.bucket):
            raise ValueError(f"A bucket's name has 1 to {MAX_BUCKET_LENGTH} characters out of A-Z a-z 0-9 _ -.")
        if self.max_value_size <= 0 or self.max_value_size % KIB:
            raise ValueError("The maximum value size is a whole number of KiB, e.g. 128 * 1024.")
        if self.max_bucket_size is not None and (self.max_bucket_size <= 0 or self.max_bucket_size % KIB):
            raise ValueError("The maximum bucket size is a whole number of KiB, e.g. 128 * 1024 * 1024.")
        if self.replicas not in (1, 3, 5):
            raise ValueError("A bucket has 1, 3 or 5 replicas: an even number survives no more than the odd one below.")
        if not 1 <= self.history <= MAX_HISTORY:
            raise ValueError(f"A bucket keeps 1 to {MAX_HISTORY} values of a key.")
        for place in (*self.tags, *(() if self.cluster is None else (self.cluster,))):
            if not _PLACE.fullmatch(place):
                raise ValueError("A cluster and a tag are called by characters out of A-Z a-z 0-9 _ . : -.")

    @property
    def stream(self) -> str:
        """The name of the stream under the bucket."""
        return f"{STREAM_PREFIX}{self.bucket}"

    def nats_kv_add(self) -> str:
        """
        The line that makes the bucket, for the nats command line.

        What it leaves out is right by default: no TTL, no size limit on the bucket, discard
        new, direct reads. Only what the defaults get wrong or leave to chance is said.
        """
        flags = [
            "--storage=file",
            f"--replicas={self.replicas}",
            f"--history={self.history}",
            f"--max-value-size={size(self.max_value_size)}",
        ]
        if self.max_bucket_size is not None:
            flags.append(f"--max-bucket-size={size(self.max_bucket_size)}")
        if self.cluster is not None:
            flags.append(f"--cluster={self.cluster}")
        flags += [f"--tags={tag}" for tag in self.tags]
        return f"nats kv add {self.bucket} {' '.join(flags)}"

    @property
    def beyond_a_bucket(self) -> tuple[str, ...]:
        """The flags of what only the stream under a bucket can be told."""
        flags = []
        if not self.allow_rollup:
            flags.append("--no-allow-rollup")
        if self.expiring_markers:
            flags.append("--allow-msg-ttl")
        return tuple(flags)

    def one_line(self) -> str:
        """
        The one line that makes it whole, and needs no terminal.

        What ``nats kv add`` cannot say takes a ``nats stream add``. Run again that succeeds
        where the stream is as it says, and fails, changing nothing, where it is not.
        """
        if not self.beyond_a_bucket:
            return self.nats_kv_add()
        limits = [f"--max-msgs-per-subject={self.history}", f"--max-msg-size={size(self.max_value_size)}"]
        if self.max_bucket_size is not None:
            limits.append(f"--max-bytes={size(self.max_bucket_size)}")
        if self.cluster is not None:
            limits.append(f"--cluster={self.cluster}")
        limits += [f"--tag={tag}" for tag in self.tags]
        if self.allow_rollup:
            limits.append("--allow-rollup")
        return (
            f"nats stream add {self.stream} --subjects='$KV.{self.bucket}.>' --storage=file "
            f"--replicas={self.replicas} --retention=limits --discard=new {' '.join(limits)} "
            f"--allow-direct --deny-delete {' '.join(self.beyond_a_bucket)} --defaults"
        )

    @staticmethod
    def room_for(stores: int, *, max_value_size: int = MAX_VALUE_SIZE, history: int = 1) -> int:
        """
        Bytes of a bucket in which so many stores fit when each of them is full.

        Counted with the largest message that the bucket takes, so that what is left of deleted
        keys, and what the server adds to each message, fit as well.
        """
        return stores * MAX_ENTRIES * history * max_value_size


def size(count: int) -> str:
    """A number of bytes, a whole number of KiB, as the nats command line writes it."""
    return f"{count // KIB}K"


def advised_replicas(*, is_clustered: bool) -> Literal[1, 3]:
    """Of a bucket or a stream that an error tells how to make: 3 wherever there are servers for them."""
    return 3 if is_clustered else 1


def advised(bucket: str, *, is_clustered: bool) -> BucketRecipe:
    """The recipe of a bucket of which nobody has said how it is to be."""
    return BucketRecipe(bucket=bucket, replicas=advised_replicas(is_clustered=is_clustered), allow_rollup=False)


def missing_bucket_cure(bucket: str, *, is_clustered: bool) -> str:
    """
    The line that makes the bucket which a store was told to use and which is not there.

    The one that every operator knows at sight. It leaves roll-ups on, which harms nobody where
    all programs of the account are trusted; the doctor says how to turn them off.

    Args:
        bucket: Its name.
        is_clustered: Whether the servers are a cluster.
    """
    return BucketRecipe(bucket=bucket, replicas=advised_replicas(is_clustered=is_clustered)).nats_kv_add()


def successor(recipe: BucketRecipe) -> BucketRecipe:
    """The recipe of the bucket that takes over from one that no edit can mend."""
    return replace(recipe, bucket=recipe.bucket[: MAX_BUCKET_LENGTH - 2] + "-2")


def successor_cure(recipe: BucketRecipe) -> str:
    """
    The line that replaces a bucket where the server changes nothing of what is wrong with it.

    It makes a second bucket and copies every entry, byte for byte, through a file: a pipe
    would store an empty value where a read failed. The copies have revisions of their own,
    so nothing that a scope remembers of the old bucket authorises an overwrite in the new.
    """
    bucket, new = recipe.bucket, successor(recipe)
    return (
        f"{new.one_line()} && for key in $(nats kv ls {bucket}); do "
        f'nats kv get {bucket} "$key" --raw >entry && nats kv put {new.bucket} "$key" <entry || break; done'
    )
