"""The guarantees that a run is held against, each with its name, and what it looks like when one is broken."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from jsmemory.testing.torture.calls import Call


class Guarantee(StrEnum):
    """What the contract promises, under the names that a report uses."""

    CONTRACT = "contract"
    """Every call ends with an answer or an error of the contract."""
    WHOLE = "whole"
    """A reader sees one value that was written under that key, never a mixture."""
    KEPT = "kept"
    """A write that returned is there, until one who has read it, a delete or the operator takes it away."""
    ONCE = "once"
    """No write is applied twice."""
    REFUSED = "refused"
    """What a refused write was to store is never seen."""
    UNSEEN = "unseen"
    """Nothing is overwritten by a run that has not read it."""
    ERA = "era"
    """Authority ends with the bucket or the directory that it was earned in."""
    HONEST = "honest"
    """A refusal is about what somebody else has done: never about the caller's own write, nor about nothing."""
    SESSION = "session"
    """Within one store object no read goes back behind what was read or written there."""
    EXISTED = "existed"
    """Of all deletes of one value exactly one says that it existed."""
    CAPACITY = "capacity"
    """A store holds no more than its entries."""
    ROOM = "room"
    """A store that has room takes a new entry."""
    LISTED = "listed"
    """A listing shows every entry that was there all the time, once and in order, and none that cannot have been."""

    @property
    def promise(self) -> str:
        """The promise in one sentence."""
        return _PROMISES[self]


_PROMISES = {
    Guarantee.CONTRACT: "every call ends with an answer or an error of the contract",
    Guarantee.WHOLE: "a reader sees one value that was written under that key, never a mixture",
    Guarantee.KEPT: "an acknowledged write stays until one who has read it, a delete or the operator takes it away",
    Guarantee.ONCE: "no write is applied twice",
    Guarantee.REFUSED: "what a refused write was to store is never seen",
    Guarantee.UNSEEN: "nothing is overwritten by a run that has not read it",
    Guarantee.ERA: "authority ends with the bucket or the directory that it was earned in",
    Guarantee.HONEST: "a refusal is about what somebody else has done, never about the caller's own write",
    Guarantee.SESSION: "within one store object no read goes back behind what was read or written there",
    Guarantee.EXISTED: "of all deletes of one value exactly one says that it existed",
    Guarantee.CAPACITY: "a store holds no more than its entries",
    Guarantee.ROOM: "a store that has room takes a new entry",
    Guarantee.LISTED: "a listing shows every entry that was there all the time, once and in order, and no other",
}


@dataclass(frozen=True, slots=True)
class Violation:
    """
    A guarantee that was broken.

    Attributes:
        guarantee: Which one.
        what: One sentence about this case.
        space: In which keyspace.
        key: With which key; ``""`` where it is about many.
        calls: The shortest history that shows it, in the order in which the calls began.
    """

    guarantee: Guarantee
    what: str
    space: str
    key: str
    calls: tuple[Call, ...]

    def __str__(self) -> str:
        where = f"{self.space}/{self.key}" if self.key else self.space
        history = "".join(f"\n    {call}" for call in self.calls)
        return f"{self.guarantee}: {self.what} ({where}){history}"


def violation(guarantee: Guarantee, what: str, calls: Sequence[Call], *, key: str | None = None) -> Violation:
    """
    A violation, with its calls in order and each of them once.

    Args:
        guarantee: Which one is broken.
        what: One sentence.
        calls: The history; the last one is the answer that shows it.
        key: Which key it is about; left out, that of the last call.
    """
    last = calls[-1]
    shown = sorted(dict.fromkeys(calls), key=lambda call: call.start)
    return Violation(guarantee, what, last.space, last.key if key is None else key, tuple(shown))
