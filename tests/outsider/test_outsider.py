"""
A contract that only its author can implement is none: a store such as another distribution
would have, written with public names alone and with rules of its own, passes the kit.
"""

from collections.abc import Mapping
from typing import ClassVar

from jsmemory import (
    MAX_CONTENT_BYTES,
    MAX_ENTRIES,
    Entry,
    EntryExistsError,
    EntryNotFoundError,
    EntryTooLargeError,
    Info,
    InvalidEntryError,
    Item,
    Scope,
    StaleEntryError,
    Store,
    StoreFullError,
)
from jsmemory.keys import validate_key
from jsmemory.testing import STORE_CASES, Harness, Need, run_cases
from jsmemory.testing.pytest_cases import store_cases


class RowStore(Store):
    """Rows of a table: no bytes, no header, no driver underneath."""

    def __init__(self, rows: dict[str, tuple[int, str, str]], *, guarded: bool) -> None:
        self._rows = rows
        self._guarded = guarded
        self._realm = f"rows-{id(rows)}"

    def info(self) -> Info:
        return Info("rows", "")

    async def list(self) -> tuple[Item, ...]:
        return tuple(Item(key, description) for key, (_, description, _) in sorted(self._rows.items()))

    async def read(self, key: str, *, scope: Scope | None) -> Entry:
        validate_key(key)
        if key not in self._rows:
            if scope is not None:
                scope.forget(self._realm, key)
            raise EntryNotFoundError(key)
        revision, description, content = self._rows[key]
        self._grant(scope, key)
        return Entry(key, description, content, str(revision))

    async def create(self, key: str, description: str, content: str, *, scope: Scope | None) -> None:
        validate_key(key)
        row = _row(description, content)
        if key in self._rows:
            raise EntryExistsError(key)
        self._put(key, row, scope)

    async def update(self, key: str, description: str, content: str, *, scope: Scope | None) -> None:
        validate_key(key)
        row = _row(description, content)
        if self._guarded:
            known = None if scope is None else scope.revision_of(self._realm, key)
            if known is None:
                raise StaleEntryError(key, "unread")
            if key not in self._rows or known != str(self._rows[key][0]):
                assert scope is not None
                scope.forget(self._realm, key)
                raise StaleEntryError(key, "changed")
        self._put(key, row, scope)

    async def delete(self, key: str, *, scope: Scope | None) -> bool:
        validate_key(key)
        if scope is not None:
            scope.forget(self._realm, key)
        return self._rows.pop(key, None) is not None

    def _put(self, key: str, row: tuple[str, str], scope: Scope | None) -> None:
        if key not in self._rows and len(self._rows) >= MAX_ENTRIES:
            raise StoreFullError
        self._rows[key] = (_next_number(), *row)
        self._grant(scope, key)

    def _grant(self, scope: Scope | None, key: str) -> None:
        if scope is not None:
            scope.remember(self._realm, key, str(self._rows[key][0]))


_numbers = iter(range(1, 10**9))


def _next_number() -> int:
    return next(_numbers)


def _row(description: object, content: object) -> tuple[str, str]:
    for field, text in (("content", content), ("description", description)):
        if not isinstance(text, str) or any("\ud800" <= character <= "\udfff" for character in text):
            raise InvalidEntryError(field, "is no text", "Give a string.")  # type: ignore[arg-type]
    assert isinstance(description, str)
    assert isinstance(content, str)
    line = "".join(" " if character < " " or character == "\x7f" else character for character in description)
    line = " ".join(line.split())[:500].strip()
    if not line:
        raise InvalidEntryError("description", "is empty", "Say in one line what the entry is about.")
    if len(content.encode()) > MAX_CONTENT_BYTES:
        raise EntryTooLargeError(len(content.encode()), MAX_CONTENT_BYTES)
    return line, content


class RowHarness(Harness):
    lacks: ClassVar[Mapping[Need, str]] = {
        Need.PLANT: "no other program writes to these rows",
        Need.PEEK: "a row has no stored bytes",
        Need.RECREATE: "the rows end with their process",
    }

    def __init__(self) -> None:
        self._rows: dict[str, tuple[int, str, str]] = {}

    async def open(self, *, require_read_before_update: bool = True) -> Store:
        return RowStore(self._rows, guarded=require_read_before_update)

    async def neighbour(self) -> Store:
        return RowStore({}, guarded=True)


test_store = store_cases(RowHarness)


async def test_the_kit_runs_without_pytest_and_tells_the_gaps() -> None:
    """Who tries a store in a script sees what was kept, and what cannot be shown, with the reason."""
    report = await run_cases(RowHarness, STORE_CASES)
    assert report.is_good
    assert len(report.outcomes) == len(STORE_CASES)
    unchecked = report.of("unchecked")
    assert {outcome.case for outcome in unchecked} == {
        case.name for case in STORE_CASES if case.needs & {"plant", "peek", "recreate"}
    }
    assert all("rows" in outcome.reason or "row" in outcome.reason for outcome in unchecked)
    kept = f"{len(report.of('kept'))} of {len(STORE_CASES)} promises kept"
    assert str(report).endswith(f"{kept}, 0 broken, {len(unchecked)} not checked")
