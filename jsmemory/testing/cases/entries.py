"""What goes in comes out: descriptions on one line, contents byte for byte."""

from typing import Any

from jsmemory.errors import EntryTooLargeError, InvalidEntryError
from jsmemory.testing.case import Theme
from jsmemory.testing.corpora import (
    CONTENTS,
    CONTENTS_TOO_LARGE,
    DESCRIPTIONS,
    EMPTY_DESCRIPTIONS,
    LONE_SURROGATES,
    NO_TEXT,
)
from jsmemory.testing.expecting import expect, expect_equal, expect_nothing, expect_value, refused
from jsmemory.testing.harness import Harness

THEME = Theme[Harness]("entries")


@THEME.case()
async def an_entry_comes_back_as_it_was_written(harness: Harness) -> None:
    """A note is read on a later run, by another process: description and content are what was created."""
    await (await harness.open()).create("note", "what it is about", "the text\n", scope=None)
    entry = await (await harness.open()).read("note", scope=None)
    expect_equal((entry.key, entry.description, entry.content), ("note", "what it is about", "the text\n"), "the entry")
    description, content = entry
    expect_equal((description, content), ("what it is about", "the text\n"), "the entry, unpacked")
    expect(bool(entry.revision) and isinstance(entry.revision, str), "the revision is no token")


@THEME.case()
async def a_description_becomes_one_line(harness: Harness) -> None:
    """An index shows one line an entry: a line break or an escape would forge a second one."""
    store = await harness.open()
    for number, (given, _) in enumerate(DESCRIPTIONS):
        await store.create(f"d{number:02}", given, "text", scope=None)
    for number, (given, wanted) in enumerate(DESCRIPTIONS):
        await expect_value(store, f"d{number:02}", wanted, "text", f"the description {given[:20]!r}")


@THEME.case()
async def an_update_normalises_the_description_too(harness: Harness) -> None:
    """A rule that only creates keep is none."""
    store, scope = await harness.open(), harness.scope()
    await store.create("note", "first", "text", scope=scope)
    for given, wanted in DESCRIPTIONS:
        await store.update("note", given, f"text {given[:9]}", scope=scope)
        await expect_value(store, "note", wanted, f"text {given[:9]}", f"the description {given[:20]!r}")


@THEME.case()
async def a_content_comes_back_byte_for_byte(harness: Harness) -> None:
    """A body that holds the header's delimiter, a carriage return or a byte order mark is text like any other."""
    store = await harness.open()
    for number, content in enumerate(CONTENTS):
        await store.create(f"c{number:02}", "about", content, scope=None)
    other = await harness.open()
    for number, content in enumerate(CONTENTS):
        await expect_value(other, f"c{number:02}", "about", content, f"the content {content[:20]!r}")


@THEME.case()
async def the_largest_entry_fits(harness: Harness) -> None:
    """Every legal description fits above a full body: also 500 characters of which each needs an escape."""
    store, scope = await harness.open(), harness.scope()
    longest = [line for _, line in DESCRIPTIONS if len(line) == 500]
    await store.create("note", longest[0], "x" * 65_536, scope=scope)
    for number, line in enumerate(longest):
        content = f"{number:02}" + "x" * 65_534
        await store.update("note", line, content, scope=scope)
        await expect_value(store, "note", line, content, f"a full entry described by {line[:3]!r}...")


@THEME.case()
async def a_content_over_the_limit_is_refused_whole(harness: Harness) -> None:
    """Nothing is ever cut: a note that silently lost its end would be believed. The limit is bytes, not characters."""
    store, scope = await harness.open(), harness.scope()
    await store.create("there", "about", "text", scope=scope)
    for content in CONTENTS_TOO_LARGE:
        with refused(EntryTooLargeError, f"create of {len(content)} characters") as caught:
            await store.create("note", "about", content, scope=scope)
        size = len(content.encode())
        expect_equal((caught.error.size, caught.error.limit), (size, 65_536), "the facts of the refusal")
        with refused(EntryTooLargeError, f"update to {len(content)} characters"):
            await store.update("there", "about", content, scope=scope)
    await expect_nothing(store, "note", "a refused create")
    await expect_value(store, "there", "about", "text", "a refused update")


@THEME.case()
async def an_empty_description_is_refused(harness: Harness) -> None:
    """An entry that an index cannot describe is never found again."""
    store, scope = await harness.open(), harness.scope()
    await store.create("there", "about", "text", scope=scope)
    for description in EMPTY_DESCRIPTIONS:
        with refused(InvalidEntryError, f"create with the description {description!r}") as caught:
            await store.create("note", description, "text", scope=scope)
        expect_equal(caught.error.field, "description", "the field")
        with refused(InvalidEntryError, f"update to the description {description!r}"):
            await store.update("there", description, "text", scope=scope)
    await expect_nothing(store, "note", "a refused create")
    await expect_value(store, "there", "about", "text", "a refused update")


@THEME.case()
async def what_is_no_text_is_refused_in_clear_words(harness: Harness) -> None:
    """Half a surrogate pair, or a list where text belongs, is the caller's mistake and not an unavailable backend."""
    store, scope = await harness.open(), harness.scope()
    await store.create("there", "about", "text", scope=scope)
    wrong: tuple[Any, ...] = (*LONE_SURROGATES, *NO_TEXT)
    for text in wrong:
        with refused(InvalidEntryError, f"create with the content {text!r}") as caught:
            await store.create("note", "about", text, scope=scope)
        expect_equal(caught.error.field, "content", "the field")
        with refused(InvalidEntryError, f"create with the description {text!r}") as caught:
            await store.create("note", text, "text", scope=scope)
        expect_equal(caught.error.field, "description", "the field")
        with refused(InvalidEntryError, f"update to the content {text!r}"):
            await store.update("there", "about", text, scope=scope)
    await expect_nothing(store, "note", "a refused create")
    await expect_value(store, "there", "about", "text", "a refused update")


@THEME.case()
async def an_update_replaces_the_whole_value(harness: Harness) -> None:
    """A shorter text leaves no tail of the longer one, and no old description stays behind."""
    store, scope = await harness.open(), harness.scope()
    await store.create("note", "a long description, first", "long " * 9_000, scope=scope)
    await store.update("note", "short", "s", scope=scope)
    await expect_value(store, "note", "short", "s", "after a shorter value")
    await store.update("note", "empty", "", scope=scope)
    await expect_value(await harness.open(), "note", "empty", "", "after an empty value")


@THEME.case()
async def a_revision_changes_with_every_value(harness: Harness) -> None:
    """A revision that two values share would let a run overwrite the one that it never saw."""
    store, scope = await harness.open(), harness.scope()
    await store.create("note", "about", "text 0", scope=scope)
    revisions = [(await store.read("note", scope=scope)).revision]
    for number in range(1, 6):
        await store.update("note", "about", f"text {number}", scope=scope)
        revisions.append((await store.read("note", scope=scope)).revision)
    await store.update("note", "about something else", "text 5", scope=scope)
    revisions.append((await store.read("note", scope=scope)).revision)
    expect_equal(len(set(revisions)), len(revisions), "how many revisions differ")
    same = (await (await harness.open()).read("note", scope=None)).revision
    expect_equal(same, revisions[-1], "the revision as another process reads it")


@THEME.case()
async def nothing_shows_a_content_but_a_read(harness: Harness) -> None:
    """Logs and traces take `repr` and messages as they are: a secret that a note holds must not be in them."""
    store, scope = await harness.open(), harness.scope()
    hidden = "correct horse battery staple"
    await store.create("note", "about", hidden, scope=scope)
    entry = await store.read("note", scope=scope)
    shown = [repr(entry), repr(await store.list()), repr(scope), repr(store), repr(store.info())]
    with refused(EntryTooLargeError, "create of a content that is too large") as large:
        await store.create("large", "about", hidden * 3_000, scope=scope)
    with refused(InvalidEntryError, "create with half a surrogate pair") as half:
        await store.create("half", "about", f"{hidden}\ud800", scope=scope)
    for text in (*shown, *map(_told, (large.error, half.error))):
        expect(hidden not in text, "a content is shown")


def _told(error: BaseException) -> str:
    context = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return f"{error!s} {error!r}" + ("" if context is None else f" {_told(context)}")
