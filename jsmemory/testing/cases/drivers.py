"""The six verbs of a driver, below the rules of the contract: atomic, exact, and never older than before."""

import asyncio
from collections.abc import Iterator
from functools import partial
from itertools import cycle
from typing import Final

from jsmemory.backend import Backend, Record
from jsmemory.errors import EntryExistsError, StaleEntryError, StoreFullError
from jsmemory.testing.case import Theme
from jsmemory.testing.expecting import expect, expect_equal, refused
from jsmemory.testing.harness import BackendHarness, Need
from jsmemory.testing.racing import cut_short, meanwhile, race

THEME = Theme[BackendHarness]("drivers")

_ROOM: Final = 1_024


@THEME.case()
async def a_value_is_moved_as_it_is(harness: BackendHarness) -> None:
    """A driver knows no format: what was inserted is loaded, byte for byte, by every other one too."""
    backend, other = await harness.drive(), await harness.drive()
    for number, value in enumerate((b"x", b"\0\xff\r\n", bytes(range(256)) * 271, _value("a", "b").value)):
        revision = await backend.insert(f"key-{number}", Record(value, "about"), capacity=_ROOM)
        for each in (backend, other):
            stored = await each.load(f"key-{number}")
            expect(stored is not None and stored.value == value, "the value is not the one that was inserted")
            expect(stored is not None and stored.revision == revision, "the revision is not the one that was given")


@THEME.case()
async def an_absent_key_loads_nothing(harness: BackendHarness) -> None:
    """Absence is an answer and not an error; a removed key is absent."""
    backend = await harness.drive()
    expect_equal(await backend.load("key"), None, "a load of what was never there")
    await backend.insert("key", _value("about", "text"), capacity=_ROOM)
    await backend.remove("key")
    expect_equal(await backend.load("key"), None, "a load of what was removed")
    expect_equal(await (await harness.drive()).load("key"), None, "another driver's load of what was removed")


@THEME.case()
async def a_replace_is_of_one_revision_only(harness: BackendHarness) -> None:
    """The condition is the driver's to keep, at the moment of the write: above it nothing can."""
    backend = await harness.drive()
    first = await backend.insert("key", _value("about", "first"), capacity=_ROOM)
    second = await backend.replace("key", _value("about", "second"), expected=first)
    for expected in (first, "", "0", "no such revision", "-1", f"{second}0"):
        with refused(StaleEntryError, f"replace of the revision {expected!r}") as caught:
            await backend.replace("key", _value("about", "blind"), expected=expected)
        expect_equal(caught.error.reason, "changed", "the reason")
    with refused(StaleEntryError, "replace of an absent key"):
        await backend.replace("absent", _value("about", "blind"), expected=second)
    expect_equal(await backend.load("absent"), None, "the absent key")
    expect_equal(await _text_of(backend, "key"), _value("about", "second").value, "the value")


@THEME.case()
async def a_revision_that_was_removed_is_replaced_by_nobody(harness: BackendHarness) -> None:
    """Removed, or removed and inserted anew with another value: the old revision names neither."""
    backend, other = await harness.drive(), await harness.drive()
    first = await backend.insert("key", _value("about", "first"), capacity=_ROOM)
    await other.remove("key")
    with refused(StaleEntryError, "replace of a removed value"):
        await backend.replace("key", _value("about", "blind"), expected=first)
    await other.insert("key", _value("about", "second"), capacity=_ROOM)
    with refused(StaleEntryError, "replace of a value made anew"):
        await backend.replace("key", _value("about", "blind"), expected=first)
    expect_equal(await _text_of(backend, "key"), _value("about", "second").value, "the value")


@THEME.case()
async def an_insert_is_refused_over_a_value(harness: BackendHarness) -> None:
    """Said also where there is no room: the key is there, and that is what matters to the caller."""
    backend = await harness.drive()
    await backend.insert("key", _value("about", "first"), capacity=1)
    for capacity in (1, 2, _ROOM):
        with refused(EntryExistsError, f"insert over a value with room for {capacity}"):
            await backend.insert("key", _value("about", "second"), capacity=capacity)
    expect_equal(await _text_of(backend, "key"), _value("about", "first").value, "the value")


@THEME.case()
async def an_insert_keeps_to_the_capacity(harness: BackendHarness) -> None:
    """So many and no more, whoever inserts; a removed value makes room for anybody."""
    backend, other = await harness.drive(), await harness.drive()
    for number in range(5):
        await (backend, other)[number % 2].insert(f"key-{number}", _value("about", "text"), capacity=5)
    for each in (backend, other):
        with refused(StoreFullError, "insert into a full keyspace") as caught:
            await each.insert("one-more", _value("about", "text"), capacity=5)
        expect_equal(caught.error.limit, 5, "the limit in the refusal")
        expect_equal(await each.load("one-more"), None, "what was refused")
    await other.remove("key-0")
    await backend.insert("one-more", _value("about", "text"), capacity=5)
    expect_equal(sorted(await _keys(backend)), ["key-1", "key-2", "key-3", "key-4", "one-more"], "the scan")


@THEME.case()
async def racing_inserts_of_one_key_have_one_winner(harness: BackendHarness) -> None:
    """Exactly one, every time, over nothing and over what was removed."""
    drivers = [await harness.drive() for _ in range(3)]
    for _ in range(6):
        through, refusals = await race(
            drivers[number % 3].insert("key", _value("about", f"text {number}"), capacity=_ROOM) for number in range(9)
        )
        expect_equal(len(through), 1, "how many inserts came through")
        expect(all(isinstance(each, EntryExistsError) for each in refusals), f"the refusals were {refusals!r}")
        stored = await drivers[0].load("key")
        expect(stored is not None and stored.revision == through[0], "the value is not the winner's")
        await drivers[1].remove("key")


@THEME.case()
async def racing_inserts_never_exceed_the_capacity(harness: BackendHarness) -> None:
    """At rest, after a race for the last places by drivers that had not counted before, none too many is there."""
    drivers = [await harness.drive() for _ in range(3)]
    for number in range(3):
        await drivers[0].insert(f"there-{number}", _value("about", "text"), capacity=_ROOM)
    through, refusals = await race(
        drivers[number % 3].insert(f"racer-{number}", _value("about", "text"), capacity=6) for number in range(12)
    )
    expect(all(isinstance(each, StoreFullError) for each in refusals), f"the refusals were {refusals!r}")
    expect_equal(len(through), 3, "how many inserts came through")
    expect_equal(len(await _keys(drivers[1])), 6, "how many keys hold a value")


@THEME.case()
async def racing_replaces_of_one_revision_have_one_winner(harness: BackendHarness) -> None:
    """Exactly one, whichever conflict the backend reports to the others."""
    drivers = [await harness.drive() for _ in range(3)]
    revision = await drivers[0].insert("key", _value("about", "first"), capacity=_ROOM)
    for turn in range(10):
        expected = revision
        through, refusals = await race(
            drivers[number % 3].replace("key", _value("about", f"turn {turn}, {number}"), expected=expected)
            for number in range(9)
        )
        expect_equal(len(through), 1, "how many replaces came through")
        expect(all(isinstance(each, StaleEntryError) for each in refusals), f"the refusals were {refusals!r}")
        revision = through[0]
        stored = await drivers[turn % 3].load("key")
        expect(stored is not None and stored.revision == revision, "the value is not the winner's")


@THEME.case()
async def racing_removes_have_one_winner(harness: BackendHarness) -> None:
    """True for exactly one, and none of them removes a value that was inserted after."""
    drivers = [await harness.drive() for _ in range(3)]
    for number in range(6):
        await drivers[number % 3].insert("key", _value("about", f"text {number}"), capacity=_ROOM)
        answers, refusals = await race(drivers[caller % 3].remove("key") for caller in range(9))
        expect_equal((sum(answers), refusals), (1, []), "how many removes were answered with True")


@THEME.case()
async def a_load_shows_what_others_have_replaced(harness: BackendHarness) -> None:
    """A driver that keeps values must not give them out when another has replaced them, once it can know."""
    backend, other = await harness.drive(), await harness.drive()
    revision = await backend.insert("key", _value("about", "text 0"), capacity=_ROOM)
    await other.load("key")
    for number in range(1, 10):
        revision = await backend.replace("key", _value("about", f"text {number}"), expected=revision)
        expect_equal(await _text_of(backend, "key"), _value("about", f"text {number}").value, "the own value")
    await _until_shown(other, "key", revision)


@THEME.case()
async def a_scan_is_complete_while_values_are_replaced(harness: BackendHarness) -> None:
    """Each key once, however often its value moves while it is looked at."""
    backend, other = await harness.drive(), await harness.drive()
    keys = [f"key-{number:02}" for number in range(30)]
    revisions: dict[str, str] = {}
    for key in keys:
        revisions[key] = await other.insert(key, _value(f"about {key}", "first"), capacity=_ROOM)

    async def move(mine: Iterator[str]) -> None:
        key = next(mine)
        record = _value(f"about {key}", f"after {revisions[key]}")
        revisions[key] = await other.replace(key, record, expected=revisions[key])

    async with meanwhile(*(partial(move, cycle(keys[part::3])) for part in range(3))):
        for _ in range(15):
            await asyncio.sleep(0)
            items = await backend.scan()
            expect_equal(sorted(item.key for item in items), keys, "the keys")
            expect(all(item.description == f"about {item.key}" for item in items), "a description is another key's")


@THEME.case()
async def the_realm_is_the_keyspaces(harness: BackendHarness) -> None:
    """All drivers of a keyspace name one realm, before and after writes: authority then holds in every process."""
    backend = await harness.drive()
    before = backend.describe()
    await backend.insert("key", _value("about", "text"), capacity=_ROOM)
    await backend.load("key")
    expect_equal(backend.describe(), before, "the keyspace after a write")
    expect_equal((await harness.drive()).describe(), before, "the keyspace as another driver names it")
    expect(bool(before.realm), "the realm has no name")


@THEME.case(Need.RECREATE)
async def a_keyspace_made_anew_is_another_realm(harness: BackendHarness) -> None:
    """Same name, other keyspace: its revisions begin again, so the authority over the old ones must not fit."""
    before = (await harness.drive()).describe()
    await harness.recreate()
    after = (await harness.drive()).describe()
    expect(after.realm != before.realm, "the keyspace made anew has the realm of the old one")
    expect_equal((after.backend, after.location), (before.backend, before.location), "its name and location")


@THEME.case()
async def a_cancelled_verb_leaves_the_old_value_or_the_new(harness: BackendHarness) -> None:
    """Cut short at any point, it leaves nothing behind that a later verb could stumble over."""
    backend, other = await harness.drive(), await harness.drive()
    for moment in (0, 1, 2, 3, 5, 8, 13, 21):
        key, old, new = f"key-{moment}", _value("about", "old"), _value("about", "new" * 9_000)
        revision = await backend.insert(key, old, capacity=_ROOM)
        await cut_short(backend.replace, key, new, expected=revision, after=moment)
        expect(await _text_of(other, key) in (old.value, new.value), "a cancelled replace left something else")
        await cut_short(backend.remove, key, after=moment)
        expect(await _text_of(other, key) in (None, old.value, new.value), "a cancelled remove left something else")
        await cut_short(backend.insert, f"{key}-new", new, capacity=_ROOM, after=moment)
        expect(await _text_of(other, f"{key}-new") in (None, new.value), "a cancelled insert left something else")
        await race([backend.insert(f"{key}-new", new, capacity=_ROOM)])
        expect(f"{key}-new" in await _keys(other), "a key that was inserted is not in the scan")


def _value(description: str, content: str) -> Record:
    return Record(f'---\ndescription: "{description}"\n---\n\n{content}'.encode(), description)


async def _text_of(backend: Backend, key: str) -> bytes | None:
    stored = await backend.load(key)
    return None if stored is None else stored.value


async def _keys(backend: Backend) -> list[str]:
    return [item.key for item in await backend.scan()]


async def _until_shown(backend: Backend, key: str, revision: str) -> None:
    # Another process may be shown an older value for a moment, where replicas lag.
    for _ in range(500):
        stored = await backend.load(key)
        if stored is not None and stored.revision == revision:
            return
        await asyncio.sleep(0.01)
    expect(False, "another driver does not come to see the newest value")
