"""The key grammar, as every method keeps it."""

from typing import Any

from jsmemory.errors import InvalidKeyError
from jsmemory.testing.case import Theme
from jsmemory.testing.corpora import ILLEGAL_KEYS, LEGAL_KEYS
from jsmemory.testing.expecting import expect_equal, expect_value, keys_of, refused
from jsmemory.testing.harness import Harness
from jsmemory.testing.racing import race

THEME = Theme[Harness]("keys")


@THEME.case()
async def every_legal_key_holds_an_entry(harness: Harness) -> None:
    """A legal key is one flat name in every backend: what a model may call a note, it can store, read and delete."""
    store = await harness.open()
    keys = [key for key in LEGAL_KEYS if key != "A"]
    for key in keys:
        await store.create(key, f"about {key[:20]}", f"text of {key}", scope=None)
    for key in keys:
        await expect_value(store, key, f"about {key[:20]}", f"text of {key}", f"key {key[:20]!r}")
    expect_equal(await keys_of(store), tuple(sorted(keys)), "the listing")
    deleted, _ = await race(store.delete(key, scope=None) for key in keys)
    expect_equal(deleted, [True] * len(keys), "the deletes")
    expect_equal(await keys_of(store), (), "the listing after the deletes")


@THEME.case()
async def keys_that_differ_in_case_are_two_keys(harness: Harness) -> None:
    """`Build` and `build` are two notes: a file system that merges them would show one agent's text under the other."""
    store = await harness.open()
    await store.create("Build", "upper", "upper text", scope=None)
    await store.create("build", "lower", "lower text", scope=None)
    await expect_value(store, "Build", "upper", "upper text", "Build")
    await store.delete("Build", scope=None)
    await expect_value(store, "build", "lower", "lower text", "build, after Build was deleted")


@THEME.case()
async def reading_refuses_an_illegal_key(harness: Harness) -> None:
    """A key with a slash or a wildcard must not reach a directory or a subject; it is no unavailable backend either."""
    store = await harness.open()
    for key in _illegal():
        with refused(InvalidKeyError, f"read of {_shown(key)}"):
            await store.read(key, scope=harness.scope())


@THEME.case()
async def creating_refuses_an_illegal_key(harness: Harness) -> None:
    """What is stored under an illegal key could never be listed or read again."""
    store = await harness.open()
    for key in _illegal():
        with refused(InvalidKeyError, f"create of {_shown(key)}"):
            await store.create(key, "about", "text", scope=harness.scope())
    expect_equal(await keys_of(store), (), "the listing")


@THEME.case()
async def updating_refuses_an_illegal_key(harness: Harness) -> None:
    """With the guard off an update writes at once, so the key is all that stands between a model and a path."""
    for store in (await harness.open(), await harness.open(require_read_before_update=False)):
        for key in _illegal():
            with refused(InvalidKeyError, f"update of {_shown(key)}"):
                await store.update(key, "about", "text", scope=harness.scope())
        expect_equal(await keys_of(store), (), "the listing")


@THEME.case()
async def deleting_refuses_an_illegal_key(harness: Harness) -> None:
    """A delete of `*` or `../x` that is carried out would destroy a stranger's file."""
    store = await harness.open()
    await store.create("stays", "about", "text", scope=None)
    for key in _illegal():
        with refused(InvalidKeyError, f"delete of {_shown(key)}"):
            await store.delete(key, scope=harness.scope())
    expect_equal(await keys_of(store), ("stays",), "the listing")


def _illegal() -> tuple[Any, ...]:
    return ILLEGAL_KEYS


def _shown(key: object) -> str:
    return repr(key)[:40]
