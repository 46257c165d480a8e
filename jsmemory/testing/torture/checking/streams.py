"""
The guarantees that the stream's own history shows: what was stored, in which order, whoever asked.

It tells without any doubt what other checks have to conclude.
"""

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping

from jsmemory.testing.torture.calls import Call, History
from jsmemory.testing.torture.checking.codes import FULL
from jsmemory.testing.torture.checking.guarantees import Guarantee, Violation, violation
from jsmemory.testing.torture.records import Stored

Writes = Mapping[tuple[str, str, str], Call]

Since = Mapping[Stored, float]
"""Of each message, a time before which it was not stored."""


def check_stream(history: History, seen: Mapping[Call, Call]) -> Iterator[Violation]:
    """Hold the messages of the stream against the calls that stored them."""
    writes = {
        (call.space, call.key, call.value): call for call in history.calls if call.operation in ("create", "update")
    }
    by_key: defaultdict[tuple[int, str, str], list[Stored]] = defaultdict(list)
    for stored in history.stored:
        by_key[stored.era, stored.space, stored.key].append(stored)
    since = _since(history, writes)
    is_whole = bool(history.rests) and all(rest.is_whole_history for rest in history.rests)
    for (_, space, key), messages in by_key.items():
        yield from _twice(space, key, messages, writes, since)
        yield from _refused(space, key, messages, writes, since, history)
        if is_whole:
            yield from _replaced(space, key, messages, writes, seen)
    if is_whole:
        yield from _missing(history)


def _since(history: History, writes: Writes) -> Since:
    """A stream stores one message after the other: each later than the writes before it began."""
    since: dict[Stored, float] = {}
    latest = -math.inf
    for message in history.stored:
        write = writes.get((message.space, message.key, message.value))
        latest = max(latest, -math.inf if write is None else write.start)
        since[message] = latest
    return since


def _twice(space: str, key: str, messages: list[Stored], writes: Writes, since: Since) -> Iterator[Violation]:
    sequences: defaultdict[str, list[int]] = defaultdict(list)
    for number, message in enumerate(messages):
        write = writes.get((space, key, message.value))
        # A create that was one too many is taken back, and may be tried again.
        if write is not None and not (write.operation == "create" and _is_taken_back(messages, number, write, since)):
            sequences[message.value].append(message.sequence)
    for value, found in sequences.items():
        if len(found) > 1:
            what = f"{value} was stored {len(found)} times, at {', '.join(map(str, found))}"
            yield violation(Guarantee.ONCE, what, [writes[space, key, value]])


def _is_taken_back(messages: list[Stored], number: int, create: Call, since: Since) -> bool:
    """Whether the next message may be the create's own marker, which it stores before it returns."""
    if number + 1 == len(messages) or messages[number + 1].value:
        return False
    return create.is_unknown or since[messages[number + 1]] < create.end


def _refused(
    space: str, key: str, messages: list[Stored], writes: Writes, since: Since, history: History
) -> Iterator[Violation]:
    for number, message in enumerate(messages):
        write = writes.get((space, key, message.value))
        if write is None or not write.is_refused:
            continue
        passes = write.operation == "create" and (write.outcome == "unavailable" or write.code == FULL)
        is_over = _is_taken_back(messages, number, write, since) or (
            message is messages[-1] and _met_a_wipe(write, history)
        )
        if not (passes and is_over):
            what = f"{message.value} was stored at {message.sequence}, and refused with {write.code}"
            yield violation(Guarantee.REFUSED, what, [write])


def _replaced(
    space: str, key: str, messages: list[Stored], writes: Writes, seen: Mapping[Call, Call]
) -> Iterator[Violation]:
    before = ""
    for message in messages:
        write = writes.get((space, key, message.value))
        if write is not None and write.operation == "update":
            shown = seen.get(write)
            if shown is None or shown.value != before:
                what = f"{message.value} replaced {before or 'nothing'} at {message.sequence}"
                earlier = [writes[space, key, before]] if (space, key, before) in writes else []
                yield violation(Guarantee.UNSEEN, what, [*earlier, *([shown] if shown else []), write])
        elif write is not None and before:
            what = f"{message.value} was created over {before} at {message.sequence}"
            earlier = [writes[space, key, before]] if (space, key, before) in writes else []
            yield violation(Guarantee.UNSEEN, what, [*earlier, write])
        before = message.value


def _missing(history: History) -> Iterator[Violation]:
    stored = {(message.space, message.key, message.value) for message in history.stored}
    for call in history.calls:
        if call.operation not in ("create", "update") or call.outcome != "ok":
            continue
        if (call.space, call.key, call.value) not in stored and not _may_be_wiped(call, history):
            yield violation(Guarantee.KEPT, f"{call.value} was acknowledged, and never stored", [call])


def _may_be_wiped(call: Call, history: History) -> bool:
    """Whether the operator removed the bucket before anybody can have looked at its history."""
    return any(wipe.ended > call.start for wipe in history.wipes)


def _met_a_wipe(call: Call, history: History) -> bool:
    """Whether the operator removed the bucket during a call: nobody has seen the last messages."""
    return any(wipe.began < call.end and wipe.ended > call.start for wipe in history.wipes)
