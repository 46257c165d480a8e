"""Within one store object nothing is ever older than what it has shown or written."""

from jsmemory.errors import EntryExistsError
from jsmemory.testing.case import Theme
from jsmemory.testing.expecting import expect, expect_equal, expect_nothing, expect_value, refused
from jsmemory.testing.harness import Harness

THEME = Theme[Harness]("sessions")


@THEME.case()
async def a_store_reads_its_own_writes(harness: Harness) -> None:
    """A follower that lags would answer with the old text, or with `not found`, right after the write was confirmed."""
    store, scope = await harness.open(), harness.scope()
    for number in range(40):
        await store.create(f"note-{number}", "about", "first", scope=scope)
        await expect_value(store, f"note-{number}", "about", "first", "right after a create")
        await store.update(f"note-{number}", "about", "second", scope=scope)
        await expect_value(store, f"note-{number}", "about", "second", "right after an update")


@THEME.case()
async def a_store_does_not_read_what_it_has_deleted(harness: Harness) -> None:
    """A deleted note that a lagging follower still shows would be injected once more."""
    store = await harness.open()
    for number in range(20):
        await store.create("note", "about", f"text {number}", scope=None)
        expect_equal(await store.delete("note", scope=None), True, "the delete of an entry just created")
        await expect_nothing(store, "note", "right after a delete")


@THEME.case()
async def a_store_never_goes_back_in_time(harness: Harness) -> None:
    """Two reads one after the other, with another process writing: the second is never the older one."""
    reader, writer, scope = await harness.open(), await harness.open(), harness.scope()
    await writer.create("note", "about", "0", scope=scope)
    seen = -1
    for number in range(1, 40):
        await writer.update("note", "about", str(number), scope=scope)
        for _ in range(2):
            shown = int((await reader.read("note", scope=None)).content)
            expect(shown >= seen, f"a read shows {shown} after {seen}")
            seen = shown


@THEME.case()
async def a_delete_right_after_a_write_of_anybody_is_carried_out(harness: Harness) -> None:
    """A delete that first asks a lagging follower finds nothing, answers False, and leaves the note there."""
    store, other = await harness.open(), await harness.open()
    for number in range(25):
        await store.create("note", "about", f"text {number}", scope=None)
        expect_equal(await other.delete("note", scope=None), True, "another process's delete")
        await expect_nothing(other, "note", "after the delete")


@THEME.case()
async def a_create_right_after_a_write_of_anybody_is_refused(harness: Harness) -> None:
    """The check is the write's own, not a read's before it."""
    store, other = await harness.open(), await harness.open()
    for number in range(20):
        await store.create(f"note-{number}", "about", "mine", scope=None)
        with refused(EntryExistsError, "another process's create"):
            await other.create(f"note-{number}", "about", "theirs", scope=None)
