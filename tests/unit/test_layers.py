"""Layers: what forwards, what refuses, and what tries again."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from jsmemory.backends.in_process import InProcessStore
from jsmemory.entries import Entry, Item
from jsmemory.errors import (
    BackendUnavailableError,
    EntryExistsError,
    IncompleteListingError,
    InvalidKeyError,
    JsMemoryError,
    OutcomeUnknownError,
    ReadOnlyStoreError,
    StaleEntryError,
)
from jsmemory.layers.read_only import ReadOnlyStore
from jsmemory.layers.retry import RetryingStore
from jsmemory.layers.wrapping import WrappingStore
from jsmemory.scope import Scope
from jsmemory.store import Info, Store

Layer = Callable[[Store], WrappingStore]

Write = Callable[[Store, str, Scope | None], Awaitable[object]]

WRITES: dict[str, Write] = {
    "create": lambda store, key, scope: store.create(key, "a line", "text", scope=scope),
    "update": lambda store, key, scope: store.update(key, "a line", "text", scope=scope),
    "delete": lambda store, key, scope: store.delete(key, scope=scope),
}


@pytest.fixture(params=WRITES)
def write(request: pytest.FixtureRequest) -> Write:
    return WRITES[request.param]


class Recorder(Store):
    """Answers from a script and keeps what it was asked."""

    def __init__(self, *answers: object) -> None:
        self.calls: list[tuple[Any, ...]] = []
        self._answers = list(answers)

    def _answer(self, *call: object) -> Any:
        self.calls.append(call)
        answer = self._answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    def info(self) -> Info:
        return Info("recorder", "here")

    async def list(self) -> tuple[Item, ...]:
        return self._answer("list")

    async def read(self, key: str, *, scope: Scope | None) -> Entry:
        return self._answer("read", key, scope)

    async def create(self, key: str, description: str, content: str, *, scope: Scope | None) -> None:
        return self._answer("create", key, description, content, scope)

    async def update(self, key: str, description: str, content: str, *, scope: Scope | None) -> None:
        return self._answer("update", key, description, content, scope)

    async def delete(self, key: str, *, scope: Scope | None) -> bool:
        return self._answer("delete", key, scope)


# -- Forwarding -----------------------------------------------------------------------------


@pytest.mark.parametrize("layer", [WrappingStore, RetryingStore])
async def test_a_layer_forwards_every_call_with_its_scope_and_gives_the_answer_back(layer: Layer) -> None:
    """A layer that lost the scope would turn every update into a refusal, or worse, into an overwrite."""
    scope, entry, items = Scope(), Entry("k", "a line", "text", "1"), (Item("k", "a line"),)
    inner = Recorder(items, entry, None, None, True)
    store = layer(inner)
    assert store.inner is inner
    assert store.info() == Info("recorder", "here")
    assert await store.list() is items
    assert await store.read("k", scope=scope) is entry
    await store.create("k", "a line", "text", scope=scope)
    await store.update("k", "another", "more", scope=None)
    assert await store.delete("k", scope=scope) is True
    assert inner.calls == [
        ("list",),
        ("read", "k", scope),
        ("create", "k", "a line", "text", scope),
        ("update", "k", "another", "more", None),
        ("delete", "k", scope),
    ]


# -- Read-only ------------------------------------------------------------------------------


async def test_a_read_only_store_reads_and_lists_and_lets_authority_be_earned() -> None:
    """Read-only memory that could not be read would be no memory."""
    inner, scope = InProcessStore(), Scope()
    await inner.create("note", "a line", "text", scope=None)
    store = ReadOnlyStore(inner)
    assert await store.list() == (Item("note", "a line"),)
    assert tuple(await store.read("note", scope=scope)) == ("a line", "text")
    await inner.update("note", "a line", "newer", scope=scope)


async def test_a_read_only_store_refuses_every_write_before_anything_is_asked(write: Write) -> None:
    """A fleet endpoint takes prompts from strangers, who would plant what a later run reads as its own note."""
    inner = Recorder()
    with pytest.raises(ReadOnlyStoreError):
        await write(ReadOnlyStore(inner), "note", Scope())
    assert inner.calls == []


async def test_a_refused_write_leaves_the_scope_as_it_was(write: Write) -> None:
    """Authority that a refusal took away would be missing in the store that the host writes through itself."""
    inner, scope = InProcessStore(), Scope()
    await inner.create("note", "a line", "text", scope=scope)
    before = scope.snapshot()
    with pytest.raises(ReadOnlyStoreError):
        await write(ReadOnlyStore(inner), "note", scope)
    assert scope.snapshot() == before


@pytest.mark.parametrize("key", ["", "a/b", "..", "k\n"])
async def test_a_malformed_key_is_told_as_such_also_where_nothing_can_be_written(write: Write, key: str) -> None:
    """Fault 37: whoever hears "read-only" about a malformed key carries the key to another store."""
    with pytest.raises(InvalidKeyError):
        await write(ReadOnlyStore(Recorder()), key, Scope())


# -- Trying again ---------------------------------------------------------------------------


class Sleeper:
    """Keeps the pauses instead of waiting."""

    def __init__(self) -> None:
        self.pauses: list[float] = []

    async def __call__(self, seconds: float) -> None:
        self.pauses.append(seconds)


def unavailable() -> BackendUnavailableError:
    return BackendUnavailableError("The server is away.")


async def test_what_failed_without_a_trace_is_tried_again_until_it_succeeds(write: Write) -> None:
    """A server that restarts would otherwise fail the turn of every run in the fleet."""
    inner = Recorder(unavailable(), unavailable(), True)
    await write(RetryingStore(inner, sleep=Sleeper()), "note", Scope())
    assert len(inner.calls) == 3
    assert inner.calls.count(inner.calls[0]) == 3


async def test_a_listing_that_was_not_complete_is_asked_for_again() -> None:
    """A host that composes an index at the start of a run would go without."""
    inner = Recorder(IncompleteListingError(), ())
    assert await RetryingStore(inner, sleep=Sleeper()).list() == ()


@pytest.mark.parametrize(
    "error",
    [OutcomeUnknownError("note"), StaleEntryError("note", "changed"), EntryExistsError("note"), ValueError("a bug")],
)
async def test_whatever_is_not_said_to_be_retryable_is_passed_on_at_once(write: Write, error: Exception) -> None:
    """A write whose outcome is unknown, sent again, would tell a caller about its own write that it exists."""
    inner, sleeper = Recorder(error), Sleeper()
    with pytest.raises(type(error)) as raised:
        await write(RetryingStore(inner, sleep=sleeper), "note", Scope())
    assert raised.value is error
    assert len(inner.calls) == 1
    assert sleeper.pauses == []


@pytest.mark.parametrize("attempts", [1, 2, 5])
async def test_attempts_are_bounded_and_the_last_error_is_raised(attempts: int) -> None:
    """A run that waits for ever for a dead server can never report that it is dead."""
    errors = [unavailable() for _ in range(attempts)]
    inner, sleeper = Recorder(*errors), Sleeper()
    with pytest.raises(JsMemoryError) as raised:
        await RetryingStore(inner, attempts=attempts, sleep=sleeper).read("note", scope=None)
    assert raised.value is errors[-1]
    assert len(sleeper.pauses) == attempts - 1


async def test_pauses_double_up_to_the_longest_and_are_not_the_same_for_all() -> None:
    """Clients that failed together and come back together fell the server again."""
    runs = []
    for _ in range(20):
        sleeper = Sleeper()
        store = RetryingStore(
            Recorder(*[unavailable() for _ in range(6)]), attempts=6, first_pause=1, longest_pause=5, sleep=sleeper
        )
        with pytest.raises(BackendUnavailableError):
            await store.list()
        runs.append(sleeper.pauses)
    for pauses in runs:
        assert all(length / 2 <= pause <= length for pause, length in zip(pauses, [1, 2, 4, 5, 5], strict=True))
    assert len({tuple(pauses) for pauses in runs}) == 20


def test_no_attempt_at_all_is_refused() -> None:
    """A store that never asks would answer every call with nothing."""
    with pytest.raises(ValueError, match="one attempt"):
        RetryingStore(Recorder(), attempts=0)
