"""How much room is left, up to each limit that would refuse an entry."""

from collections.abc import Iterator

from jsmemory.backends.jetstream.recipe import KIB, size
from jsmemory.examining.answers import Account, Described
from jsmemory.examining.kept import Kept
from jsmemory.examining.report import Check, Verdict, found, ok

NEARLY = 0.8
"""Of a limit, from which on it is time to raise it."""

SERVER_CONSUMERS = 1_000
"""Consumers of a stream that servers since 2.15 allow where nobody says otherwise."""

_MIB = KIB * KIB


def headroom(kept: Kept, described: Described, account: Account | None) -> list[Check]:
    """
    Bytes, messages and consumers against their limits.

    Args:
        kept: What it is.
        described: What the server says of its stream.
        account: What it says of the account; None where the credentials may not ask.
    """
    return list(_checks(kept, described, account))


def _checks(kept: Kept, described: Described, account: Account | None) -> Iterator[Check]:
    config, state = described.config, described.state
    if config.max_bytes > 0:
        doubled = size(-(-2 * config.max_bytes // KIB) * KIB)
        yield _bytes(
            f"{kept.noun}_bytes",
            kept.noun,
            state.bytes,
            config.max_bytes,
            kept,
            kept.largest,
            kept.edit(f"--max-bytes={doubled}"),
        )
    else:
        yield ok(f"{kept.noun}_bytes", f"{_mib(state.bytes)}, and the {kept.noun} sets no limit")
    if config.max_msgs > 0:
        yield _count(
            f"{kept.noun}_messages",
            f"messages of the {kept.noun}",
            state.messages,
            config.max_msgs,
            kept.edit("--max-msgs=-1"),
        )
    if account is not None:
        tier = account.tier(config.num_replicas)
        if tier.limits.max_storage > 0:
            yield _bytes(
                "account_bytes",
                "account",
                tier.storage,
                tier.limits.max_storage,
                kept,
                kept.largest * config.num_replicas,
                "raise max_file of the account's JetStream limits, or make room in it",
            )
        else:
            yield ok("account_bytes", f"{_mib(tier.storage)}, and the account has no limit")
    yield _count(
        "consumers",
        f"consumers of the {kept.noun}",
        state.consumer_count,
        _consumers_allowed(described, account),
        f"nats consumer ls {kept.stream}, then remove those that nobody uses: "
        f"nats consumer rm {kept.stream} NAME --force",
    )


def _consumers_allowed(described: Described, account: Account | None) -> int:
    limits = [described.config.max_consumers, SERVER_CONSUMERS]
    if account is not None:
        limits.append(account.tier(described.config.num_replicas).limits.max_consumers)
    return min(limit for limit in limits if limit > 0)


def _bytes(name: str, whose: str, used: int, limit: int, kept: Kept, largest: int, cure: str) -> Check:
    said = f"{_mib(used)} of {_mib(limit)}"
    if used + largest > limit:
        return found(
            name,
            Verdict.FAULT,
            f"{whose}_full",
            f"The {whose} is full: {said}, and {kept.of_what} of the largest size does not fit any more.",
            cure,
        )
    if used >= NEARLY * limit:
        return found(name, Verdict.WARNING, f"{whose}_nearly_full", f"The {whose} is nearly full: {said}.", cure)
    return ok(name, said)


def _count(name: str, what: str, used: int, limit: int, cure: str) -> Check:
    said = f"{used} of {limit}"
    if used >= limit:
        problem = f"There are {said} {what}: no more are let in."
        return found(name, Verdict.FAULT, f"{name}_full", problem, cure)
    if used >= NEARLY * limit:
        problem = f"There are {said} {what}: soon no more are let in."
        return found(name, Verdict.WARNING, f"{name}_nearly_full", problem, cure)
    return ok(name, said)


def _mib(count: int) -> str:
    return f"{count / _MIB:,.1f} MiB"
