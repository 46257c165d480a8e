"""The errors: three branches, each with its facts, its remedy, and nothing that must not be shown."""

import builtins
import copy
import inspect
import pickle
import re

import pytest

from jsmemory import errors
from jsmemory.errors import (
    AccessDeniedError,
    ArchiveUnfitError,
    BackendError,
    BackendUnavailableError,
    BucketNotFoundError,
    BucketUnfitError,
    EntryExistsError,
    EntryNotFoundError,
    EntryTooLargeError,
    IncompleteListingError,
    InvalidEntryError,
    InvalidKeyError,
    InvalidOptionsError,
    InvalidRecordError,
    JournalCorruptError,
    JsMemoryError,
    OutcomeUnknownError,
    ReadOnlyStoreError,
    RequestError,
    RunClaimedError,
    RunEndedError,
    RunExistsError,
    RunNotFoundError,
    SetupError,
    StaleEntryError,
    StoreFullError,
    StreamNotFoundError,
    StreamUnfitError,
    TooManyEntriesError,
    UnknownBackendError,
)
from jsmemory.findings import Finding

CURE = "nats kv edit notes --ttl 0"
FINDINGS = (
    Finding("bucket_ttl", "Entries expire.", CURE),
    Finding("bucket_storage", "A restart loses all.", "Move it."),
)

EXAMPLES: list[JsMemoryError] = [
    InvalidKeyError("The key is empty"),
    InvalidKeyError("The prefix has a dot", "Leave it out."),
    InvalidEntryError("content", "is not text", "Give a string."),
    EntryTooLargeError(70_000, 65_536),
    EntryExistsError("build"),
    EntryNotFoundError("build"),
    StaleEntryError("build", "unread"),
    StaleEntryError("build", "changed"),
    StoreFullError(),
    StoreFullError(7),
    ReadOnlyStoreError(),
    ArchiveUnfitError(list(FINDINGS)),
    ArchiveUnfitError(iter(FINDINGS)),
    InvalidRecordError("cannot be written as JSON", "Give plain data."),
    RunExistsError("night"),
    RunNotFoundError("night"),
    RunClaimedError("night"),
    RunClaimedError("night", "lost"),
    RunEndedError("night"),
    RunEndedError("night", "left"),
    RunEndedError("night", "rotated"),
    BackendUnavailableError("The server did not answer."),
    BackendUnavailableError("The disk is full.", "Free some space, then try again."),
    AccessDeniedError("publish to $KV.notes.alice.>"),
    OutcomeUnknownError("build"),
    IncompleteListingError(),
    IncompleteListingError("There is no place left.", "Ask for more."),
    TooManyEntriesError(16_384),
    JournalCorruptError("night", 3, 512, "is no record"),
    UnknownBackendError("filee", ["file", "jetstream"]),
    UnknownBackendError("filee", iter(("file", "jetstream"))),
    InvalidOptionsError("options.bucket", "is missing", "Name the bucket."),
    BucketNotFoundError("notes", "nats kv add notes"),
    BucketUnfitError("notes", list(FINDINGS)),
    BucketUnfitError("notes", iter(FINDINGS)),
    StreamNotFoundError("runs", "nats stream add runs"),
    StreamUnfitError("runs", list(FINDINGS)),
    StreamUnfitError("runs", iter(FINDINGS)),
]
BRANCHES = {RequestError, BackendError, SetupError}
each_example = pytest.mark.parametrize("error", EXAMPLES, ids=lambda error: type(error).__name__)


def all_errors() -> set[type[JsMemoryError]]:
    return {
        found
        for _, found in inspect.getmembers(errors, inspect.isclass)
        if issubclass(found, JsMemoryError) and found.__module__ == errors.__name__
    }


def facts_of(error: JsMemoryError) -> dict[str, object]:
    return {name: value for name, value in vars(error).items() if name != "__notes__"}


def test_every_error_has_an_example_here() -> None:
    """A new error would escape every test of this file."""
    assert {type(error) for error in EXAMPLES} == all_errors() - BRANCHES - {JsMemoryError}


# -- The tree -------------------------------------------------------------------------------


def drawn() -> dict[str, tuple[str | None, str]]:
    """The drawing in the module's docstring: each name with its parent and its remark."""
    tree: dict[str, tuple[str | None, str]] = {}
    path: list[tuple[int, str]] = []
    for line in (errors.__doc__ or "").splitlines():
        found = re.fullmatch(r"([ │├└─]*)(\w+Error)\s*(.*)", line)
        if not found or not line.startswith("    "):
            continue
        depth = len(found[1])
        path = [(above, name) for above, name in path if above < depth]
        tree[found[2]] = (path[-1][1] if path else None, found[3])
        path.append((depth, found[2]))
    return tree


def test_the_tree_is_as_it_is_drawn() -> None:
    """Whoever wrote handlers after the drawing would catch too much, or nothing."""
    parents = {name: parent for name, (parent, _) in drawn().items()}
    real = {
        error.__name__: next((base.__name__ for base in error.__bases__ if issubclass(base, JsMemoryError)), None)
        for error in all_errors()
    }
    assert parents == real
    assert len(real) == 30


def test_builtin_bases_are_as_they_are_drawn() -> None:
    """Code that catches ValueError or LookupError, as the documentation says, would let it through."""
    for error in all_errors():
        also = re.search(r"\(also (\w+)\)", drawn()[error.__name__][1])
        foreign = [base.__name__ for base in error.__bases__ if not issubclass(base, JsMemoryError)]
        assert foreign == ([also[1]] if also else [] if error is not JsMemoryError else ["Exception"])


def test_an_error_is_of_one_branch() -> None:
    """A host could not tell whether to ask the model, to retry or to stop."""
    for error in all_errors() - {JsMemoryError}:
        assert sum(issubclass(error, branch) for branch in BRANCHES) == 1


def test_no_name_shadows_a_builtin() -> None:
    """A star import would turn an except clause of Python's own into one of ours."""
    assert not {error.__name__ for error in all_errors()} & set(dir(builtins))


# -- Code and retryable ---------------------------------------------------------------------


def test_codes_are_stable_words() -> None:
    """Dashboards and programs that match on a code would stop to match."""
    assert {error.__name__: error.code for error in all_errors()} == {
        "JsMemoryError": "error",
        "RequestError": "request",
        "InvalidKeyError": "invalid_key",
        "InvalidEntryError": "invalid_entry",
        "EntryTooLargeError": "entry_too_large",
        "EntryExistsError": "entry_exists",
        "EntryNotFoundError": "entry_not_found",
        "StaleEntryError": "stale_entry",
        "StoreFullError": "store_full",
        "ReadOnlyStoreError": "read_only",
        "ArchiveUnfitError": "archive_unfit",
        "InvalidRecordError": "invalid_record",
        "RunExistsError": "run_exists",
        "RunNotFoundError": "run_not_found",
        "RunClaimedError": "run_claimed",
        "RunEndedError": "run_ended",
        "BackendError": "backend",
        "BackendUnavailableError": "backend_unavailable",
        "AccessDeniedError": "access_denied",
        "OutcomeUnknownError": "outcome_unknown",
        "IncompleteListingError": "incomplete_listing",
        "TooManyEntriesError": "too_many_entries",
        "JournalCorruptError": "journal_corrupt",
        "SetupError": "setup",
        "UnknownBackendError": "unknown_backend",
        "InvalidOptionsError": "invalid_options",
        "BucketNotFoundError": "bucket_not_found",
        "BucketUnfitError": "bucket_unfit",
        "StreamNotFoundError": "stream_not_found",
        "StreamUnfitError": "stream_unfit",
    }


def test_a_code_belongs_to_one_error() -> None:
    """Two failures that ask for different reactions would look alike to a program."""
    codes = [error.code for error in all_errors()]
    assert len(codes) == len(set(codes))
    assert all("code" in vars(error) for error in all_errors())


def test_only_what_left_nothing_behind_may_be_repeated() -> None:
    """A retry would write twice, or hammer on a refusal for ever."""
    assert {error for error in all_errors() if error.retryable} == {BackendUnavailableError, IncompleteListingError}
    assert {name for name, (_, remark) in drawn().items() if "retryable" in remark} == {
        error.__name__ for error in all_errors() if error.retryable
    }


# -- Facts ----------------------------------------------------------------------------------


@each_example
@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_an_error_survives_pickling(error: JsMemoryError, protocol: int) -> None:
    """A worker process would die of the error that it wanted to report."""
    error.add_note("seen by worker 3")
    back = pickle.loads(pickle.dumps(error, protocol))
    assert type(back) is type(error)
    assert facts_of(back) == facts_of(error)
    assert str(back) == str(error)
    assert back.args == error.args
    assert back.__notes__ == error.__notes__


@each_example
def test_an_error_survives_copying(error: JsMemoryError) -> None:
    """A framework that collects errors would lose their facts."""
    for back in (copy.copy(error), copy.deepcopy(error)):
        assert (type(back), facts_of(back), str(back)) == (type(error), facts_of(error), str(error))


def test_facts_are_attributes() -> None:
    """A program would have to read them out of a sentence."""
    assert facts_of(EntryTooLargeError(2, 1)) == {"size": 2, "limit": 1}
    assert facts_of(StaleEntryError("k", "unread")) == {"key": "k", "reason": "unread"}
    assert facts_of(StoreFullError()) == {"limit": 1024}
    assert facts_of(AccessDeniedError("p")) == {"permission": "p"}
    assert facts_of(UnknownBackendError("x", iter("ab"))) == {"name": "x", "known": ("a", "b")}
    assert facts_of(BucketUnfitError("b", iter(FINDINGS))) == {"bucket": "b", "findings": FINDINGS}
    assert facts_of(InvalidOptionsError("o", "p", "r")) == {"option": "o", "problem": "p", "remedy": "r"}


# -- Words ----------------------------------------------------------------------------------

REMEDIES = {
    InvalidEntryError: "Give a string.",
    EntryTooLargeError: "Shorten it, or split it over several keys.",
    EntryExistsError: "Read it, then update it, or choose another key.",
    EntryNotFoundError: "List the store to see its keys, or create the entry.",
    StoreFullError: "Delete one that is no longer needed, or update one.",
    ReadOnlyStoreError: "Open it without read_only to write.",
    InvalidRecordError: "Give plain data.",
    RunExistsError: "Resume it, or start one under another name.",
    RunNotFoundError: "List its runs, or start this one.",
    JournalCorruptError: "Keep it for whoever looks into it, and start another run.",
    AccessDeniedError: "Ask its operator for the permission: publish to $KV.notes.alice.>.",
    OutcomeUnknownError: "Read it before deciding anything.",
    TooManyEntriesError: "List them instead, or view one prefix of the bucket.",
    UnknownBackendError: "Use one of: file, jetstream.",
    InvalidOptionsError: "Name the bucket.",
}


@each_example
def test_a_message_ends_with_the_remedy(error: JsMemoryError) -> None:
    """A model or an operator would know what went wrong and not what to do."""
    remedies = {
        InvalidKeyError: getattr(error, "remedy", ""),
        BackendUnavailableError: getattr(error, "remedy", ""),
        IncompleteListingError: getattr(error, "remedy", ""),
        BucketNotFoundError: getattr(error, "cure", ""),
        ArchiveUnfitError: FINDINGS[-1].cure,
        BucketUnfitError: FINDINGS[-1].cure,
        StreamNotFoundError: getattr(error, "cure", ""),
        StreamUnfitError: FINDINGS[-1].cure,
        RunClaimedError: "Stop this one."
        if getattr(error, "reason", "") == "lost"
        else "only if that process is dead, take the run over.",
        RunEndedError: {"left": "Resume it to go on.", "rotated": "Use its tools."}.get(
            getattr(error, "reason", ""), "Start another one."
        ),
        StaleEntryError: "Read it again, then update."
        if getattr(error, "reason", "") == "changed"
        else "Read it, then update.",
    }
    remedy = {**REMEDIES, **remedies}[type(error)]
    assert remedy
    assert str(error).endswith(remedy)
    assert len(str(error)) > len(remedy)


@each_example
def test_a_message_is_whole_sentences(error: JsMemoryError) -> None:
    """A tool that joins the message with its own text would make a muddle of both."""
    text = str(error)
    assert "\n" not in text
    assert "None" not in text
    assert ".." not in text
    assert text[0].isupper() or text[0] == "'"
    # A command to paste stands without a full stop, or the stop would be pasted with it.
    assert text.endswith(".") or isinstance(
        error, BucketNotFoundError | BucketUnfitError | StreamNotFoundError | StreamUnfitError
    )


def test_an_unfit_bucket_names_every_finding_with_its_cure() -> None:
    """An operator would mend one fault, start again, and meet the next."""
    text = str(BucketUnfitError("notes", FINDINGS))
    for finding in FINDINGS:
        assert f"{finding.problem} Cure: {finding.cure}" in text


def test_unavailable_says_no_more_than_it_was_given() -> None:
    """Who only wanted to read, or to connect, would look for a write that went wrong."""
    assert str(BackendUnavailableError("The server did not answer.")) == (
        "The server did not answer. Try again in a moment."
    )


def test_a_key_is_refused_with_the_remedy_that_mends_it() -> None:
    """Whoever was refused for a name that is taken would count the dots of the key."""
    assert str(InvalidKeyError("The key is empty")) == (
        "The key is empty. Use 1 to 200 characters out of A-Z a-z 0-9 . _ = - "
        "with no dot at either end and no two dots in a row."
    )
    assert str(InvalidKeyError("The name is taken", "Choose another key.")) == "The name is taken. Choose another key."


def test_stale_tells_unread_from_changed() -> None:
    """A model that has read the entry would be told that it has not."""
    assert "has not read" in str(StaleEntryError("k", "unread"))
    assert "was changed" in str(StaleEntryError("k", "changed"))


def test_a_cure_that_mends_several_problems_is_told_once() -> None:
    """Two hundred characters three times on one line hide the three problems between them."""
    findings = [Finding("a", "One.", "run x"), Finding("b", "Two.", "run y"), Finding("c", "Three.", "run x")]
    assert str(BucketUnfitError("team", findings)).endswith("One. Three. Cure: run x Two. Cure: run y")
