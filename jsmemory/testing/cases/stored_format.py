"""The stored bytes: one format in every backend, that other programs read."""

from jsmemory import frontmatter
from jsmemory.limits import MAX_ENTRY_BYTES, MAX_HEADER_BYTES
from jsmemory.testing.case import Theme
from jsmemory.testing.corpora import CONTENTS, DESCRIPTIONS
from jsmemory.testing.expecting import expect, expect_equal
from jsmemory.testing.harness import Harness, Need

THEME = Theme[Harness]("stored_format")


@THEME.case(Need.PEEK)
async def a_value_is_a_header_of_one_line_and_the_content_verbatim(harness: Harness) -> None:
    """Another program, or an editor, finds Markdown with front matter, and every byte of the content."""
    store, scope = await harness.open(), harness.scope()
    await store.create("note", "about", "text", scope=scope)
    pairs = [(line, "text") for _, line in DESCRIPTIONS] + [("about", content) for content in CONTENTS]
    for description, content in pairs:
        await store.update("note", description, content, scope=scope)
        value = await harness.peek("note") or b""
        expect(value.startswith(b"---\ndescription: "), f"the value begins with {value[:20]!r}")
        header, delimiter, rest = value.partition(b"\n---\n\n")
        expect(bool(delimiter), "the header has no end")
        expect_equal(header.count(b"\n"), 1, f"the lines of a header for {description[:20]!r}")
        expect_equal(rest, content.encode(), "the bytes after the header")
        expect_equal(frontmatter.parse(value)[0], description, "the description in the header")


@THEME.case(Need.PEEK)
async def no_value_is_larger_than_operators_are_told(harness: Harness) -> None:
    """A bucket that is capped at exactly the advised size takes every legal entry, whatever needs an escape."""
    store, scope = await harness.open(), harness.scope()
    await store.create("note", "about", "text", scope=scope)
    for _, line in DESCRIPTIONS:
        await store.update("note", line, "x" * 65_536, scope=scope)
        size = len(await harness.peek("note") or b"")
        expect(size <= MAX_ENTRY_BYTES, f"a value has {size} bytes")
        expect(size - 65_536 <= MAX_HEADER_BYTES, f"a header has {size - 65_536} bytes")


@THEME.case(Need.PEEK, Need.PLANT)
async def a_value_means_the_same_in_every_keyspace(harness: Harness) -> None:
    """A backup that copies bytes from one backend to another copies the entries."""
    store = await harness.open()
    for number, (given, _) in enumerate(DESCRIPTIONS):
        await store.create(f"d{number:02}", given, "text\n---\n", scope=None)
        await harness.plant(f"copy-{number:02}", await harness.peek(f"d{number:02}") or b"")
    copies = [item.description for item in await store.list() if item.key.startswith("copy-")]
    expect_equal(copies, [wanted for _, wanted in DESCRIPTIONS], "the descriptions of the copies")
    for number, (_, wanted) in enumerate(DESCRIPTIONS):
        expect_equal(tuple(await store.read(f"copy-{number:02}", scope=None)), (wanted, "text\n---\n"), "a copy")
