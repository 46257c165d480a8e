"""
The refusals and failures of the tools: what a store raised, in fixed words for a model.

Nothing of what an error says is in them, and each ends with what to do next.
"""

from collections.abc import Mapping
from typing import Final

from jsmemory.errors import (
    AccessDeniedError,
    BackendUnavailableError,
    EntryExistsError,
    EntryNotFoundError,
    EntryTooLargeError,
    IncompleteListingError,
    InvalidEntryError,
    InvalidKeyError,
    JsMemoryError,
    OutcomeUnknownError,
    ReadOnlyStoreError,
    RequestError,
    RunClaimedError,
    RunEndedError,
    SetupError,
    StaleEntryError,
    StaleReason,
    StoreFullError,
)
from jsmemory.limits import MAX_CONTENT_BYTES, MAX_ENTRIES
from jsmemory.tools.answers import Answer, Verb, failed, refused

INTERNAL_ERROR: Final = "internal_error"


def missing(verb: Verb) -> Answer:
    """Nothing is stored under the key."""
    return refused(verb, EntryNotFoundError.code, _MISSING[verb])


def existing(key: str, description: str | None, cause: BaseException | None) -> Answer:
    """
    The key is taken.

    Args:
        key: The key.
        description: Of what is stored there; None where it could not be looked up.
        cause: Why it could not.
    """
    body = {Verb.WRITTEN.value: False, "code": EntryExistsError.code, "key": key}
    if description is not None:
        body["existing_description"] = description
    body["reason"] = (
        "A memory is stored under this key already, so nothing was written. Choose another key; or, if this is the "
        "memory to replace, call memory_read with this key and then memory_write again with overwrite true."
    )
    return Answer(EntryExistsError.code, body, cause=cause)


def stale(reason: StaleReason, cause: BaseException | None = None) -> Answer:
    """
    The run has not read what is stored now.

    Args:
        reason: Whether it never did, or somebody changed it since.
        cause: Why it could not be looked up whether anything is stored at all.
    """
    return refused(Verb.WRITTEN, StaleEntryError.code, _UNREAD if reason == "unread" else _CHANGED, cause)


def unreadable_whole() -> Answer:
    """No run can have read all of what is stored, so none may replace it."""
    return refused(Verb.WRITTEN, StaleEntryError.code, _NEVER_WHOLE)


def of_error(verb: Verb, error: Exception) -> Answer:
    """
    The answer for what a store raised. Whatever a text of the error says stays with the host.

    What no store should raise leaves it open whether a write has landed.
    """
    match error:
        case EntryNotFoundError() if verb in _MISSING:
            return missing(verb)
        case StaleEntryError() if verb is Verb.WRITTEN:
            return stale(error.reason)
        case StoreFullError() if verb is Verb.WRITTEN:
            return refused(verb, StoreFullError.code, _FULL)
        case InvalidEntryError():
            return failed(verb, InvalidEntryError.code, _NO_TEXT if error.field == "content" else _NO_LINE, cause=error)
        case EntryTooLargeError() if verb is Verb.READ:
            return failed(verb, EntryTooLargeError.code, _TOO_LARGE, cause=error)
        case RequestError():
            return _of_known(verb, error, _REQUESTS)
        case OutcomeUnknownError():
            return failed(verb, OutcomeUnknownError.code, _UNKNOWN[verb], is_known=verb not in _WRITES, cause=error)
        case BackendUnavailableError() | AccessDeniedError() | IncompleteListingError() | SetupError():
            return _of_known(verb, error, _WORLD)
    code = JsMemoryError.code if isinstance(error, JsMemoryError) else INTERNAL_ERROR
    unforeseen = f"The memory failed in an unforeseen way. {_UNKNOWN[verb]} Its operator finds the cause in the log."
    return failed(verb, code, unforeseen, is_known=verb not in _WRITES, cause=error)


def _of_known(verb: Verb, error: Exception, table: "_Table") -> Answer:
    code, problem, remedy = next((row.code, *words) for row, words in table.items() if isinstance(error, row))
    return failed(verb, code, f"{problem} {_NOT_DONE[verb]} {remedy}", cause=error)


_Table = Mapping[type[JsMemoryError], tuple[str, str]]

_WRITES: Final = (Verb.WRITTEN, Verb.DELETED)

_MISSING: Final = {
    Verb.READ: "No memory is stored under this key. Call memory_list to see which keys there are.",
    Verb.WRITTEN: (
        "No memory is stored under this key, so there is nothing to overwrite and nothing was written. Another run may "
        "have deleted it. To store it as a new memory, call memory_write again with overwrite false."
    ),
    Verb.DELETED: "No memory is stored under this key, so nothing was deleted. It may be gone already.",
}
_UNREAD: Final = (
    "This run has not read the memory that is stored under this key now, so nothing was written. Call memory_read with "
    "this key, keep what still holds, and retry memory_write with overwrite true."
)
_CHANGED: Final = (
    "The memory under this key was changed after this run had read it, so nothing was written. Call memory_read with "
    "this key again, keep what still holds, and retry memory_write with overwrite true."
)
_NEVER_WHOLE: Final = (
    "Another program has stored more under this key than memory_read shows, so that it cannot be overwritten, and "
    "nothing was written. Choose another key; or, only if all of it is to go, call memory_delete and then memory_write "
    "with overwrite false."
)
_FULL: Final = (
    f"The memory holds its {MAX_ENTRIES} entries, so nothing was written. Delete one that is no longer needed, or "
    "overwrite one, and try again."
)
_TOO_LARGE: Final = (
    "Another program has stored more under this key than is ever read. Nothing was read. Go on without it, and say "
    "that its operator must split it over several keys."
)
_NO_LINE: Final = (
    "The description is empty, or holds half of a surrogate pair, which is no character. Nothing was written. Say in "
    "one line what the memory is about."
)
_NO_TEXT: Final = (
    "The content holds half of a surrogate pair, which is no character. Nothing was written. Leave it out, or decode "
    "the text anew."
)
_NOT_DONE: Final = {
    Verb.LISTED: "Nothing was listed, which does not mean that nothing is stored.",
    Verb.READ: "Nothing was read, which does not mean that nothing is stored under this key.",
    Verb.WRITTEN: "Nothing was written.",
    Verb.DELETED: "Nothing was deleted.",
}
_UNKNOWN: Final = {
    Verb.LISTED: _NOT_DONE[Verb.LISTED],
    Verb.READ: _NOT_DONE[Verb.READ],
    Verb.WRITTEN: (
        "It is not known whether the memory was written: it may be stored, or not. Call memory_read with this key "
        "before deciding anything."
    ),
    Verb.DELETED: (
        "It is not known whether the memory was deleted: it may be gone, or not. Call memory_read with this key "
        "before deciding anything."
    ),
}
_REQUESTS: Final[_Table] = {
    InvalidKeyError: (
        "This memory cannot keep the key apart from another one, or cannot hold a name of its length.",
        "Choose another key.",
    ),
    EntryTooLargeError: (
        f"The content has more than {MAX_CONTENT_BYTES} bytes of UTF-8.",
        "Shorten it, or split it over several keys.",
    ),
    ReadOnlyStoreError: ("This memory is read-only.", "Go on without writing to it."),
    RunEndedError: (
        "The run that this tool was given to is over, and no memory call of it can be met any more.",
        "Make no further memory call, and finish.",
    ),
    RunClaimedError: (
        "The run that this tool was given to goes on in another process, and no memory call can be met here any more.",
        "Make no further memory call, and finish.",
    ),
    RequestError: ("The memory cannot meet this call as it was put.", "Change the call."),
}
_WORLD: Final[_Table] = {
    BackendUnavailableError: (
        "The memory is out of reach.",
        "Try again in a moment; if that fails too, say so and go on without it.",
    ),
    AccessDeniedError: (
        "The memory refused access.",
        "Trying again does not help: say that its operator must grant a permission.",
    ),
    IncompleteListingError: ("The memories could not be listed completely in time.", "Try again in a moment."),
    SetupError: (
        "The memory is not set up as it must be.",
        "Trying again does not help: say that its operator must mend it.",
    ),
}
