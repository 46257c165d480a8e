"""How far a compaction has come, and what came of it."""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Compaction:
    """
    How far a compaction has come.

    Attributes:
        seen: Names that were gone through.
        total: Names that there are to go through, as far as is known.
        removed: Markers that were removed, by this compaction; of a dry run, that would have been.
        young: Markers that stay because they are not old enough.
        odd: Markers that stay because their names mean more than themselves, as ``a.*`` does.
        is_whole: Whether it went to the end, and no bound cut it short.
        is_dry_run: Whether nothing was removed, and this is what would have come of it.
    """

    seen: int = 0
    total: int = 0
    removed: int = 0
    young: int = 0
    odd: int = 0
    is_whole: bool = False
    is_dry_run: bool = False


Progressed = Callable[[Compaction], None]
"""Told how far it has come."""


def unheeded(compaction: Compaction) -> None:
    """Progress that nobody watches."""
