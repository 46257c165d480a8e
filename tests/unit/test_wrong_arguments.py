"""What a host passes in the wrong place is refused in words, as what an operator writes is."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from jsmemory import (
    BucketRecipe,
    FileStore,
    Info,
    InProcessStore,
    InvalidOptionsError,
    JetStreamJournal,
    JetStreamStore,
    Store,
    apply_recipe,
    compact_bucket,
    examine_bucket,
    list_prefixes,
    open_store,
)
from jsmemory.layers.read_only import ReadOnlyStore
from jsmemory.layers.wrapping import WrappingStore


async def refused(store: Any, options: Any) -> InvalidOptionsError:
    with pytest.raises(InvalidOptionsError) as error:
        await open_store({"options": options}, identity="alice", store=store)
    assert error.value.remedy.endswith(".")
    return error.value


# -- A store that was opened already ---------------------------------------------------------


async def test_an_unknown_option_is_refused_for_a_passed_store_too(tmp_path: Path) -> None:
    """An operator who mistypes an option must not run without it, whoever opened the store."""
    for store in (InProcessStore(), await FileStore.open(tmp_path)):
        error = await refused(store, {"zzz": 1})
        assert (error.option, error.problem) == ("options.zzz", "is not known")
    assert (await refused(await FileStore.open(tmp_path), {"prefix": 5})).option == "options.prefix"


async def test_another_prefix_than_that_of_a_passed_store_is_refused(tmp_path: Path) -> None:
    """An operator who keeps two agents apart would find their notes in one place."""
    store = await FileStore.open(tmp_path, prefix="alice")
    for passed in (store, ReadOnlyStore(store)):
        for prefix in ("bob", ""):
            error = await refused(passed, {"prefix": prefix})
            assert error.option == "options.prefix"
            assert "'alice'" in str(error)
        opened = await open_store({"options": {"prefix": "alice"}}, identity="carol", store=passed)
        assert opened is passed


async def test_options_that_nobody_can_check_are_refused() -> None:
    """A host's own store has options of its own; nobody can tell whether these are they."""

    class Own(WrappingStore):
        def info(self) -> Info:
            return Info("own", "")

    error = await refused(Own(InProcessStore()), {"bucket": "team"})
    assert error.option == "options"
    assert "team" not in str(error)


@pytest.mark.parametrize("store", [5, "memory", InProcessStore], ids=str)
async def test_what_is_no_store_is_refused_as_such(store: Any) -> None:
    """An AttributeError out of the depths tells a host nothing."""
    error = await refused(store, {})
    assert error.option == "store"


async def test_a_store_that_nobody_has_awaited_is_refused_as_such(tmp_path: Path) -> None:
    """The mistake that is made most often."""
    opening = FileStore.open(tmp_path)
    try:
        assert "awaited" in (await refused(opening, {})).remedy
    finally:
        opening.close()


# -- A connection ----------------------------------------------------------------------------

WAYS: dict[str, Callable[[Any], Awaitable[Any]]] = {
    "a store": lambda nc: JetStreamStore.bind(nc, "team"),
    "a configured store": lambda nc: open_store(
        {"backend": "jetstream", "options": {"bucket": "team"}}, identity="alice", nats=nc
    ),
    "a journal": lambda nc: JetStreamJournal.bind(nc, "runs"),
    "a doctor": lambda nc: examine_bucket(nc, "team"),
    "prefixes": lambda nc: list_prefixes(nc, "team"),
    "a compaction": lambda nc: compact_bucket(nc, "team"),
    "a recipe": lambda nc: apply_recipe(nc, BucketRecipe(bucket="team")),
}


@pytest.mark.parametrize("connection", [None, "nats://localhost", 5], ids=str)
@pytest.mark.parametrize("way", WAYS)
async def test_what_is_no_connection_is_refused_as_such(way: str, connection: Any) -> None:
    """Who passes the URL, or forgets to connect, should not have to read the source."""
    with pytest.raises(InvalidOptionsError) as error:
        await WAYS[way](connection)
    assert error.value.option == "nats"
    assert "jsmemory.connect()" in error.value.remedy


def test_a_store_says_its_prefix() -> None:
    """What it is held against."""
    store: Store = InProcessStore()
    assert isinstance(store, InProcessStore)
    assert store.prefix is None
