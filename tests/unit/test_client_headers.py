"""Headers of messages: read and written more quickly than nats-py does it, and no differently."""

import asyncio

import nats.errors
from hypothesis import example, given, settings
from hypothesis import strategies as st
from nats.aio.client import Client

from jsmemory.connecting import headers
from jsmemory.connecting.clients import SafeClient
from jsmemory.connecting.headers import parse_headers, write_headers

fuzz = settings(derandomize=True, deadline=None, max_examples=1000, database=None)

STORED = (
    b"Jsm-Op: 4711\r\nNats-Expected-Last-Subject-Sequence: 12\r\nJsm-Desc: caf%C3%A9s, a colon: here\r\n"
    b"Nats-Sequence: 13\r\nNats-Time-Stamp: 2025-11-29T22:32:44.123456789Z\r\n\r\n"
)

PIECES = st.sampled_from(
    [b"\r\n", b"\r", b"\n", b":", b": ", b" ", b"\t", b"\x1c", b"\x0b", b"\xc2\xa0", b"\xff", "é".encode(), b"Jsm-Op"]
)


@fuzz
@given(st.lists(PIECES | st.binary(max_size=3), max_size=30).map(b"".join))
@example(STORED)
@example(b"Twice: 1\r\nTwice: 2\r\n\r\n")
@example(b"In side: 1\r\n\x1c: 2\r\n : 3\r\n: 4\r\nNo colon\r\nTab:\t5\t\r\nL\xc3\xa4nge: 6\r\n")
@example(b"N" * 64 + b": 1\r\n" + b"M" * 65 + b": 2\r\n" + b"M" * 65 + b" x: 3\r\n")
def test_headers_are_read_as_the_client_library_reads_them(block: bytes) -> None:
    """A header that only one of two readers sees would make one of them take a marker for a value."""
    assert parse_headers(block) == Client._parse_header_lines(block)


def test_a_client_reads_headers_in_this_way() -> None:
    """Were the library's method called otherwise one day, listings would be slow again, and nobody would know why."""
    assert SafeClient(tls_required=False)._parse_header_lines(STORED) == parse_headers(STORED)
    assert SafeClient._parse_header_lines is not Client._parse_header_lines


def test_what_somebody_thought_up_is_not_kept() -> None:
    """Headers may have a megabyte: a stranger's names would fill the memory of every worker that lists."""
    headers._known_name.cache_clear()
    assert parse_headers(b"L" * 100_000 + b": 1\r\n") == {"L" * 100_000: "1"}
    assert headers._known_name.cache_info().currsize == 0


class Sends:
    """Keeps what a client would send."""

    sent: bytes
    _flush_queue = None

    async def _send_command(self, command: bytes, priority: bool = False) -> None:
        self.sent = command


class TheirClient(Sends, Client):
    pass


class OurClient(Sends, SafeClient):
    pass


async def sent_by(client: TheirClient | OurClient, headers: dict[str, str] | None, reply: str) -> object:
    try:
        await client._send_publish("subject", reply, b"payload", 7, headers)
    except nats.errors.BadHeaderError as refusal:
        return str(refusal)
    return client.sent, client.stats


CHARACTERS = st.sampled_from("ab-:! \t\r\n\x00\x1c\x85\xa0\xe9\u2028%")
NAMES = st.text(CHARACTERS, max_size=4) | st.just("Jsm-Op")


@fuzz
@given(st.none() | st.dictionaries(NAMES, st.text(CHARACTERS, max_size=6), max_size=4), st.sampled_from(["", "inbox"]))
@example({"Jsm-Op": "4711", "Jsm-Desc": "caf%C3%A9s, a colon: here", " Jsm-Prev ": " 4710\r\nForged: 1 "}, "inbox")
@example({"": "nothing", "N" * 64: "kept", "M" * 65: "not kept"}, "")
@example({"M" * 65 + " x": "no name"}, "")
def test_headers_are_written_as_the_client_library_writes_them(headers: dict[str, str] | None, reply: str) -> None:
    """A server cuts off a client whose bytes it cannot read; a line that is smuggled in would forge a condition."""
    theirs = asyncio.run(sent_by(TheirClient(), headers, reply))
    assert asyncio.run(sent_by(OurClient(tls_required=False), headers, reply)) == theirs


def test_a_name_that_a_program_thought_up_is_not_kept() -> None:
    """As above, for what goes out."""
    headers._known_token.cache_clear()
    assert b"L: 1" in write_headers({"L" * 100_000: "1"})
    assert headers._known_token.cache_info().currsize == 0
