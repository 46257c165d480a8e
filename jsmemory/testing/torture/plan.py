"""
What the nemesis is going to do, all of it drawn from the seed before it begins.

Two hands act at the same time: one on the servers, their routes and the bucket; the other
on clients, their links and the workers. Each goes through all of its faults, in an order by
lot, before it begins again.
"""

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

Seconds = tuple[float, float]

SERVERS: Final[Mapping[str, Seconds]] = {
    "leader killed": (0.0, 2.0),
    "member killed": (0.0, 4.0),
    "majority killed": (0.0, 1.0),
    "all killed": (0.0, 0.5),
    "leader paused": (0.5, 6.0),
    "member paused": (0.5, 6.0),
    "leader parted": (1.0, 12.0),
    "member parted": (1.0, 9.0),
    "routes slow": (1.0, 4.0),
    "leader stepped down": (0.0, 0.0),
    "replicas 3 to 1 to 3": (0.5, 2.0),
    "disk full": (0.5, 3.0),
    "bucket made anew": (0.0, 0.0),
}
"""What happens to a cluster and its bucket, and for how many seconds."""

SPARE: Final[Mapping[str, Seconds]] = {
    "peer removed": (0.0, 2.0),
    "followers parted": (1.0, 9.0),
}
"""What can happen besides where there are more servers than replicas."""

SERVER: Final[Mapping[str, Seconds]] = {
    "server killed": (0.0, 2.0),
    "server paused": (0.5, 6.0),
    "disk full": (0.5, 3.0),
    "bucket made anew": (0.0, 0.0),
}
"""What happens to a server that is alone, and its bucket."""

CLIENTS: Final[Mapping[str, Seconds]] = {
    "answers swallowed": (0.2, 1.5),
    "requests swallowed": (0.2, 1.5),
    "cut after a write was sent": (0.5, 2.0),
    "links slow": (1.0, 4.0),
    "links lossy": (1.0, 4.0),
    "link down": (0.5, 5.0),
    "client reconnected": (0.0, 0.0),
    "worker killed": (0.0, 0.0),
    "worker paused": (0.5, 4.0),
    "clock jumped": (0.0, 0.0),
}
"""What happens to clients, their links and the workers."""

FOLDER: Final[Mapping[str, Seconds]] = {
    "directory made anew": (0.0, 0.0),
    "disk full": (0.5, 2.0),
}
"""What happens to a directory."""

FILES: Final[Mapping[str, Seconds]] = {
    "worker killed": (0.0, 0.0),
    "worker paused": (0.2, 2.0),
    "clock jumped": (0.0, 0.0),
}
"""What happens to workers on a directory."""

_QUIET: Final[Mapping[str, Seconds]] = {"servers": (2.0, 5.0), "clients": (0.1, 0.6)}
_QUIET_ELSE: Final[Seconds] = (0.3, 2.5)
# Seconds between two faults of one hand, in which the store comes to itself. Servers get many:
# an election takes 4 to 9 s, and a store has 15 for one call. Links get few: each
# acknowledgement that is lost is one more outcome to be settled.


@dataclass(frozen=True, slots=True)
class Strike:
    """
    One fault to come.

    Attributes:
        after: Seconds of quiet before it.
        fault: Its kind.
        seconds: How long it lasts.
        lot: The seed of what else is left to chance, as whom it strikes.
    """

    after: float
    fault: str
    seconds: float
    lot: int


def strikes(seed: int, hand: str, faults: Mapping[str, Seconds]) -> Iterator[Strike]:
    """
    The faults of one hand, without an end.

    Args:
        seed: Of the campaign.
        hand: Whose; two hands of one campaign do not act alike.
        faults: What there is to choose from.
    """
    lot = random.Random(f"{seed}/{hand}")  # noqa: S311 - it has to be repeatable
    while True:
        for fault in lot.sample(sorted(faults), len(faults)):
            yield Strike(
                lot.uniform(*_QUIET.get(hand, _QUIET_ELSE)), fault, lot.uniform(*faults[fault]), lot.getrandbits(32)
            )


def hands(backend: str, replicas: int, servers: int) -> Sequence[tuple[str, Mapping[str, Seconds]]]:
    """The two hands against a backend."""
    if backend == "file":
        return (("folder", FOLDER), ("workers", FILES))
    of_servers = SERVER if servers == 1 else SERVERS if servers == replicas else {**SERVERS, **SPARE}
    return (("servers", of_servers), ("clients", CLIENTS))
