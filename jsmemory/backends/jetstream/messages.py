"""One KV message: the headers that the store puts on it, and what is read from one that came."""

import re
import secrets
from collections.abc import Mapping
from typing import Final
from urllib.parse import unquote

import msgspec
from nats.aio.msg import Msg

from jsmemory.entries import normalise_description

# Short names: nats-py looks at every character of a header's name, in every message of a listing.
OPERATION: Final = "Jsm-Op"
"""The id of the write that stored the message: how a lost acknowledgement is settled."""
PREVIOUS: Final = "Jsm-Prev"
"""The id of the write whose value this one replaced, where the writer knew it."""
NEW: Final = "Jsm-New"
"""On the first value of a key in a replicated bucket, until it is replaced: see `capacity`."""
CLOSE: Final = "close"
"""What `NEW` says where there were so few places that the value may have been taken back since; else ``1``."""
DESCRIPTION: Final = "Jsm-Desc"
"""The description once more, percent-encoded: a listing needs no bodies."""
EXPECTED: Final = "Nats-Expected-Last-Subject-Sequence"
EXPECTED_WITHIN: Final = "Nats-Expected-Last-Subject-Sequence-Subject"
KV_OPERATION: Final = "KV-Operation"
EXPIRES_AFTER: Final = "Nats-TTL"
MARKER_REASON: Final = "Nats-Marker-Reason"

_SEQUENCE: Final = re.compile(r"[0-9]{1,20}")

_HEADERS_AT_MOST: Final = 8 * 1024
# Bytes that our headers can have: 500 code points of 12 bytes once encoded, and the subjects.

_QUOTED: Final = re.compile("[^ -$&-~]+")
# Every printable ASCII character stands for itself; the rest is percent-encoded UTF-8, since
# not every header parser that nats-py can use gives non-ASCII values back.


def new_operation() -> str:
    """An id that nobody can guess: a foreign write must not pass for our own."""
    return secrets.token_hex(16)


def encode_description(description: str) -> str:
    """A description as a header value."""
    if description.isascii() and "%" not in description:
        return description
    return _QUOTED.sub(lambda found: "%" + found[0].encode().hex("%").upper(), description)


def decode_description(value: str) -> str:
    """The description in a header value, one line whoever wrote it; never raises."""
    if value.isascii() and "%" not in value:
        return value
    return normalise_description(unquote(value, errors="replace"))


def fits(headers: Mapping[str, str], value: bytes, cap: int) -> bool:
    """Whether a message of these headers and this value is within the bucket's and the server's cap in bytes."""
    if len(value) < cap - _HEADERS_AT_MOST:
        return True
    frame = len("NATS/1.0\r\n\r\n")
    return frame + sum(len(name) + len(text) + len(": \r\n") for name, text in headers.items()) + len(value) <= cap


class Message(msgspec.Struct, frozen=True):
    """
    What a subject holds: a value, or a marker that there is none.

    Attributes:
        sequence: The stream sequence, which is the revision.
        value: The stored bytes; None for a delete or expiry marker.
        operation: Our id of the write; where another program wrote it, when it was stored.
        previous: The id of the write that it replaced, "" where it is not known.
        expected: The sequence that it replaced, None where it is not known.
        expected_within: The last sequence of its prefix that it was conditional on, None without.
        may_be_taken_back: Whether it was stored so close to the limit of entries that it may have been
            one too many, and be gone: a replica that lags goes on to show it.
    """

    sequence: int
    value: bytes | None
    operation: str = ""
    previous: str = ""
    expected: int | None = None
    expected_within: int | None = None
    may_be_taken_back: bool = False

    def __repr__(self) -> str:
        return f"<Message at {self.sequence}>"

    @classmethod
    def of(cls, sequence: int, headers: Mapping[str, str], value: bytes, stored_at: str) -> "Message":
        """Read a message from its headers, its body and what the server says of it."""
        text = headers.get(EXPECTED, "")
        # Another program may have written anything there, also more digits than Python reads.
        expected = int(text) if _SEQUENCE.fullmatch(text) else None
        # A condition on the whole prefix says nothing about what the key itself held.
        of_prefix = EXPECTED_WITHIN in headers
        return cls(
            sequence,
            None if is_marker(headers) else value,
            headers.get(OPERATION) or stored_at,
            headers.get(PREVIOUS, ""),
            None if of_prefix else expected,
            expected if of_prefix else None,
            headers.get(NEW) == CLOSE,
        )

    @classmethod
    def from_direct_get(cls, message: Msg) -> "Message | None":
        """The answer of a direct get; None where the subject holds no message."""
        headers = message.headers or {}
        sequence = headers.get("Nats-Sequence")
        if sequence is None:
            return None
        return cls.of(int(sequence), headers, message.data, headers.get("Nats-Time-Stamp", ""))

    @classmethod
    def from_leader_get(cls, answer: "StoredMessage") -> "Message":
        """The message in the answer of a get from the stream's leader."""
        return cls.of(answer.seq, _parse_headers(answer.hdrs), answer.data, answer.time)


class StoredMessage(msgspec.Struct, frozen=True):
    """A message as the JetStream API writes it in JSON; bytes travel as base64."""

    seq: int
    data: bytes = b""
    hdrs: bytes = b""
    time: str = ""


def is_marker(headers: Mapping[str, str]) -> bool:
    """Whether a message says that its key is gone: a client's tombstone or a server's marker."""
    return headers.get(KV_OPERATION) in ("DEL", "PURGE") or MARKER_REASON in headers


def _parse_headers(block: bytes) -> dict[str, str]:
    headers = {}
    for line in block.split(b"\r\n")[1:]:
        name, _, text = line.decode(errors="replace").partition(":")
        headers[name] = text.strip()
    return headers
