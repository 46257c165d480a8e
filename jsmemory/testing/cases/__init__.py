"""All cases, one theme a module."""

from typing import Final

from jsmemory.testing.case import Case
from jsmemory.testing.cases import (
    cancellation,
    capacity,
    concurrency,
    deletion,
    drivers,
    entries,
    foreign,
    guard,
    honesty,
    keys,
    listing,
    live,
    realms,
    scopes,
    sessions,
    stored_format,
)
from jsmemory.testing.harness import BackendHarness, Harness

STORE_CASES: Final[tuple[Case[Harness], ...]] = tuple(
    case
    for theme in (
        keys,
        entries,
        guard,
        scopes,
        realms,
        capacity,
        listing,
        live,
        deletion,
        sessions,
        concurrency,
        cancellation,
        foreign,
        stored_format,
        honesty,
    )
    for case in theme.THEME.cases
)
"""What every store promises."""

BACKEND_CASES: Final[tuple[Case[BackendHarness], ...]] = drivers.THEME.cases
"""What every driver promises to the store above it."""
