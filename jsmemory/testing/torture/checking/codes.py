"""Codes of refusals, as workers record them: the contract's, and the reason of a stale update."""

from collections.abc import Mapping
from typing import Final

from jsmemory.errors import (
    AccessDeniedError,
    EntryExistsError,
    EntryNotFoundError,
    StaleEntryError,
    StoreFullError,
)
from jsmemory.testing.torture.records import Operation

FULL: Final = StoreFullError.code
EXISTS: Final = EntryExistsError.code
UNREAD: Final = f"{StaleEntryError.code}:unread"
CHANGED: Final = f"{StaleEntryError.code}:changed"
DENIED: Final = AccessDeniedError.code

REFUSALS: Final[Mapping[Operation, frozenset[str]]] = {
    "create": frozenset({EXISTS, FULL}),
    "read": frozenset({EntryNotFoundError.code}),
    "update": frozenset({UNREAD, CHANGED}),
    "delete": frozenset(),
    "list": frozenset(),
}
"""What each method may be refused with, where the arguments are legal and the store may be written."""
