"""Many tasks and many processes at once: somebody always gets on, and nobody's write is lost."""

from jsmemory.errors import EntryExistsError, EntryNotFoundError, StaleEntryError
from jsmemory.scope import Scope
from jsmemory.store import Store
from jsmemory.testing.case import Theme
from jsmemory.testing.expecting import expect, expect_equal, expect_value, keys_of
from jsmemory.testing.harness import Harness
from jsmemory.testing.racing import change, race

THEME = Theme[Harness]("concurrency")


@THEME.case()
async def of_all_who_create_one_key_one_did(harness: Harness) -> None:
    """Two agents that both believe to own a note overwrite each other from then on."""
    stores = [await harness.open(), await harness.open()]
    for round_number in range(4):
        key = f"note-{round_number}"
        through, refusals = await race(
            _create(stores[caller % 2], key, f"text of {caller}", harness.scope()) for caller in range(10)
        )
        expect_equal(len(through), 1, "how many creates came through")
        expect(all(isinstance(each, EntryExistsError) for each in refusals), f"the refusals were {refusals!r}")
        await expect_value(stores[0], key, "about", through[0], "the entry")


@THEME.case()
async def of_all_who_create_a_deleted_key_one_did(harness: Harness) -> None:
    """The same, over a tombstone: it too is replaced once only."""
    stores = [await harness.open(), await harness.open()]
    await stores[0].create("note", "about", "first", scope=None)
    for _ in range(4):
        await stores[1].delete("note", scope=None)
        through, refusals = await race(
            _create(stores[caller % 2], "note", f"text of {caller}", harness.scope()) for caller in range(10)
        )
        expect_equal(len(through), 1, "how many creates came through")
        expect(all(isinstance(each, EntryExistsError) for each in refusals), f"the refusals were {refusals!r}")
        await expect_value(stores[0], "note", "about", through[0], "the entry")


@THEME.case()
async def of_all_who_update_one_revision_one_did(harness: Harness) -> None:
    """All have read the same text and all write a new one: all but one must be told, and may not try again unread."""
    stores = [await harness.open(), await harness.open()]
    await stores[0].create("note", "about", "first", scope=None)
    scopes = [harness.scope() for _ in range(10)]
    for scope, store in zip(scopes, stores * 5, strict=True):
        await store.read("note", scope=scope)
    through, refusals = await race(
        _update(store, f"text {number}", scope)
        for number, (scope, store) in enumerate(zip(scopes, stores * 5, strict=True))
    )
    expect_equal(len(through), 1, "how many updates came through")
    for refusal in refusals:
        expect(isinstance(refusal, StaleEntryError) and refusal.reason == "changed", f"a refusal was {refusal!r}")
    await expect_value(stores[1], "note", "about", through[0], "the entry")
    losers = [scope for number, scope in enumerate(scopes) if through != [f"text {number}"]]
    again, _ = await race(_update(stores[0], "blind", scope) for scope in losers)
    expect_equal(again, [], "updates that came through although they had been refused before")


@THEME.case()
async def ten_increments_by_five_runs_make_fifty(harness: Harness) -> None:
    """Runs that read, add and write, and read again when they are refused, lose nothing that any of them added."""
    stores = [await harness.open(), await harness.open()]
    await stores[0].create("count", "how many", "0", scope=None)

    async def count_to_ten(store: Store) -> None:
        scope = harness.scope()
        for _ in range(10):
            await change(store, "count", scope, lambda content: str(int(content) + 1))

    await race(count_to_ten(stores[run % 2]) for run in range(5))
    await expect_value(stores[0], "count", "how many", "50", "the count")


@THEME.case()
async def with_the_guard_off_every_update_lands(harness: Harness) -> None:
    """Unconditional writes race without refusing each other, and one of them is what stays."""
    stores = [await harness.open(require_read_before_update=False) for _ in range(2)]
    texts = [f"text {number}" for number in range(10)]
    _, refusals = await race(
        stores[number % 2].update("note", "about", text, scope=None) for number, text in enumerate(texts)
    )
    expect_equal(refusals, [], "the refusals")
    _, content = await stores[0].read("note", scope=None)
    expect(content in texts, f"the entry holds {content!r}, which nobody wrote")


@THEME.case()
async def a_reader_never_sees_a_mixture(harness: Harness) -> None:
    """The old value or the new one: half of each would be a text that nobody wrote."""
    store, other, scope = await harness.open(), await harness.open(), harness.scope()
    await store.create("note", "a", "a" * 60_000, scope=scope)
    done = False

    async def write() -> None:
        nonlocal done
        for letter in "bcdefghijklm":
            await store.update("note", letter, letter * (60_000 - ord(letter)), scope=scope)
        done = True

    async def read() -> None:
        while not done:
            description, content = await other.read("note", scope=None)
            length = 60_000 if description == "a" else 60_000 - ord(description)
            expect(content == description * length, "a read shows a mixture of two values")

    await race((write(), read(), read()))
    expect(done, "the writer did not come to its end")


@THEME.case()
async def creates_updates_and_deletes_side_by_side_end_in_a_state_that_somebody_wrote(harness: Harness) -> None:
    """Whatever a fleet does to one key at once, it holds in the end what its last writer wrote, or nothing."""
    stores = [await harness.open(), await harness.open()]
    written: set[str] = set()

    async def meddle(store: Store, name: str) -> None:
        scope = harness.scope()
        for number in range(8):
            text = f"{name} {number}"
            written.add(text)
            await race([_create(store, "note", text, scope)])
            await race([store.read("note", scope=scope)])
            await race([_update(store, text, scope)])
            if number % 3 == 2:
                await store.delete("note", scope=scope)

    await race(meddle(stores[run % 2], f"run {run}") for run in range(4))
    listed = await keys_of(stores[0])
    try:
        _, content = await stores[1].read("note", scope=None)
    except EntryNotFoundError:
        expect_equal(listed, (), "the listing of an empty store")
    else:
        expect_equal(listed, ("note",), "the listing of a store of one entry")
        expect(content in written, f"the entry holds {content!r}, which nobody wrote")


async def _create(store: Store, key: str, content: str, scope: Scope) -> str:
    await store.create(key, "about", content, scope=scope)
    return content


async def _update(store: Store, content: str, scope: Scope) -> str:
    await store.update("note", "about", content, scope=scope)
    return content
