"""
What the credentials in use may do, tried and not asked for: no server tells.

Nothing is written. A read is tried on a name that no key can have. A write is tried on the
same, under a condition that cannot hold, so that it is refused by the bucket where it is not
refused before. A listing is tried with a consumer that is removed again.
"""

import secrets
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any, Final

from jsmemory.backends.jetstream import messages, translate
from jsmemory.backends.jetstream.facts import STREAM_PREFIX
from jsmemory.examining.questions import Questions, Silence, read
from jsmemory.examining.report import Check, Verdict, found, ok

_NEVER: Final = str(2**62)
# No stream gets there, so the condition cannot hold.
_FORGOTTEN_AFTER: Final = 10_000_000_000
_EXPECTED: Final = frozenset({translate.MESSAGE_NOT_FOUND, *translate.CONFLICTS})


@dataclass(frozen=True, slots=True)
class Tried:
    """
    One trial.

    Attributes:
        right: What it is for: ``read``, ``list`` or ``write``.
        subject: What has to be granted, with its wildcards.
        answer: What came back.
    """

    right: str
    subject: str
    answer: Any

    @property
    def is_denied(self) -> bool:
        """Whether the credentials lack the permission."""
        return self.answer is Silence.DENIED


async def rights(bucket: str, prefix: str | None, questions: Questions, *, read_only: bool) -> list[Check]:
    """
    Try every right that a store needs.

    Args:
        bucket: Its name.
        prefix: The namespace; ``""`` or None for the whole bucket.
        questions: To the server.
        read_only: Whether the credentials are only for reading.
    """
    tried = [trial async for trial in _trials(bucket, prefix or "", questions, read_only=read_only)]
    checks = []
    for right in ("read", "list", *(() if read_only else ("write",))):
        own = [trial for trial in tried if trial.right == right]
        checks.append(_judge(bucket, prefix, right, own))
    return checks


async def _trials(bucket: str, token: str, questions: Questions, *, read_only: bool) -> AsyncIterator[Tried]:
    stream = f"{STREAM_PREFIX}{bucket}"
    inside = f"$KV.{bucket}.{token}." if token else f"$KV.{bucket}."
    api = questions.wire.api_subject
    # No legal key, so nobody's.
    nothing, everything = f"{inside}/", f"{inside}>"

    answer: Any = await questions.raw(f"DIRECT.GET.{stream}.{nothing}")
    yield Tried("read", api(f"DIRECT.GET.{stream}.{everything}"), answer)
    if answer is Silence.NOBODY:
        # Direct reads are off: the leader is asked.
        answer = await questions.ask(f"STREAM.MSG.GET.{stream}", translate.Answer, {"last_by_subj": nothing})
        yield Tried("read", api(f"STREAM.MSG.GET.{stream}"), answer)

    name = secrets.token_hex(12)
    config = {
        "name": name,
        "deliver_policy": "last_per_subject",
        "ack_policy": "none",
        # Of a name that nobody has: it costs the server nothing.
        "filter_subject": nothing,
        "headers_only": True,
        "inactive_threshold": _FORGOTTEN_AFTER,
        "mem_storage": True,
        "num_replicas": 1,
    }
    create = {"stream_name": stream, "config": config}
    answer = await questions.ask(f"CONSUMER.CREATE.{stream}.{name}.{nothing}", translate.Answer, create)
    yield Tried("list", api(f"CONSUMER.CREATE.{stream}.*.{everything}"), answer)
    if answer not in (Silence.LATE, Silence.NOBODY):
        answer = await questions.raw(f"CONSUMER.MSG.NEXT.{stream}.{name}", {"batch": 1, "no_wait": True})
        yield Tried("list", api(f"CONSUMER.MSG.NEXT.{stream}.*"), answer)
        answer = await questions.ask(f"CONSUMER.DELETE.{stream}.{name}", translate.Answer)
        yield Tried("list", api(f"CONSUMER.DELETE.{stream}.*"), answer)

    if not read_only:
        raw = await questions.at(nothing, b"", {messages.EXPECTED: _NEVER})
        yield Tried("write", everything, read(raw, translate.Answer))


def _judge(bucket: str, prefix: str | None, right: str, tried: list[Tried]) -> Check:
    name = f"may_{right}"
    if denied := [trial.subject for trial in tried if trial.is_denied]:
        subjects = ", ".join(f'"{subject}"' for subject in denied)
        return found(
            name,
            Verdict.DENIED,
            f"may_not_{right}",
            f"The credentials may not {right} {_what(prefix)}.",
            f"grant them publish to {subjects}; all that a worker needs is printed by: "
            f"jsmemory permissions --bucket {bucket} --prefix {prefix or 'NAME'}",
        )
    # Further trials say nothing where the first of a right has failed.
    answer = tried[0].answer if right != "read" else tried[-1].answer
    if isinstance(answer, Silence) or (isinstance(answer, translate.ApiError) and answer.is_passing):
        return found(
            name,
            Verdict.UNANSWERED,
            f"{right}_unanswered",
            f"Nobody answered when it was tried to {right} {_what(prefix)}.",
            "see who serves the bucket: nats stream info " + f"{STREAM_PREFIX}{bucket}",
        )
    if isinstance(answer, translate.ApiError) and answer.err_code not in _EXPECTED:
        return found(
            name,
            Verdict.FAULT,
            f"{right}_refused",
            f"The server refuses to {right}, with code {answer.err_code}.",
            f"see why: nats stream info {STREAM_PREFIX}{bucket}",
        )
    return ok(name, "yes")


def _what(prefix: str | None) -> str:
    return f"the notes of {prefix}" if prefix else "the notes of the bucket"
