"""
What a server says when it is asked about a bucket, decoded leniently.

Beyond what a store needs to know: the state of the stream, who holds it, and what the
account may take. A server of another release leaves things out, which is no error.
"""

from typing import Any

import msgspec


class Api(msgspec.Struct, frozen=True):
    """The level of the JetStream API; 0 before nats-server 2.11."""

    level: int = 0


class AccountLimits(msgspec.Struct, frozen=True):
    """What an account may take; -1 for no limit. Bytes, and numbers of things."""

    max_storage: int = -1
    max_streams: int = -1
    max_consumers: int = -1


class Tier(msgspec.Struct, frozen=True):
    """What an account uses of streams with so many replicas, and what it may."""

    storage: int = 0
    consumers: int = 0
    limits: AccountLimits = AccountLimits()


class Account(msgspec.Struct, frozen=True):
    """The answer to ``INFO``."""

    storage: int = 0
    consumers: int = 0
    limits: AccountLimits = AccountLimits()
    tiers: dict[str, Tier] | None = None
    api: Api = Api()

    def tier(self, replicas: int) -> Tier:
        """What counts for a stream with so many replicas."""
        own = (self.tiers or {}).get(f"R{replicas}")
        return own if own is not None else Tier(self.storage, self.consumers, self.limits)


class Config(msgspec.Struct, frozen=True):
    """The part of a stream's configuration that is looked at besides what preflight looks at."""

    max_consumers: int = -1
    max_bytes: int = -1
    max_msgs: int = -1
    max_msg_size: int = -1
    max_msgs_per_subject: int = -1
    num_replicas: int = 1
    duplicate_window: int = 0
    allow_direct: bool = False
    allow_rollup_hdrs: bool = False
    deny_purge: bool = False
    sealed: bool = False
    subject_delete_marker_ttl: int = 0
    republish: dict[str, Any] | None = None


class State(msgspec.Struct, frozen=True):
    """What a stream holds."""

    messages: int = 0
    bytes: int = 0
    first_seq: int = 0
    last_seq: int = 0
    num_subjects: int = 0
    consumer_count: int = 0
    subjects: dict[str, int] | None = None


class Peer(msgspec.Struct, frozen=True):
    """A server that follows the leader; `active` in nanoseconds since it was last heard of."""

    name: str = ""
    current: bool = False
    offline: bool = False
    active: int = 0
    lag: int = 0


class Cluster(msgspec.Struct, frozen=True):
    """Who holds a stream. The cluster's name is empty where there is none."""

    name: str = ""
    leader: str = ""
    replicas: tuple[Peer, ...] = ()


class Described(msgspec.Struct, frozen=True):
    """The answer to ``STREAM.INFO``."""

    config: Config
    state: State = State()
    cluster: Cluster = Cluster()
    created: str = ""
    ts: str = ""
    total: int = 0


class Delivered(msgspec.Struct, frozen=True):
    """How far a consumer is."""

    last_active: str | None = None


class ConsumerConfig(msgspec.Struct, frozen=True):
    """How a consumer was made; the threshold in nanoseconds, 0 for one that stays for ever."""

    durable_name: str | None = None
    inactive_threshold: int = 0


class Consumer(msgspec.Struct, frozen=True):
    """Somebody who reads a stream."""

    name: str = ""
    created: str = ""
    config: ConsumerConfig = ConsumerConfig()
    delivered: Delivered = Delivered()
    num_waiting: int = 0
    push_bound: bool = False


class ConsumerPage(msgspec.Struct, frozen=True):
    """The answer to ``CONSUMER.LIST``."""

    total: int = 0
    consumers: tuple[Consumer, ...] | None = None


class Names(msgspec.Struct, frozen=True):
    """The answer to ``STREAM.NAMES``."""

    streams: tuple[str, ...] | None = None
