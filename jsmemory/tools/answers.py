"""
What a tool answers: JSON objects of four shapes, and fixed texts for whatever went wrong.

Done, each is led by a field that is true:

    memory_list     {"listed": true, "memories": [{"key": ..., "description": ...}, ...]}
    memory_read     {"read": true, "key": ..., "description": ..., "content": ...}
                    and where another program has stored more than a memory holds, and only the
                    beginning is shown: "truncated": true, "content_bytes": how much it is
    memory_write    {"written": true, "key": ...}
    memory_delete   {"deleted": true, "key": ...}

Not done, the same field is false, or null where nobody knows; and none of the others is there,
so that a failure is neither a success nor an empty memory:

    {"written": false, "code": "stale_entry", "reason": "This run has not read ..."}
    {"written": null, "code": "outcome_unknown", "reason": "It is not known ..."}

``code`` is stable. ``reason`` says what to do next; it is written here, and holds nothing of
what is stored and no text of an error. With ``entry_exists`` comes ``existing_description``:
what is stored under the key, as far as it could be looked up.
"""

import re
from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Any, Final

import msgspec

from jsmemory.entries import Entry, Item
from jsmemory.limits import MAX_CONTENT_BYTES, MAX_DESCRIPTION_LENGTH

OK: Final = "ok"
INVALID_CALL: Final = "invalid_call"
UNKNOWN_TOOL: Final = "unknown_tool"


class Verb(StrEnum):
    """The field that leads an answer: what the tool is there to do."""

    LISTED = "listed"
    READ = "read"
    WRITTEN = "written"
    DELETED = "deleted"
    CALLED = "called"
    """Where there is no such tool."""


class Answer(msgspec.Struct, frozen=True):
    """
    What one call came to.

    Attributes:
        code: ``ok``, or the stable word that is in the body too.
        body: What the model is shown; plain data that JSON carries.
        is_error: Whether the tool could not do its part. A miss, an existing key, a stale
            overwrite and a full store are answers, and no errors.
        cause: The error behind it, for the host alone.
        encoded: The body as JSON, where it was needed already.
    """

    code: str
    body: Mapping[str, Any]
    is_error: bool = False
    cause: BaseException | None = None
    encoded: bytes | None = None

    @property
    def text(self) -> str:
        """The body as JSON text, in which nothing can steer a terminal; decoded, it is the same again."""
        return _tame(_encode(self.body) if self.encoded is None else self.encoded)

    def __repr__(self) -> str:
        # What is stored is nothing for a log.
        return f"<Answer {self.code}>"


_encode: Final = msgspec.json.Encoder().encode

_STEERS: Final = (
    "\\x7f-\\x9f\\u061c\\u200b\\u200e\\u200f\\u2028-\\u202e\\u2060-\\u206f\\ufeff\\ufff9-\\ufffb\\U000e0000-\\U000e007f"
)
# DEL, C1, line separators, bidi controls, and what hides. JSON escapes C0 by itself.

_STEERING: Final = re.compile(f"[{_STEERS}][{_STEERS}]*")
# Runs of them, for a text of nothing else; and no [...]+, with which `re` tries the pattern at each character.

_STEERING_LEADS: Final = (b"\x7f", b"\xc2", b"\xd8", b"\xe2", b"\xef", b"\xf3")
# The first byte of each of those in UTF-8, the one in ASCII first.

_PLAIN: Final = bytes(range(0x7F))


def _tame(encoded: bytes) -> str:
    # Nearly always there is nothing to escape. So the looks go from the quickest to the slowest: for a byte, for what
    # is not printable, for the pattern; and where most of it is ASCII, only at the rest.
    text = encoded.decode()
    for lead in _STEERING_LEADS[:1] if text.isascii() else _STEERING_LEADS:
        if lead in encoded:
            rest = encoded.translate(None, _PLAIN).decode() if len(encoded) < 2 * len(text) else text
            return text if rest.isprintable() else _STEERING.sub(_escape, text)
    return text


def _escape(run: re.Match[str]) -> str:
    return "\\u" + run[0].encode("utf-16-be").hex("-", 2).replace("-", "\\u")


# -- Done -----------------------------------------------------------------------------------

_LISTED, _READ, _WRITTEN, _DELETED = (verb.value for verb in (Verb.LISTED, Verb.READ, Verb.WRITTEN, Verb.DELETED))
# Asked for once: the value of a member of an enum is a call of its own each time.


def listed(items: Iterable[Item]) -> Answer:
    """All keys with their descriptions."""
    memories = [{"key": _text(item.key), "description": line(item.description)} for item in items]
    return Answer(OK, {_LISTED: True, "memories": memories})


def read(key: str, entry: Entry) -> Answer:
    """One memory, verbatim; of what is longer than any that jsmemory writes, the beginning."""
    description, content = entry
    body = {_READ: True, "key": key, "description": _string(description), "content": _string(content)}
    if is_too_long(content):
        whole = content.encode()
        body["content"] = whole[:MAX_CONTENT_BYTES].decode(errors="ignore")
        body |= {"truncated": True, "content_bytes": len(whole)}
    # Once and here, where half of a surrogate pair fails the call as it does in `_text`.
    return Answer(OK, body, encoded=_encode(body))


def is_too_long(content: str) -> bool:
    """Whether a content is longer than what a model can afford to read, which another program has written."""
    # Its characters are counted first: that costs nothing, and nearly always tells.
    if content.isascii() or len(content) <= MAX_CONTENT_BYTES // 4:
        return len(content) > MAX_CONTENT_BYTES
    return len(content.encode()) > MAX_CONTENT_BYTES


def written(key: str) -> Answer:
    """The memory is stored."""
    return Answer(OK, {_WRITTEN: True, "key": key})


def deleted(key: str) -> Answer:
    """The memory is gone, and it was this call that removed it."""
    return Answer(OK, {_DELETED: True, "key": key})


def line(description: str) -> str:
    """
    A description to choose by, no longer than one that jsmemory writes.

    Somebody else's may take up the whole of an entry: a listing of those would fill a model's
    context many times over. A read gives all of it.
    """
    return _text(description)[:MAX_DESCRIPTION_LENGTH]


def _string(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError("The store answered with what is no text.")
    return value


def _text(value: str) -> str:
    # A store that answers with what is no text would fail the host later, where it encodes the answer.
    value.encode()
    return value


# -- Not done -------------------------------------------------------------------------------


def refused(verb: Verb, code: str, reason: str, cause: BaseException | None = None) -> Answer:
    """A proper call that what is stored does not allow, or an absent memory."""
    return Answer(code, {verb.value: False, "code": code, "reason": reason}, cause=cause)


def failed(verb: Verb, code: str, reason: str, *, is_known: bool = True, cause: BaseException | None = None) -> Answer:
    """The tool did not do its part; without `is_known` nobody knows whether it did."""
    return Answer(code, {verb.value: False if is_known else None, "code": code, "reason": reason}, True, cause)
