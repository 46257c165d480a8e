"""Values that another program wrote or a person edited: readable, untouched, and never an error."""

from jsmemory.errors import EntryExistsError, StaleEntryError
from jsmemory.testing.case import Theme
from jsmemory.testing.corpora import FOREIGN_VALUES, NAMES_OF_OTHERS
from jsmemory.testing.expecting import expect, expect_equal, expect_nothing, expect_value, keys_of, refused
from jsmemory.testing.harness import Harness, Need

THEME = Theme[Harness]("foreign")


@THEME.case(Need.PLANT)
async def a_value_without_a_valid_header_is_all_content(harness: Harness) -> None:
    """A note that a person put there by hand is read, with or without a header, and never makes a read fail."""
    for number, (value, _, _) in enumerate(FOREIGN_VALUES):
        await harness.plant(f"f{number:02}", value)
    store = await harness.open()
    for number, (value, description, content) in enumerate(FOREIGN_VALUES):
        await expect_value(store, f"f{number:02}", description, content, f"the value {value!r}")


@THEME.case(Need.PLANT)
async def a_planted_entry_is_listed_as_it_reads(harness: Harness) -> None:
    """One bad value must neither hide the others nor stop the index."""
    for number, (value, _, _) in enumerate(FOREIGN_VALUES):
        await harness.plant(f"f{number:02}", value)
    store = await harness.open()
    await store.create("ours", "about", "text", scope=None)
    expect_equal(
        [(item.key, item.description) for item in await store.list()],
        [(f"f{number:02}", description) for number, (_, description, _) in enumerate(FOREIGN_VALUES)]
        + [("ours", "about")],
        "the listing",
    )


@THEME.case(Need.PLANT, Need.PEEK)
async def a_broken_header_stays_as_it_is(harness: Harness) -> None:
    """Reading and listing repair nothing: the person who broke it still finds every byte."""
    for number, (value, _, _) in enumerate(FOREIGN_VALUES):
        await harness.plant(f"f{number:02}", value)
    store = await harness.open()
    for number, (value, _, _) in enumerate(FOREIGN_VALUES):
        await store.read(f"f{number:02}", scope=harness.scope())
        with refused(EntryExistsError, "create over a planted entry"):
            await store.create(f"f{number:02}", "about", "text", scope=harness.scope())
        await store.list()
        expect_equal(await harness.peek(f"f{number:02}"), value, "the stored value")


@THEME.case(Need.PLANT)
async def a_planted_entry_is_an_entry(harness: Harness) -> None:
    """It can be read, then updated, and deleted, like any other."""
    await harness.plant("note", b"by hand")
    store, scope = await harness.open(), harness.scope()
    await store.read("note", scope=scope)
    await store.update("note", "about", "text", scope=scope)
    await expect_value(store, "note", "about", "text", "after an update")
    await harness.plant("other", b"by hand")
    expect_equal(await store.delete("other", scope=None), True, "the delete")
    await expect_nothing(store, "other", "after the delete")
    await store.create("other", "about", "text", scope=None)
    await expect_value(store, "other", "about", "text", "after a create")


@THEME.case(Need.PLANT)
async def an_edit_past_the_store_is_a_change(harness: Harness) -> None:
    """A person edits the note while a run works on it: the run's update must not undo the edit."""
    store, scope = await harness.open(), harness.scope()
    await store.create("note", "about", "text", scope=scope)
    await harness.plant("note", b"---\ndescription: edited\n---\n\nby hand")
    with refused(StaleEntryError, "update over an edit"):
        await store.update("note", "about", "blind", scope=scope)
    await expect_value(store, "note", "edited", "by hand", "after the refusal")


@THEME.case(Need.PLANT)
async def what_is_no_key_is_invisible(harness: Harness) -> None:
    """A name that cannot be read or deleted must not be listed either: a model would try it for ever."""
    for name in NAMES_OF_OTHERS:
        await harness.plant(name, b"not ours")
    await harness.plant("ours", b"ours")
    store = await harness.open()
    expect_equal(await keys_of(store), ("ours",), "the listing")


@THEME.case(Need.PLANT)
async def a_value_larger_than_an_entry_can_be_read(harness: Harness) -> None:
    """Limits are for what is written here: what is there is shown whole, not cut and not refused."""
    text = "line of text\n" * 8_000
    await harness.plant("large", f"---\ndescription: large\n---\n\n{text}".encode())
    store = await harness.open()
    await expect_value(store, "large", "large", text, "a large value")
    expect("large" in await keys_of(store), "a large value is not listed")
