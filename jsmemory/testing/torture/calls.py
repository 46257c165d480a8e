"""Calls put together from their two lines, and all else that a run has left behind, sorted for the checker."""

import math
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from jsmemory.testing.torture.records import (
    Began,
    Died,
    Ended,
    Opened,
    Operation,
    Outcome,
    Record,
    Rested,
    Restored,
    Set,
    Stored,
    Struck,
    Suspended,
    Wiped,
)


@dataclass(frozen=True, slots=True, eq=False)
class Call:
    """
    One call and what came of it; see `Began` and `Ended`.

    Attributes:
        name: The worker and the number.
        start: When it was made.
        end: When it returned, or when its process was gone, or infinity.
        is_open: Whether nobody heard its answer. It counts as unknown.
    """

    name: str
    operation: Operation
    store: str
    scope: str
    space: str
    key: str
    value: str
    start: float
    end: float
    outcome: Outcome
    code: str = ""
    existed: bool = False
    listed: tuple[tuple[str, str], ...] = ()
    lost: int = 0
    is_open: bool = False

    @property
    def is_write(self) -> bool:
        """Whether it may change what is stored."""
        return self.operation in ("create", "update", "delete")

    @property
    def is_unknown(self) -> bool:
        """Whether nobody can tell what it has done: it said so, or said nothing that the contract knows."""
        return self.outcome in ("unknown", "foreign")

    @property
    def is_refused(self) -> bool:
        """Whether it said that nothing was written."""
        return self.outcome in ("refused", "unavailable")

    def __str__(self) -> str:
        key = f" {self.key}" if self.key else ""
        value = f" {self.value}" if self.value else ""
        end = "?" if math.isinf(self.end) else f"{self.end:.4f}"
        came = self.code or self.outcome
        if self.operation == "delete" and self.outcome == "ok":
            came = "existed" if self.existed else "did not exist"
        if self.operation == "list" and self.outcome == "ok":
            came = f"{len(self.listed)} entries"
        return f"{self.start:.4f} to {end}  {self.name}  {self.operation}{key}{value}: {came}"


@dataclass(slots=True)
class History:
    """
    All that is known of a run.

    Attributes:
        calls: In the order in which they began.
        scopes: What happened to each scope, in order: its calls, and when it was suspended and restored.
        lonely: Stores whose authority ends with them.
        wipes: When the keyspaces were made anew.
        faults: What the nemesis did.
        stored: The stream's own history.
        rests: The final states.
        settings: What was run; None where nobody said.
    """

    calls: list[Call] = field(default_factory=list)
    scopes: dict[str, list[Call | Suspended | Restored]] = field(default_factory=dict)
    lonely: set[str] = field(default_factory=set)
    wipes: list[Wiped] = field(default_factory=list)
    faults: list[Struck] = field(default_factory=list)
    stored: list[Stored] = field(default_factory=list)
    rests: list[Rested] = field(default_factory=list)
    settings: Set | None = None

    @classmethod
    def of(cls, records: Iterable[Record]) -> "History":
        """Sort records, those of each process in their order."""
        began: dict[tuple[str, int], Began] = {}
        ended: dict[tuple[str, int], Ended] = {}
        died: dict[str, float] = {}
        events: defaultdict[str, list[tuple[float, Call | Suspended | Restored]]] = defaultdict(list)
        history = cls()
        for record in records:
            match record:
                case Began():
                    began[record.worker, record.number] = record
                case Ended():
                    ended[record.worker, record.number] = record
                case Died():
                    died[record.worker] = record.at
                case Opened():
                    if record.ends_authority:
                        history.lonely.add(record.store)
                case Suspended() | Restored():
                    events[record.scope].append((record.at, record))
                case Wiped():
                    history.wipes.append(record)
                case Struck():
                    history.faults.append(record)
                case Stored():
                    history.stored.append(record)
                case Rested():
                    history.rests.append(record)
                case Set():
                    history.settings = record
        for name, begun in began.items():
            call = _call(begun, ended.get(name), died.get(begun.worker, math.inf))
            if call.store in history.lonely and call.lost and history.is_wiped_during(call):
                # Who may not examine the bucket cannot tell one that was made anew: documented.
                call = replace(call, outcome="unknown")
            history.calls.append(call)
            events[call.scope].append((call.start, call))
        history.calls.sort(key=lambda call: call.start)
        history.wipes.sort(key=lambda wipe: wipe.began)
        history.stored.sort(key=lambda stored: (stored.era, stored.sequence))
        for scope, happened in events.items():
            history.scopes[scope] = [event for _, event in sorted(happened, key=lambda pair: pair[0])]
        return history

    def is_wiped_during(self, call: Call, *, noticed_after: float = 0.0) -> bool:
        """Whether the keyspaces were made anew while a call was under way, or so many seconds before."""
        return any(wipe.ended > call.start - noticed_after and wipe.began < call.end for wipe in self.wipes)

    def by_key(self) -> dict[tuple[str, str], list[Call]]:
        """The calls about each key of each keyspace; listings are about none."""
        found: defaultdict[tuple[str, str], list[Call]] = defaultdict(list)
        for call in self.calls:
            if call.key:
                found[call.space, call.key].append(call)
        return dict(found)


def _call(began: Began, ended: Ended | None, died: float) -> Call:
    name = f"{began.worker}/{began.number}"
    who = (name, began.operation, began.store, began.scope, began.space, began.key)
    if ended is None:
        return Call(*who, began.value, began.at, died, "unknown", is_open=True)
    return Call(
        *who,
        ended.value or began.value,
        began.at,
        ended.at,
        ended.outcome,
        ended.code,
        ended.existed,
        ended.listed,
        ended.lost,
    )
