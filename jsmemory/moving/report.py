"""What came of moving entries: one line for each, and how it stands with the whole."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

Progressed = Callable[[int, int], None]
"""Told how many entries are done, and of how many."""


def unheeded(done: int, total: int) -> None:
    """Progress that nobody watches."""


class Outcome(StrEnum):
    """What became of one entry."""

    CREATED = "created"
    """It is new in the destination, and was read back."""
    REPLACED = "replaced"
    """It took the place of what was there and had been read, and was read back."""
    EQUAL = "equal"
    """The destination held it already, word for word; nothing was written."""
    GONE = "gone"
    """It was deleted in the source while the others were moved."""
    SKIPPED = "skipped"
    """It is no note, and was not meant."""
    REFUSED = "refused"
    """It cannot be carried as it is, or something else is in its place; nothing was written."""
    FAILED = "failed"
    """A store did not do its part; nothing was written."""
    UNKNOWN = "unknown"
    """It was written, or may have been, and what is stored could not be compared, or differs."""
    UNTRIED = "untried"
    """It was not begun: too many had failed one after the other."""


UNCARRIED = frozenset({Outcome.REFUSED, Outcome.FAILED, Outcome.UNKNOWN, Outcome.UNTRIED})
"""What is left to do for whoever wants all of it in the destination."""


@dataclass(frozen=True, slots=True)
class Moved:
    """
    What became of one entry.

    Attributes:
        origin: What it is called in the source: a key, or the path of a file within its folder.
        key: What it is called in the destination; ``""`` for what is no note.
        outcome: What became of it.
        code: A stable word for why it was not carried, as `JsMemoryError.code` has them, or
            ``differs``, ``same_key``, ``not_verified``; ``""`` where there is nothing to explain.
        reason: The same in a sentence that ends with the remedy.
    """

    origin: str
    key: str
    outcome: Outcome
    code: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True)
class MovingReport:
    """
    What came of all of them.

    Attributes:
        moved: Each entry of the source, in the order of `Moved.origin`.
        is_dry_run: Whether nothing was written, and this is what would have come of it.
    """

    moved: tuple[Moved, ...]
    is_dry_run: bool = False

    @property
    def counts(self) -> dict[Outcome, int]:
        """How many entries there are of each outcome that there is."""
        counted = Counter(each.outcome for each in self.moved)
        return {outcome: counted[outcome] for outcome in Outcome if counted[outcome]}

    @property
    def uncarried(self) -> tuple[Moved, ...]:
        """What is not in the destination, or not for certain, each with its reason."""
        return tuple(each for each in self.moved if each.outcome in UNCARRIED)

    @property
    def renamed(self) -> tuple[Moved, ...]:
        """What has a key that its name in the source is not."""
        return tuple(each for each in self.moved if each.key not in ("", each.origin, each.origin.removesuffix(".md")))
