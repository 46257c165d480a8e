"""Codes of refusals, as workers record them: the contract's, and the reason of a stale update."""

from typing import Final

from jsmemory.errors import EntryExistsError, StaleEntryError, StoreFullError

FULL: Final = StoreFullError.code
EXISTS: Final = EntryExistsError.code
UNREAD: Final = f"{StaleEntryError.code}:unread"
CHANGED: Final = f"{StaleEntryError.code}:changed"
