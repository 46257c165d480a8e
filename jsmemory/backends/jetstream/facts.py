"""
What a server says of a bucket's stream and of itself, decoded leniently.

A server of another release says more, or leaves out what has its zero value; neither is an
error. Durations are in nanoseconds and sizes in bytes, as JetStream counts them.
"""

import math
from typing import Any, Final

import msgspec

STREAM_PREFIX: Final = "KV_"
"""In front of a bucket's name: the name of its stream."""


class Origin(msgspec.Struct, frozen=True):
    """Another stream that this one copies from."""

    name: str = ""


class ConsumerLimits(msgspec.Struct, frozen=True):
    """What a stream allows its consumers; durations in nanoseconds."""

    inactive_threshold: int = 0


class StreamConfig(msgspec.Struct, frozen=True):
    """The part of a stream's configuration that bears on memories; the rest is not looked at."""

    name: str
    subjects: tuple[str, ...] | None = None
    retention: str = "limits"
    storage: str = "file"
    discard: str = "old"
    discard_new_per_subject: bool = False
    max_age: int = 0
    max_msg_size: int = -1
    max_bytes: int = -1
    max_msgs: int = -1
    max_msgs_per_subject: int = -1
    max_consumers: int = -1
    num_replicas: int = 1
    allow_direct: bool = False
    allow_rollup_hdrs: bool = False
    allow_msg_counter: bool = False
    allow_msg_ttl: bool = False
    no_ack: bool = False
    sealed: bool = False
    persist_mode: str | None = None
    mirror: Origin | None = None
    sources: tuple[Origin, ...] | None = None
    subject_transform: dict[str, Any] | None = None
    consumer_limits: ConsumerLimits | None = None


class Follower(msgspec.Struct, frozen=True):
    """A replica besides the leader's: nanoseconds since the leader last heard of it, 0 for never."""

    active: int = 0


class StreamCluster(msgspec.Struct, frozen=True):
    """Where a stream is held; the name is empty where the server is alone."""

    name: str = ""
    replicas: tuple[Follower, ...] | None = None


class StreamState(msgspec.Struct, frozen=True):
    """How far a stream has come."""

    last_seq: int = 0


class StreamFacts(msgspec.Struct, frozen=True):
    """
    What the server says of a bucket's stream; what it says besides is let pass.

    Attributes:
        config: The configuration as it is in force.
        created: When the stream was made: with it a bucket differs from its namesake.
        cluster: Where it is held.
        state: How far it has come.
    """

    config: StreamConfig
    created: str = ""
    cluster: StreamCluster = StreamCluster()
    state: StreamState = StreamState()

    @classmethod
    def of(cls, raw: bytes) -> "StreamFacts":
        """
        Decode an answer to ``STREAM.INFO``.

        Raises:
            msgspec.DecodeError: it is none; an answer that reports an error is none either.
        """
        return msgspec.json.decode(raw, type=cls)

    @property
    def bucket(self) -> str:
        """The name of the bucket."""
        return self.config.name.removeprefix(STREAM_PREFIX)

    @property
    def replicas(self) -> int:
        """How many servers hold the stream."""
        return self.config.num_replicas

    @property
    def is_clustered(self) -> bool:
        """Whether there are servers for replicas."""
        return bool(self.cluster.name) or self.replicas > 1

    @property
    def unheard_for(self) -> float:
        """
        Seconds for which the leader has not heard of so many replicas that they are a majority with it.

        Infinite where it never has. Replicas answer their leader every second; where it is cut off
        from them, it takes itself for the leader for ten seconds more.
        """
        followers = self.cluster.replicas or ()
        needed = max(self.replicas, len(followers) + 1) // 2
        if not needed:
            return 0.0
        heard = sorted(each.active for each in followers if each.active > 0)
        return heard[needed - 1] / 1e9 if len(heard) >= needed else math.inf

    @property
    def allow_direct(self) -> bool:
        """Whether direct reads are answered; asked for without it, nobody responds."""
        return self.config.allow_direct

    @property
    def allow_ttl(self) -> bool:
        """Whether a message may say when it expires, as delete markers do then."""
        return self.config.allow_msg_ttl

    @property
    def max_message_size(self) -> int | None:
        """Bytes of a message with its headers; None where the bucket sets no cap."""
        return self.config.max_msg_size if self.config.max_msg_size > 0 else None


class _ApiInfo(msgspec.Struct, frozen=True):
    level: int = 0


class _AccountInfo(msgspec.Struct, frozen=True):
    api: _ApiInfo = _ApiInfo()


def api_level_of(raw: bytes) -> int:
    """
    The level of the JetStream API in an answer to ``$JS.API.INFO``; 0 before nats-server 2.11.

    Raises:
        msgspec.DecodeError: it is no such answer.
    """
    return msgspec.json.decode(raw, type=_AccountInfo).api.level
