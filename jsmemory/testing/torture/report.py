"""What a campaign comes to: what was done and what it met, what was broken, and for how long nobody could write."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from jsmemory.testing.torture.calls import Call, History
from jsmemory.testing.torture.checking import Checked
from jsmemory.testing.torture.records import Set, Struck

_NOTICED_AFTER: Final = 6.0
# Seconds: a store examines its bucket every five of use.

MUST_SETTLE: Final = 0.999
"""Of the writes that lost their acknowledgement, the share that has to be settled to landed or refused."""


@dataclass(frozen=True, slots=True)
class Lost:
    """
    What became of the writes whose acknowledgement was lost.

    Attributes:
        landed: Found to have landed.
        refused: Found not to have.
        unknown: Neither could be found out.
        removed: Neither could be found out, because the bucket was removed meanwhile.
    """

    landed: int
    refused: int
    unknown: int
    removed: int

    @property
    def count(self) -> int:
        """All of them."""
        return self.landed + self.refused + self.unknown + self.removed

    @property
    def settled(self) -> float:
        """The share that was settled, of those whose bucket stayed; 1 where there were none."""
        stayed = self.count - self.removed
        return (stayed - self.unknown) / stayed if stayed else 1.0

    @property
    def is_enough(self) -> bool:
        """Whether as many were settled as have to be; of one that was not, nobody can tell how rare it is."""
        return self.unknown <= 1 or self.settled >= MUST_SETTLE


@dataclass(frozen=True, slots=True)
class FaultMet:
    """
    One kind of fault.

    Attributes:
        count: How often it struck.
        longest_gap: The longest time without any acknowledged write that it had a part in, in seconds.
    """

    count: int
    longest_gap: float


@dataclass(frozen=True, slots=True)
class Report:
    """
    What a campaign comes to.

    Attributes:
        settings: What was run; None where nobody said.
        calls: How many calls were made.
        outcomes: By operation, and what came of it, how many.
        faults: By their names.
        lost: What became of lost acknowledgements.
        cut_off: Calls of workers that were killed, which nobody could settle.
        longest_gap: The longest time without any acknowledged write, in seconds.
        stored: Messages of the stream that were held against the calls.
        checked: What the checker has found.
        missing: What the records lack, and without which they prove nothing.
    """

    settings: Set | None
    calls: int
    outcomes: dict[str, dict[str, int]]
    faults: dict[str, FaultMet]
    lost: Lost
    cut_off: int
    longest_gap: float
    stored: int
    checked: Checked
    missing: tuple[str, ...]

    @classmethod
    def of(cls, history: History, checked: Checked, *, lacking: Iterable[str] = ()) -> "Report":
        """
        Sum up.

        Args:
            history: What happened.
            checked: What the checker has found.
            lacking: What is known to be missing of the records themselves.
        """
        outcomes: dict[str, Counter[str]] = {}
        for call in history.calls:
            outcomes.setdefault(call.operation, Counter())[_came_of(call)] += 1
        gaps = _gaps(history)
        return cls(
            history.settings,
            len(history.calls),
            {operation: dict(sorted(counts.items())) for operation, counts in sorted(outcomes.items())},
            _faults(history.faults, gaps),
            _lost(history),
            sum(call.is_open for call in history.calls),
            max((end - start for start, end in gaps), default=0.0),
            len(history.stored),
            checked,
            (*_missing(history), *lacking),
        )

    @property
    def is_good(self) -> bool:
        """Whether there is all that it takes to tell, and it tells that every guarantee was kept."""
        is_told = not self.missing and not self.checked.undecided
        return is_told and not self.checked.violations and self.lost.is_enough


def _missing(history: History) -> Iterator[str]:
    if history.settings is None:
        yield "what was run"
    if not history.calls:
        yield "any call"
    for space in sorted({call.space for call in history.calls} - {rest.space for rest in history.rests}):
        yield f"the final state of {space}"


def _came_of(call: Call) -> str:
    if call.is_open:
        return "cut off"
    if call.operation == "delete" and call.outcome == "ok":
        return "existed" if call.existed else "did not exist"
    return call.code or call.outcome


def _lost(history: History) -> Lost:
    counts: Counter[str] = Counter()
    for call in history.calls:
        if call.lost and not call.is_open:
            counts[_settled(call, history)] += 1
    return Lost(counts["landed"], counts["refused"], counts["unknown"], counts["removed"])


def _settled(call: Call, history: History) -> str:
    if call.is_unknown:
        return "removed" if history.is_wiped_during(call, noticed_after=_NOTICED_AFTER) else "unknown"
    is_landed = call.outcome == "ok" and (call.operation != "delete" or call.existed)
    return "landed" if is_landed else "refused"


def _gaps(history: History) -> list[tuple[float, float]]:
    """The times between one acknowledged write and the next, of workers, while the campaign lasted."""
    if history.settings is None:
        return []
    began, ended = history.settings.began, history.settings.began + history.settings.seconds
    times = sorted(
        call.end for call in history.calls if call.is_write and call.outcome == "ok" and began <= call.end <= ended
    )
    moments = [began, *times, ended]
    return list(pairwise(moments))


def _faults(faults: Iterable[Struck], gaps: Sequence[tuple[float, float]]) -> dict[str, FaultMet]:
    met: dict[str, FaultMet] = {}
    for fault in faults:
        longest = max(
            (end - start for start, end in gaps if start < fault.ended and end > fault.began),
            default=0.0,
        )
        before = met.get(fault.fault, FaultMet(0, 0.0))
        met[fault.fault] = FaultMet(before.count + 1, max(before.longest_gap, longest))
    return dict(sorted(met.items()))
