"""
The guarantees that the stream's own history shows: what was stored, in which order, whoever asked.

It tells without any doubt what other checks have to conclude.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping

from jsmemory.testing.torture.calls import Call, History
from jsmemory.testing.torture.checking.guarantees import Guarantee, Violation, violation
from jsmemory.testing.torture.records import Stored

Writes = Mapping[tuple[str, str, str], Call]


def check_stream(history: History, seen: Mapping[Call, Call]) -> Iterator[Violation]:
    """Hold the messages of the stream against the calls that stored them."""
    writes = {
        (call.space, call.key, call.value): call for call in history.calls if call.operation in ("create", "update")
    }
    by_key: defaultdict[tuple[int, str, str], list[Stored]] = defaultdict(list)
    for stored in history.stored:
        by_key[stored.era, stored.space, stored.key].append(stored)
    is_whole = bool(history.rests) and all(rest.is_whole_history for rest in history.rests)
    for (_, space, key), messages in by_key.items():
        yield from _twice(space, key, messages, writes)
        yield from _refused(space, key, messages, writes)
        if is_whole:
            yield from _replaced(space, key, messages, writes, seen)
    if is_whole:
        yield from _missing(history)


def _twice(space: str, key: str, messages: list[Stored], writes: Writes) -> Iterator[Violation]:
    sequences: defaultdict[str, list[int]] = defaultdict(list)
    for message in messages:
        if (space, key, message.value) in writes:
            sequences[message.value].append(message.sequence)
    for value, found in sequences.items():
        if len(found) > 1:
            what = f"{value} was stored {len(found)} times, at {', '.join(map(str, found))}"
            yield violation(Guarantee.ONCE, what, [writes[space, key, value]])


def _refused(space: str, key: str, messages: list[Stored], writes: Writes) -> Iterator[Violation]:
    for message in messages:
        write = writes.get((space, key, message.value))
        if write is not None and write.is_refused:
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
