"""Headers of incoming messages: read more quickly than nats-py does, and no differently."""

from hypothesis import example, given, settings
from hypothesis import strategies as st
from nats.aio.client import Client

from jsmemory.connecting import headers
from jsmemory.connecting.clients import SafeClient
from jsmemory.connecting.headers import parse_headers

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
    before = headers._known_name.cache_info().currsize
    assert parse_headers(b"L" * 100_000 + b": 1\r\n") == {"L" * 100_000: "1"}
    assert headers._known_name.cache_info().currsize == before
