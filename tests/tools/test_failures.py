"""What a model is told when something went wrong: fixed words that nobody takes for a success."""

import asyncio
import inspect
import json
import logging
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import jsmemory
from jsmemory import (
    AccessDeniedError,
    BackendError,
    BackendUnavailableError,
    BucketNotFoundError,
    BucketUnfitError,
    Entry,
    EntryExistsError,
    EntryTooLargeError,
    Finding,
    IncompleteListingError,
    InProcessStore,
    InvalidEntryError,
    InvalidKeyError,
    Item,
    JsMemoryError,
    MemoryTools,
    OutcomeUnknownError,
    ReadOnlyStoreError,
    RequestError,
    RunClaimedError,
    RunEndedError,
    Scope,
    SetupError,
    StaleEntryError,
    Store,
    StoreFullError,
    TooManyEntriesError,
)
from jsmemory.backed_store import BackedStore
from jsmemory.backends.in_process import InProcessBackend
from jsmemory.layers.wrapping import WrappingStore
from jsmemory.testing.faults import Fault, FaultyBackend, scripted
from jsmemory.tools import Trace

Raise = Callable[[BaseException], Store]

SECRET = "/srv/team/.creds nats://alice:hunter2@host precious-content"

CALLS: dict[str, dict[str, object]] = {
    "memory_list": {},
    "memory_read": {"key": "build"},
    "memory_write": {"key": "build", "description": SECRET, "content": SECRET},
    "memory_delete": {"key": "build"},
}
FIELDS = {
    "memory_list": "listed",
    "memory_read": "read",
    "memory_write": "written",
    "memory_delete": "deleted",
}


class Strange(BackendError):
    """A driver's own error, which promises nothing."""

    code = SECRET


# What stores raise, each with the worst text it could have; and the code that the model is given.
ERRORS: list[tuple[Exception, str]] = [
    (BackendUnavailableError(SECRET, SECRET), "backend_unavailable"),
    (AccessDeniedError(SECRET), "access_denied"),
    (IncompleteListingError(SECRET), "incomplete_listing"),
    (OutcomeUnknownError(SECRET), "outcome_unknown"),
    (Strange(SECRET), "error"),
    (BackendError(SECRET), "error"),
    (JsMemoryError(SECRET), "error"),
    # No tool opens a view, so no model is told of it in words of its own.
    (TooManyEntriesError(7), "error"),
    (SetupError(SECRET), "setup"),
    (BucketNotFoundError(SECRET, SECRET), "setup"),
    (BucketUnfitError(SECRET, [Finding(SECRET, SECRET, SECRET)]), "setup"),
    (InvalidKeyError(SECRET), "invalid_key"),
    (InvalidEntryError("description", SECRET, SECRET), "invalid_entry"),
    (InvalidEntryError("content", SECRET, SECRET), "invalid_entry"),
    (EntryTooLargeError(70_000, 65_536), "entry_too_large"),
    (ReadOnlyStoreError(SECRET), "read_only"),
    (RunEndedError(SECRET), "run_ended"),
    (RunEndedError(SECRET, "left"), "run_ended"),
    (RunEndedError(SECRET, "rotated"), "run_ended"),
    (RunClaimedError(SECRET, "lost"), "run_claimed"),
    (RequestError(SECRET), "request"),
    (StoreFullError(), "store_full"),
    (StaleEntryError(SECRET, "unread"), "stale_entry"),
    (StaleEntryError(SECRET, "changed"), "stale_entry"),
    (OSError(2, SECRET, SECRET), "internal_error"),
    (TimeoutError(SECRET), "internal_error"),
    (RuntimeError(SECRET), "internal_error"),
    (KeyError(SECRET), "internal_error"),
    (ExceptionGroup(SECRET, [ValueError(SECRET)]), "internal_error"),
    (AssertionError(SECRET), "internal_error"),
    (RecursionError(SECRET), "internal_error"),
    (MemoryError(SECRET), "internal_error"),
]
UNKNOWN = {"outcome_unknown", "error", "internal_error"}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize(("error", "code"), ERRORS, ids=lambda value: type(value).__name__)
async def test_whatever_a_store_raises_is_told_in_fixed_words_that_are_no_success(
    raising: Raise, name: str, error: Exception, code: str
) -> None:
    """Faults 31 and 36: the tool said saved where nothing was, and showed the model the host's paths."""
    traces: list[Trace] = []
    if name != "memory_write" and code in ("stale_entry", "store_full"):
        code = "request"  # what makes no sense for the tool is told in general words
    answer = await MemoryTools(raising(error), Scope(), hook=traces.append).call(name, CALLS[name])
    assert answer.code == answer.body["code"] == code
    assert set(answer.body) == {FIELDS[name], "code", "reason"}
    expected = None if code in UNKNOWN and name in ("memory_write", "memory_delete") else False
    assert answer.body[FIELDS[name]] is expected
    for word in ("hunter2", "/srv", "precious", "nats:"):
        assert word not in answer.text
    assert json.loads(answer.text) == answer.body
    assert answer.body["reason"].endswith(".")
    assert [trace.code for trace in traces] == [code]


@pytest.mark.parametrize("name", ["memory_write", "memory_delete"])
@pytest.mark.parametrize("error", [OutcomeUnknownError("build"), Strange(""), OSError("disk")])
async def test_an_unknown_outcome_says_exactly_that(raising: Raise, name: str, error: Exception) -> None:
    """Told "not written", a model writes it a second time elsewhere; told "written", it relies on it."""
    answer = await MemoryTools(raising(error), Scope()).call(name, CALLS[name])
    assert answer.body[FIELDS[name]] is None
    assert "not known" in answer.body["reason"]
    assert "memory_read" in answer.body["reason"]
    assert "Nothing was" not in answer.body["reason"]
    assert answer.is_error


@pytest.mark.parametrize(("error", "code"), ERRORS, ids=lambda value: type(value).__name__)
async def test_only_what_is_not_known_claims_not_to_be_known(raising: Raise, error: Exception, code: str) -> None:
    """A model that reads after every refusal, to see whether it was one, spends its turn on it."""
    answer = await MemoryTools(raising(error), Scope()).call("memory_write", CALLS["memory_write"])
    assert ("not known" in answer.body["reason"]) is (code in UNKNOWN)
    if code not in UNKNOWN:
        assert "nothing was written" in answer.body["reason"].lower()


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("error", [RunEndedError("night"), RunClaimedError("night", "lost")])
async def test_a_call_after_the_end_of_its_run_is_not_to_be_changed(
    raising: Raise, name: str, error: Exception
) -> None:
    """Told to change the call, a model goes through one wording after another, and none can be met."""
    answer = await MemoryTools(raising(error), Scope()).call(name, CALLS[name])
    assert "no memory call" in answer.body["reason"]
    assert answer.body["reason"].endswith("Make no further memory call, and finish.")
    assert "Change the call" not in answer.body["reason"]


@pytest.mark.parametrize("name", ["memory_list", "memory_read"])
@pytest.mark.parametrize(
    "error", [AccessDeniedError("x"), BackendUnavailableError("x"), IncompleteListingError(), OSError(13, "denied")]
)
async def test_a_read_that_was_refused_does_not_look_like_an_empty_memory(
    raising: Raise, name: str, error: Exception
) -> None:
    """Fault 36: a denied read looked like an empty memory, and the agent started from nothing."""
    answer = await MemoryTools(raising(error), Scope()).call(name, CALLS[name])
    assert answer.code != "entry_not_found"
    assert "memories" not in answer.body
    assert "content" not in answer.body
    assert "does not mean that nothing is stored" in answer.body["reason"]
    assert answer.is_error


async def test_an_absent_memory_and_one_out_of_reach_have_different_codes(raising: Raise) -> None:
    """A host that branches on the code must not create anew what it merely could not see."""
    absent = await MemoryTools(InProcessStore(), Scope()).call("memory_read", {"key": "build"})
    away = await MemoryTools(raising(BackendUnavailableError("x")), Scope()).call("memory_read", {"key": "build"})
    assert (absent.code, absent.is_error) == ("entry_not_found", False)
    assert (away.code, away.is_error) == ("backend_unavailable", True)


@pytest.mark.parametrize("name", ["memory_read", "memory_write", "memory_delete"])
@pytest.mark.parametrize("key", ["", "a/b", "../x", "a..b", ".a", "a\n", "k" * 201, "\ud800", "k" * 10_000_000])
async def test_a_malformed_key_is_told_as_such_also_where_the_backend_is_away(
    raising: Raise, name: str, key: str
) -> None:
    """Fault 37: told "backend unavailable", a model tries the same key again until it gives up."""
    store: Any = raising(BackendUnavailableError("x"))
    answer = await MemoryTools(store, Scope()).call(name, {**CALLS[name], "key": key})
    assert answer.code == "invalid_key"
    assert answer.body[FIELDS[name]] is False
    assert "A-Z a-z 0-9" in answer.body["reason"]
    assert len(answer.text) < 600
    assert store.calls == []


@pytest.mark.parametrize("fault", [Fault.LOST_ANSWER, Fault.LOST_REQUEST, Fault.UNAVAILABLE])
async def test_a_lost_answer_is_neither_saved_nor_refused(fault: Fault) -> None:
    """Whether the note is there is what the next read tells, and nothing else."""
    store = BackedStore(FaultyBackend(InProcessBackend(), scripted(fault, verbs=["insert"])))
    tools = MemoryTools(store, Scope())
    arguments = {"key": "build", "description": "ours", "content": "new"}
    answer = await tools.call("memory_write", arguments)
    assert answer.body["written"] is (False if fault is Fault.UNAVAILABLE else None)
    found = await tools.call("memory_read", {"key": "build"})
    assert found.body["read"] is (fault is Fault.LOST_ANSWER)


@pytest.mark.parametrize(
    "error",
    [OSError(2, "No such file", "/srv/memory/build.md"), RuntimeError("a bug"), ExceptionGroup("g", [ValueError("x")])],
)
async def test_the_host_sees_the_error_that_the_model_does_not(
    raising: Raise, error: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    """An error that nobody sees is never mended."""
    seen: list[Trace] = []
    await MemoryTools(raising(error), Scope(), hook=seen.append).call("memory_read", {"key": "build"})
    assert seen[0].error is error
    with caplog.at_level(logging.ERROR, "jsmemory.tools"):
        await MemoryTools(raising(error), Scope()).call("memory_read", {"key": "build"})
    (record,) = caplog.records
    assert record.exc_info is not None
    assert record.exc_info[1] is error
    assert "/srv" not in record.getMessage()


async def test_a_cancelled_call_is_cancelled_and_traced() -> None:
    """A call that answers although it was cancelled keeps a run from ending."""
    hanging = BackedStore(FaultyBackend(InProcessBackend(), scripted(Fault.HANG)))
    traces: list[Trace] = []
    task = asyncio.create_task(MemoryTools(hanging, Scope(), hook=traces.append).call("memory_read", {"key": "k"}))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert [(trace.code, trace.key) for trace in traces] == [("cancelled", "k")]


@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(1)])
def test_what_ends_the_process_is_not_turned_into_an_answer(raising: Raise, error: BaseException) -> None:
    """Ctrl-C that becomes a tool result is lost on the model."""
    call = MemoryTools(raising(error), Scope()).call("memory_list", {})
    with pytest.raises(type(error)) as raised:
        call.send(None)
    assert raised.value is error


class Untrue(WrappingStore):
    """A store that answers with what is no text."""

    def __init__(self, description: Any, content: Any) -> None:
        super().__init__(InProcessStore())
        self.description, self.content = description, content

    async def list(self) -> tuple[Item, ...]:
        return (Item("build", self.description),)

    async def read(self, key: str, *, scope: Scope | None) -> Entry:
        return Entry(key, self.description, self.content, "1")

    async def create(self, key: str, description: str, content: str, *, scope: Scope | None) -> None:
        raise EntryExistsError(key)


@pytest.mark.parametrize("broken", ["\ud800", b"bytes", None, 7])
async def test_a_store_that_answers_with_no_text_fails_the_call_and_not_the_host(broken: object) -> None:
    """A half of a surrogate pair in a result ends the run where the request is encoded."""
    for store in (Untrue(broken, "fine"), Untrue("fine", broken)):
        answer = await MemoryTools(store, Scope()).call("memory_read", {"key": "build"})
        assert answer.code == "internal_error"
        json.loads(answer.text.encode())
    listed = await MemoryTools(Untrue(broken, ""), Scope()).call("memory_list", {})
    assert listed.body["listed"] is False
    existing = await MemoryTools(Untrue(broken, ""), Scope()).call("memory_write", CALLS["memory_write"])
    assert existing.code == "entry_exists"
    assert "existing_description" not in existing.body


async def test_a_file_store_that_cannot_write_says_so_without_its_path(tmp_path: Path) -> None:
    """Fault 31, for real: the operating system's own words show where on the host the memory is."""
    from jsmemory import FileStore

    store = await FileStore.open(tmp_path / "memory")
    folder = next(tmp_path.glob("memory*"))
    for file in sorted(folder.rglob("*"), reverse=True):
        file.unlink() if file.is_file() else file.rmdir()
    folder.rmdir()
    folder.write_text("a file where the folder was")
    answer = await MemoryTools(store, Scope()).call("memory_write", CALLS["memory_write"])
    assert answer.body["written"] is not True
    assert answer.is_error
    assert str(tmp_path) not in answer.text
    assert "precious" not in answer.text


def test_every_error_that_the_contract_names_is_tried_here() -> None:
    """A new error would reach models in words that nobody has read."""
    named = set(re.findall(r"\w+Error", inspect.getsource(jsmemory.Store)))
    tried = {type(error).__name__ for error, _ in ERRORS}
    assert len(named) > 8
    assert named - tried == {"EntryExistsError", "EntryNotFoundError"}  # those are tried where they are answered
