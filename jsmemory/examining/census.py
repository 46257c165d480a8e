"""What lies in a bucket: counted while it passes by, and judged at the end."""

import shlex
from dataclasses import dataclass, field
from typing import Final

from jsmemory.examining.headroom import NEARLY
from jsmemory.examining.report import Check, Verdict, found, ok
from jsmemory.examining.walking import Seen
from jsmemory.keys import is_legal_key
from jsmemory.limits import MAX_ENTRIES, MAX_ENTRY_BYTES

BODIES: Final = 256
"""Values whose bodies are looked at, at most."""

_EXAMPLES: Final = 3
_LONGEST_EXAMPLE: Final = 60
_PREFIXES: Final = 10_000
# Namespaces that are told apart; what is beyond them is counted together.

MANY_MARKERS: Final = 1_024
"""Markers of one prefix that every listing has to pass by: as many as entries at most."""


@dataclass(slots=True)
class Kind:
    """How many of a kind, and the names of a few."""

    count: int = 0
    names: list[str] = field(default_factory=list)

    def add(self, name: str) -> None:
        """One more."""
        self.count += 1
        if len(self.names) < _EXAMPLES:
            self.names.append(name)

    def __str__(self) -> str:
        shown = ", ".join(_shortened(name) for name in self.names)
        return f"{shown}, ..." if self.count > len(self.names) else shown


@dataclass(slots=True)
class Census:
    """
    The running count. Its size does not grow with the bucket.

    Attributes:
        prefix: Whose names count; None for every prefix that a bucket can have.
        is_sample: Whether what passes by is a part only, drawn by chance.
    """

    prefix: str | None
    is_sample: bool = False
    values: int = 0
    markers: int = 0
    foreign: Kind = field(default_factory=Kind)
    oversize: Kind = field(default_factory=Kind)
    undescribed: Kind = field(default_factory=Kind)
    unlooked: list[str] = field(default_factory=list)
    by_prefix: dict[str, int] = field(default_factory=dict)

    @property
    def total(self) -> int:
        """All that passed by."""
        return self.values + self.markers + self.foreign.count

    def take(self, seen: Seen) -> None:
        """Count one message."""
        if not self._is_ours(seen.name):
            if seen.is_value:
                self.foreign.add(seen.name)
            return
        if not seen.is_value:
            self.markers += 1
            return
        self.values += 1
        token, dot, _ = seen.name.partition(".")
        group = token if dot else ""
        if group in self.by_prefix or len(self.by_prefix) < _PREFIXES:
            self.by_prefix[group] = self.by_prefix.get(group, 0) + 1
        if seen.size > MAX_ENTRY_BYTES:
            self.oversize.add(seen.name)
        if not seen.is_described and len(self.unlooked) < BODIES:
            self.unlooked.append(seen.name)

    def _is_ours(self, name: str) -> bool:
        token, dot, key = name.partition(".")
        if self.prefix:
            return token == self.prefix and is_legal_key(key)
        # In a bucket of many prefixes a name is longer than a key may be.
        return is_legal_key(name) or (self.prefix is None and bool(dot) and is_legal_key(token) and is_legal_key(key))

    # -- Judging ----------------------------------------------------------------------------

    def checks(self, bucket: str, place: str) -> list[Check]:
        """
        What is to be said of what was counted.

        Args:
            bucket: Its name.
            place: The options that choose the store on our command line.
        """
        checks = [] if self.prefix is None else [self._entries(place)]
        return [*checks, self._markers(place), self._foreign(bucket), self._oversize(bucket), self._headers(place)]

    def _entries(self, place: str) -> Check:
        return entries(self.prefix or "", self.values, place)

    def _markers(self, place: str) -> Check:
        said = f"{self._share(self.markers)} beside {self.values:,} entries"
        many = self.markers * 2 > self.total if self.is_sample else self.markers >= MANY_MARKERS
        if self.prefix is None and not self.is_sample:
            many = many and self.markers > self.values
        if not many:
            return ok("markers", said)
        return found(
            "markers",
            Verdict.WARNING,
            "markers_piled_up",
            f"What is left of deleted keys has piled up, {said}: every listing passes by all of it.",
            f"jsmemory compact {place}; it leaves those of the last half hour",
        )

    def _foreign(self, bucket: str) -> Check:
        if not self.foreign.count:
            return ok("foreign_keys", "none")
        name = self.foreign.names[0]
        return found(
            "foreign_keys",
            Verdict.ADVICE,
            "foreign_keys",
            f"Names that are no keys of ours: {self._share(self.foreign.count)} ({self.foreign}). "
            "No store lists, counts or reads them.",
            f"if nobody needs it: nats kv del {bucket} {shlex.quote(name)} --force",
        )

    def _oversize(self, bucket: str) -> Check:
        if not self.oversize.count:
            return ok("oversize", "none")
        return found(
            "oversize",
            Verdict.WARNING,
            "oversize",
            f"Values larger than an entry can be: {self._share(self.oversize.count)} ({self.oversize}). "
            "They can be read, and not be written back.",
            f"split it over several keys: nats kv get {bucket} {shlex.quote(self.oversize.names[0])} --raw",
        )

    def _headers(self, place: str) -> Check:
        if not self.undescribed.count:
            foreign = len(self.unlooked)
            return ok("descriptions", f"in all; {foreign} values of other programs were read" if foreign else "in all")
        name = self.undescribed.names[0]
        token, dot, rest = name.partition(".")
        key = rest if dot and self.prefix != "" else name
        if self.prefix is None:
            place += f" --prefix {token if dot else repr('')}"
        return found(
            "descriptions",
            Verdict.ADVICE,
            "header_unreadable",
            f"Values without a description that can be read: {self._share(self.undescribed.count)} "
            f"({self.undescribed}). In an index nobody can tell what they are about.",
            f"jsmemory {place} read {shlex.quote(key)} | "
            f"jsmemory {place} write {shlex.quote(key)} --overwrite --content - -d DESCRIPTION",
        )

    def _share(self, count: int) -> str:
        return f"{count:,} of {self.total:,} drawn by chance" if self.is_sample else f"{count:,}"


def entries(prefix: str, count: int, place: str, *, name: str = "entries") -> Check:
    """What is to be said of the number of entries of a prefix."""
    whose = f"of {prefix}" if prefix else "of the flat keyspace"
    said = f"{count:,} of {MAX_ENTRIES:,}"
    cure = f"remove what nobody needs: jsmemory {place} list, then delete KEY"
    if count >= MAX_ENTRIES:
        return found(
            name, Verdict.FAULT, "entries_full", f"The store {whose} is full, {said}: new notes are refused.", cure
        )
    if count >= NEARLY * MAX_ENTRIES:
        return found(name, Verdict.WARNING, "entries_nearly_full", f"The store {whose} is nearly full, {said}.", cure)
    return ok(name, said)


def _shortened(name: str) -> str:
    shown = ascii(name)[1:-1]
    return shown if len(shown) <= _LONGEST_EXAMPLE else shown[: _LONGEST_EXAMPLE - 3] + "..."
