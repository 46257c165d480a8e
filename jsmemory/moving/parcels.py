"""One entry on its way from where it is to a store."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from jsmemory.errors import BackendError, JsMemoryError
from jsmemory.moving.report import Moved, Outcome

Text = tuple[str, str]
"""A description and a content."""


@dataclass(frozen=True, slots=True)
class Parcel:
    """
    An entry that is to be carried.

    Attributes:
        origin: What it is called in the source.
        key: The key that it is to have.
        load: Gets its description and content; raises contract errors, `EntryNotFoundError`
            where it is not there any more.
    """

    origin: str
    key: str
    load: Callable[[], Awaitable[Text]] = field(repr=False)

    def moved(self, outcome: Outcome, code: str = "", reason: str = "") -> Moved:
        """What became of it."""
        return Moved(self.origin, self.key, outcome, code, reason)

    def kept_back_by(self, error: JsMemoryError) -> Moved:
        """What became of it where an error kept it from being written."""
        outcome = Outcome.FAILED if isinstance(error, BackendError) else Outcome.REFUSED
        return self.moved(outcome, error.code, str(error))
