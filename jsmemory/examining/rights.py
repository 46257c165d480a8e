"""
What the credentials in use may do, tried and not asked for: no server tells.

Nothing is written. A read is tried on a name that no key can have. A write is tried on the
same, under a condition that cannot hold, so that it is refused by the bucket where it is not
refused before. A listing is tried with a consumer that is removed again.
"""

import secrets
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from jsmemory.backends.jetstream import messages, translate
from jsmemory.backends.jetstream.facts import STREAM_PREFIX
from jsmemory.examining.questions import Questions, Silence, read
from jsmemory.examining.report import Check, Verdict, found, ok
from jsmemory.journal.jetstream.recipe import root_of

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
    notes = f"the notes of {prefix or 'the bucket'}"
    return judge(tried, notes, f"{STREAM_PREFIX}{bucket}", permissions_command(questions, bucket, prefix))


async def rights_in_journal(stream: str, questions: Questions) -> list[Check]:
    """
    Try every right that a journal needs.

    Args:
        stream: Its name.
        questions: To the server.
    """
    # No legal name of a run, so nobody's.
    nothing, api = f"{root_of(stream)}/", questions.wire.api_subject
    asked = {"last_by_subj": nothing}
    tried = [
        Tried(
            "read",
            api(f"STREAM.MSG.GET.{stream}"),
            await questions.ask(f"STREAM.MSG.GET.{stream}", translate.Answer, asked),
        ),
        Tried("read", api(f"DIRECT.GET.{stream}"), await questions.raw(f"DIRECT.GET.{stream}", asked)),
        Tried("write", f"{root_of(stream)}>", await _write(nothing, questions)),
    ]
    return judge(tried, "the runs of the journal", stream, permissions_command(questions, journal=stream))


def permissions_command(
    questions: Questions, bucket: str = "BUCKET", prefix: str | None = None, journal: str = ""
) -> str:
    """
    The command that prints all that a worker needs, in the layout of the credentials in use.

    Args:
        questions: To the server.
        bucket: Its name, where it is known.
        prefix: The namespace, likewise.
        journal: The stream of a journal; ``""`` for none.
    """
    # Whoever finds the API elsewhere imports it from the account of an isolated memory. What begins
    # with $JS is the account's own, or that of a domain.
    is_isolated = not questions.wire.api_subject("").startswith("$JS.")
    recorded = f" --journal {journal}" if journal else ""
    return (
        f"jsmemory permissions --bucket {bucket} --prefix {prefix or 'NAME'}{' --isolated' if is_isolated else ''}"
        f"{recorded}"
    )


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
        yield Tried("write", everything, await _write(nothing, questions))


async def _write(nothing: str, questions: Questions) -> Any:
    return read(await questions.at(nothing, b"", {messages.EXPECTED: _NEVER}), translate.Answer)


def judge(tried: Sequence[Tried], what: str, stream: str, printed_by: str) -> list[Check]:
    """
    What is to be said of each right that was tried.

    Args:
        tried: The trials; those of one right behind each other.
        what: That the rights are about.
        stream: Where it is.
        printed_by: The command that prints all that a worker needs.
    """
    rights = dict.fromkeys(trial.right for trial in tried)
    return [
        _judge(right, [each for each in tried if each.right == right], what, stream, printed_by) for right in rights
    ]


def _judge(right: str, tried: Sequence[Tried], what: str, stream: str, printed_by: str) -> Check:
    name = f"may_{right}"
    if denied := [trial.subject for trial in tried if trial.is_denied]:
        subjects = ", ".join(f'"{subject}"' for subject in denied)
        return found(
            name,
            Verdict.DENIED,
            f"may_not_{right}",
            f"The credentials may not {right} {what}.",
            f"grant them publish to {subjects}; all that a worker needs is printed by: {printed_by}",
        )
    # Further trials say nothing where the first of a right has failed.
    answer = tried[0].answer if right != "read" else tried[-1].answer
    if isinstance(answer, Silence) or (isinstance(answer, translate.ApiError) and answer.is_passing):
        return found(
            name,
            Verdict.UNANSWERED,
            f"{right}_unanswered",
            f"Nobody answered when it was tried to {right} {what}.",
            f"see who serves it: nats stream info {stream}",
        )
    if isinstance(answer, translate.ApiError) and answer.err_code not in _EXPECTED:
        return found(
            name,
            Verdict.FAULT,
            f"{right}_refused",
            f"The server refuses to {right}, with code {answer.err_code}.",
            f"see why: nats stream info {stream}",
        )
    return ok(name, "yes")
