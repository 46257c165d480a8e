"""What our headers say of a message: the description once more, and whether it is an entry yet."""

from urllib.parse import quote

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from jsmemory.backends.jetstream import messages
from jsmemory.entries import normalise_description

fuzz = settings(derandomize=True, deadline=None, max_examples=300, database=None)

PRINTABLE = "".join(chr(code) for code in range(0x20, 0x7F) if chr(code) != "%")


@fuzz
@given(st.text(max_size=500).map(normalise_description))
@example("plain")
@example("100 % and %41")
@example("日本語 cafés \U0001f600")
def test_a_description_in_a_header_is_ascii_and_comes_back(description: str) -> None:
    """A listing would show another line than a read, or none where a parser takes no more than ASCII."""
    encoded = messages.encode_description(description)
    assert encoded.isascii()
    assert encoded == quote(description, safe=PRINTABLE)
    assert messages.decode_description(encoded) == description


@fuzz
@given(st.integers(0, 2**63), st.integers(0, 2**63), st.integers(1, 2**63))
def test_a_first_value_tells_by_its_own_sequence_whether_it_is_an_entry(after: int, until: int, sequence: int) -> None:
    """Whoever reads it has to decide alike, and may have seen nothing but this message."""
    window = messages.Window(after, until)
    assert messages.is_provisional({messages.NEW: str(window)}, sequence) == (not after < sequence <= until)


@pytest.mark.parametrize(
    "text", ["", "1", "close", "0-", "-7", "0-7-9", "\u0660-\u0666", " 0-6", "0-6\n", "9" * 21 + "-6"]
)
def test_what_is_no_window_makes_no_value_invisible(text: str) -> None:
    """Another program may have written anything there, and its note is a note."""
    assert not messages.is_provisional({messages.NEW: text}, 7)


def test_a_message_that_was_taken_over_from_another_stream_is_what_it_was_there() -> None:
    """Its sequence is another one; an operator who moves a fleet must lose no note."""
    headers = {messages.NEW: "0-6"}
    assert messages.is_provisional(headers, 7)
    assert not messages.is_provisional(headers | {messages.SOURCE: "KV_old 3 $KV.old.> > $KV.old.p.k"}, 7)
