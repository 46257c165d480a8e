"""Who holds a stream: replicas, their leader, and how they are."""

from collections.abc import Iterator

from jsmemory.examining.answers import Described, Peer
from jsmemory.examining.kept import Kept
from jsmemory.examining.report import Check, Verdict, found, ok

_SECOND = 1_000_000_000

SILENT_FOR = 5 * _SECOND
"""Nanoseconds after which a follower that says nothing counts as away; one that is there says so every second."""

LAGGING = 1_000
"""Messages that a follower may be behind."""


def holding(kept: Kept, described: Described, *, connected_to: str) -> list[Check]:
    """
    Replicas and leader, from what the leader itself says; where there is none, from what another one says.

    Args:
        kept: What it is.
        described: What the server says of its stream.
        connected_to: The name of the server that is there in any case; ``""`` where it is not known.
    """
    return list(_checks(kept, described, connected_to))


def _checks(kept: Kept, described: Described, connected_to: str) -> Iterator[Check]:
    wanted, cluster = described.config.num_replicas, described.cluster
    if wanted == 1:
        yield _alone(kept, described)
        return
    if not cluster.leader:
        others = (peer for peer in cluster.replicas if peer.name != connected_to)
        yield _leaderless(kept, [peer.name for peer in others if _is_away(peer)])
        return
    followers = _followers(kept, wanted, cluster.leader, cluster.replicas)
    if followers.verdict is not Verdict.UNANSWERED:
        # Of interest as long as it goes on.
        yield _number(kept, wanted)
    yield followers


def _number(kept: Kept, wanted: int) -> Check:
    if wanted % 2 != 0:
        return ok("replicas", f"{wanted}, and it goes on without {wanted // 2}")
    return found(
        "replicas",
        Verdict.WARNING,
        "replicas_even",
        f"The {kept.noun} has {wanted} replicas: it survives no more than with {wanted - 1}, and costs more.",
        kept.edit(f"--replicas={wanted + 1}"),
    )


def _alone(kept: Kept, described: Described) -> Check:
    if described.cluster.name:
        return found(
            "replicas",
            Verdict.WARNING,
            "replicas_one",
            f"One server of the cluster holds the {kept.noun}: the others are of no use when it is gone.",
            kept.edit("--replicas=3"),
            said="1",
        )
    return found(
        "replicas",
        Verdict.ADVICE,
        "replicas_one",
        f"One server holds the {kept.noun}: without it nobody remembers, and without its disk it is lost.",
        f"run a cluster of three servers, and make the {kept.noun} there with three replicas",
        said="1",
    )


def _followers(kept: Kept, wanted: int, leader: str, followers: tuple[Peer, ...]) -> Check:
    away = [peer.name for peer in followers if _is_away(peer)]
    missing = wanted - 1 - len(followers)
    behind = [peer for peer in followers if peer.name not in away and (not peer.current or peer.lag > LAGGING)]
    if away or missing > 0:
        return _away(kept, wanted, away, len(away) + max(missing, 0))
    if behind:
        most = max(peer.lag for peer in behind)
        return found(
            "followers",
            Verdict.WARNING,
            "replica_behind",
            f"{', '.join(peer.name for peer in behind)} is behind the leader by {most} messages: reads take longer.",
            "wait, and look again; if it stays so, look at that server's disk and network",
        )
    return ok("followers", f"{leader} leads, {', '.join(peer.name for peer in followers)} are current")


def _leaderless(kept: Kept, away: list[str]) -> Check:
    # Without a leader whoever answers lists them all, itself as well.
    missing = f": {', '.join(away)} {'is' if len(away) == 1 else 'are'} away" if away else ", just now at least"
    return found(
        "replicas",
        Verdict.UNANSWERED,
        "no_leader",
        f"The {kept.noun} has no leader{missing}. Nothing can be written, and nothing read for certain.",
        f"start the servers again: {', '.join(away)}"
        if away
        else f"wait some seconds, and look again; if it stays so: nats stream info {kept.stream}",
    )


def is_catching_up(described: Described) -> bool:
    """Whether a follower is there, and a little late: it may need a moment and nothing else."""
    return any(not _is_away(peer) and not peer.current for peer in described.cluster.replicas)


def _is_away(peer: Peer) -> bool:
    # Whoever was lost before this leader led is neither offline nor silent: it was never heard of.
    return peer.offline or peer.active > SILENT_FOR or (peer.active == 0 and not peer.current)


def _away(kept: Kept, wanted: int, names: list[str], gone: int) -> Check:
    left = wanted // 2 - gone
    if left < 0:
        consequence = "no majority is left, and nothing can be written."
    elif left == 0:
        consequence = "the next crash stops every write."
    else:
        consequence = f"{left} more may crash before writing stops."
    return found(
        "followers",
        Verdict.UNANSWERED if left < 0 else Verdict.WARNING,
        "majority_away" if left < 0 else "replica_away",
        f"{gone} of {wanted} replicas {'is' if gone == 1 else 'are'} away: {consequence}",
        f"start the servers again: {', '.join(names)}"
        if names
        else f"see where it is to be held: nats stream info {kept.stream}",
    )
