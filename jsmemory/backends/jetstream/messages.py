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
"""On the first value of a key, until it is replaced: the `Window` in which there was a place for it."""
DESCRIPTION: Final = "Jsm-Desc"
"""The description once more, percent-encoded: a listing needs no bodies."""
EXPECTED: Final = "Nats-Expected-Last-Subject-Sequence"
EXPECTED_WITHIN: Final = "Nats-Expected-Last-Subject-Sequence-Subject"
KV_OPERATION: Final = "KV-Operation"
EXPIRES_AFTER: Final = "Nats-TTL"
MARKER_REASON: Final = "Nats-Marker-Reason"
SOURCE: Final = "Nats-Stream-Source"
"""On a message that a stream took over from another one, where it had another sequence."""

_SEQUENCE: Final = re.compile(r"[0-9]{1,20}")

_WINDOW: Final = re.compile(r"([0-9]{1,20})-([0-9]{1,20})")

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


class Window(msgspec.Struct, frozen=True):
    """
    The sequences at which a first value is within the limit of entries, whatever others do meanwhile.

    Stored at another one it is provisional: no entry, and nobody's to show, until its writer has
    found a place for it and stored it once more.

    Attributes:
        after: The sequence that the bucket was known to have passed.
        until: The last one at which there is a place for certain; `after` where there may be none.
    """

    after: int
    until: int

    def holds(self, sequence: int) -> bool:
        """Whether what is stored at a sequence is an entry at once."""
        return self.after < sequence <= self.until

    @property
    def is_empty(self) -> bool:
        """Whether there is no such sequence: what is stored is provisional wherever that is."""
        return self.until <= self.after

    def __str__(self) -> str:
        return f"{self.after}-{self.until}"


class Message(msgspec.Struct, frozen=True):
    """
    What a subject holds: an entry's value, or something that says that there is none.

    Attributes:
        sequence: The stream sequence, which is the revision.
        value: The stored bytes; None for a delete or expiry marker, and for what is provisional.
        operation: Our id of the write; where another program wrote it, when it was stored.
        previous: The id of the write that it replaced, "" where it is not known.
        expected: The sequence that it replaced, None where it is not known.
        is_provisional: Whether it is a first value for which no place has been found yet.
    """

    sequence: int
    value: bytes | None
    operation: str = ""
    previous: str = ""
    expected: int | None = None
    is_provisional: bool = False

    def __repr__(self) -> str:
        return f"<Message at {self.sequence}>"

    @classmethod
    def of(cls, sequence: int, headers: Mapping[str, str], value: bytes, stored_at: str) -> "Message":
        """Read a message from its headers, its body and what the server says of it."""
        text = headers.get(EXPECTED, "")
        # Another program may have written anything there, also more digits than Python reads.
        expected = int(text) if _SEQUENCE.fullmatch(text) else None
        # A condition on more than the key says nothing about what the key itself held.
        is_of_key = EXPECTED_WITHIN not in headers
        provisional = is_provisional(headers, sequence)
        return cls(
            sequence,
            None if provisional or is_marker(headers) else value,
            headers.get(OPERATION) or stored_at,
            headers.get(PREVIOUS, ""),
            expected if is_of_key else None,
            provisional,
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


def is_provisional(headers: Mapping[str, str], sequence: int) -> bool:
    """Whether a message that is stored at a sequence is a first value without a place; never raises."""
    found = _WINDOW.fullmatch(headers.get(NEW, ""))
    if found is None:
        return False
    window = Window(int(found[1]), int(found[2]))
    # Where a stream was put together from others the sequences are not those that were meant.
    return not window.holds(sequence) and (window.is_empty or SOURCE not in headers)


def _parse_headers(block: bytes) -> dict[str, str]:
    headers = {}
    for line in block.split(b"\r\n")[1:]:
        name, _, text = line.decode(errors="replace").partition(":")
        headers[name] = text.strip()
    return headers
