"""The description once more, in a header: what a listing shows without the body."""

from urllib.parse import quote

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
