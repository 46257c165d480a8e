"""Consumers that somebody made and nobody uses."""

import shlex
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

from jsmemory.backends.jetstream.facts import STREAM_PREFIX
from jsmemory.examining.answers import Consumer, ConsumerPage
from jsmemory.examining.questions import Questions, Silence
from jsmemory.examining.report import Check, Verdict, found, ok, unknown

IDLE_FOR: Final = timedelta(minutes=5)
"""A listing's own lasts seconds, and the server removes it after ten."""

_EXPIRES_SOON: Final = 600 * 1_000_000_000
_PAGES: Final = 8
_NAMED: Final = 3


async def consumers(bucket: str, questions: Questions) -> Check:
    """
    Look for consumers that were left behind; at most some 2,000.

    Args:
        bucket: Its name.
        questions: To the server.
    """
    seen: list[Consumer] = []
    for _ in range(_PAGES):
        page = await questions.ask(f"CONSUMER.LIST.{STREAM_PREFIX}{bucket}", ConsumerPage, {"offset": len(seen)})
        if not isinstance(page, ConsumerPage):
            return _unseen(bucket, page)
        seen += page.consumers or ()
        if not page.consumers or len(seen) >= page.total:
            break
    return judge(bucket, seen, datetime.now().astimezone())


def judge(bucket: str, seen: Sequence[Consumer], now: datetime) -> Check:
    """What is to be said of some consumers at a time."""
    idle = [consumer.name for consumer in seen if _is_left_behind(consumer, now)]
    if not idle:
        return ok("left_behind", "none" if not seen else f"none; {len(seen)} in use")
    names = ", ".join(idle[:_NAMED]) + (", ..." if len(idle) > _NAMED else "")
    return found(
        "left_behind",
        Verdict.WARNING,
        "consumers_left_behind",
        f"Nobody has used {len(idle)} of the bucket's consumers for {IDLE_FOR.seconds // 60} minutes ({names}): "
        "each takes a place that a listing needs.",
        f"nats consumer rm {STREAM_PREFIX}{bucket} {shlex.quote(idle[0])} --force",
    )


def _is_left_behind(consumer: Consumer, now: datetime) -> bool:
    if 0 < consumer.config.inactive_threshold <= _EXPIRES_SOON and not consumer.config.durable_name:
        return False
    if consumer.num_waiting or consumer.push_bound:
        return False
    try:
        used = datetime.fromisoformat(consumer.delivered.last_active or consumer.created)
        return now - used > IDLE_FOR
    except (ValueError, TypeError):
        return False


def _unseen(bucket: str, answer: object) -> Check:
    if answer in (Silence.DENIED, Silence.NOBODY):
        # Not granted, or not imported from the account where it is served.
        return unknown("left_behind", "the credentials may not ask")
    return found(
        "left_behind",
        Verdict.UNANSWERED,
        "consumers_unanswered",
        "Nobody says which consumers the bucket has.",
        f"look again in a moment; if it stays so: nats consumer ls {STREAM_PREFIX}{bucket}",
    )
