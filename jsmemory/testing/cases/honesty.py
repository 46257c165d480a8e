"""What a store says of itself, and how it refuses: true, and fit to be shown."""

from collections.abc import Awaitable, Callable
from typing import Any

from jsmemory.errors import (
    EntryExistsError,
    EntryNotFoundError,
    EntryTooLargeError,
    InvalidEntryError,
    InvalidKeyError,
    JsMemoryError,
    RequestError,
    StaleEntryError,
)
from jsmemory.testing.case import Theme
from jsmemory.testing.expecting import expect, expect_equal, keys_of, refused
from jsmemory.testing.harness import Harness

THEME = Theme[Harness]("honesty")


@THEME.case()
async def the_location_is_an_identifier(harness: Harness) -> None:
    """It lands on spans and in logs: no path of the host, no URL, no password."""
    store = await harness.open()
    info = store.info()
    expect(bool(info.backend), "the backend has no name")
    for text in (info.backend, info.location):
        expect(not set(text) & set("/\\@:\n "), f"{text!r} is more than an identifier")
    await store.create("note", "about", "text", scope=None)
    expect_equal(store.info(), info, "what the store says of itself after a write")


@THEME.case()
async def every_refusal_is_a_request_error_that_names_what_happened(harness: Harness) -> None:
    """A host reacts to the branch, a program to the code, a model to the words: each refusal has all three."""
    store, scope = await harness.open(), harness.scope()
    await store.create("there", "about", "text", scope=None)
    calls: tuple[tuple[type[JsMemoryError], str, Callable[[], Awaitable[Any]]], ...] = (
        (InvalidKeyError, "invalid_key", lambda: store.read("a/b", scope=scope)),
        (InvalidEntryError, "invalid_entry", lambda: store.create("note", "", "text", scope=scope)),
        (EntryTooLargeError, "entry_too_large", lambda: store.create("note", "about", "x" * 65_537, scope=scope)),
        (EntryExistsError, "entry_exists", lambda: store.create("there", "about", "text", scope=scope)),
        (EntryNotFoundError, "entry_not_found", lambda: store.read("note", scope=scope)),
        (StaleEntryError, "stale_entry", lambda: store.update("there", "about", "text", scope=scope)),
    )
    for kind, code, call in calls:
        with refused(kind, code) as caught:
            await call()
        expect(isinstance(caught.error, RequestError), f"{kind.__name__} is no RequestError")
        expect_equal((caught.error.code, caught.error.retryable), (code, False), f"the facts of {kind.__name__}")


@THEME.case()
async def a_refusal_shows_no_text_of_an_entry(harness: Harness) -> None:
    """A refusal is shown to another run: what the colliding note says is not for it to see unread."""
    store, scope = await harness.open(), harness.scope()
    await store.create("there", "a private line", "a private text", scope=None)
    calls: tuple[tuple[type[JsMemoryError], Callable[[], Awaitable[Any]]], ...] = (
        (EntryExistsError, lambda: store.create("there", "my private line", "my private text", scope=scope)),
        (StaleEntryError, lambda: store.update("there", "my private line", "my private text", scope=scope)),
        (InvalidKeyError, lambda: store.create("a/b", "my private line", "my private text", scope=scope)),
        (InvalidEntryError, lambda: store.create("note", "", "my private text", scope=scope)),
        (EntryTooLargeError, lambda: store.create("note", "my private line", "my private text" * 9_000, scope=scope)),
    )
    for kind, call in calls:
        with refused(kind, "a call that cannot be met") as caught:
            await call()
        expect("private" not in f"{caught.error} {caught.error!r}", f"{kind.__name__} shows text of an entry")


@THEME.case()
async def a_write_that_returned_has_landed(harness: Harness) -> None:
    """`Saved` is said when it is saved: another process finds it at once, not later."""
    store, other, scope = await harness.open(), await harness.open(), harness.scope()
    for number in range(10):
        key = f"note-{number}"
        await store.create(key, "about", "first", scope=scope)
        with refused(EntryExistsError, "another process's create"):
            await other.create(key, "about", "theirs", scope=None)
        await store.update(key, "about", "second", scope=scope)
        expect_equal(await keys_of(other), (key,), "another process's listing")
        expect_equal(await other.delete(key, scope=None), True, "another process's delete")
