"""
Values looked at with their bodies: those drawn by chance, and those that a walk has met.

A bucket of a million entries is not read to know what is in it: some hundred messages, drawn
over all its sequences, tell what there is and about how much of it. What is rarer than one in
a hundred can be missed, and is found by a thorough examination.
"""

import asyncio
import random
from collections.abc import Iterator, Sequence
from typing import Final, TypeVar

import msgspec

from jsmemory.backends.jetstream.facts import STREAM_PREFIX
from jsmemory.backends.jetstream.messages import Message, StoredMessage
from jsmemory.examining.answers import State
from jsmemory.examining.census import Census
from jsmemory.examining.questions import Questions, Silence
from jsmemory.examining.walking import Seen
from jsmemory.frontmatter import read_description

SAMPLE: Final = 256
"""Messages that are drawn."""

_AT_ONCE: Final = 16
# Bodies under way at a time: about a mebibyte of them.

_T = TypeVar("_T")


class _Stored(StoredMessage, frozen=True):
    """A message, and the subject that it was found under."""

    subject: str = ""


class _Got(msgspec.Struct, frozen=True):
    message: _Stored | None = None


async def sample(bucket: str, state: State, census: Census, questions: Questions) -> Silence | None:
    """
    Draw messages and count them; where one was replaced meanwhile, its neighbour is drawn.

    Args:
        bucket: Its name.
        state: Which sequences there are.
        census: Takes them.
        questions: To the server; the right to read from the leader is needed.

    Returns:
        Why nothing came back; None where something did.
    """
    last = max(state.first_seq, state.last_seq)
    drawn = {random.randint(state.first_seq, last) for _ in range(SAMPLE)}  # noqa: S311 - where to look is no secret
    met: set[int] = set()
    silence: Silence | None = None
    for group in _groups(sorted(drawn)):
        for answer in await asyncio.gather(*(_next(bucket, sequence, questions) for sequence in group)):
            if isinstance(answer, Silence):
                silence = answer
            elif answer is not None and answer.seq not in met:
                met.add(answer.seq)
                _count(answer, f"$KV.{bucket}.", census)
        if silence is Silence.DENIED:
            break
    return None if met else silence


async def look_at_unlooked(bucket: str, census: Census, questions: Questions) -> None:
    """
    Read the bodies that a walk has met and could not tell, and count those without a description.

    They are not many: a census keeps only some names. What may not be read is left out.
    """
    for group in _groups(census.unlooked):
        values = await asyncio.gather(*(_value(bucket, name, questions) for name in group))
        for name, value in zip(group, values, strict=True):
            if value is not None and not read_description(value):
                census.undescribed.add(name)


def _count(message: _Stored, root: str, census: Census) -> None:
    value = Message.from_leader_get(message).value
    name = message.subject.removeprefix(root)
    before = census.values
    census.take(Seen(name, len(message.data), value is not None, is_described=True))
    if census.values > before and not read_description(message.data):
        census.undescribed.add(name)


async def _next(bucket: str, sequence: int, questions: Questions) -> _Stored | Silence | None:
    asked = {"seq": sequence, "next_by_subj": ">"}
    answer = await questions.ask(f"STREAM.MSG.GET.{STREAM_PREFIX}{bucket}", _Got, asked)
    if isinstance(answer, _Got):
        return answer.message
    return answer if isinstance(answer, Silence) else None


async def _value(bucket: str, name: str, questions: Questions) -> bytes | None:
    stream, subject = f"{STREAM_PREFIX}{bucket}", f"$KV.{bucket}.{name}"
    answer = await questions.ask(f"STREAM.MSG.GET.{stream}", _Got, {"last_by_subj": subject})
    if isinstance(answer, _Got) and answer.message is not None:
        return Message.from_leader_get(answer.message).value
    if answer is Silence.DENIED:
        raw = await questions.raw(f"DIRECT.GET.{stream}.{subject}")
        return raw if isinstance(raw, bytes) and raw else None
    return None


def _groups(all_of_them: Sequence[_T]) -> Iterator[Sequence[_T]]:
    for start in range(0, len(all_of_them), _AT_ONCE):
        yield all_of_them[start : start + _AT_ONCE]
