"""Drafts: what is stored is text, one line of it and a body, within the limits."""

import copy
import pickle

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from jsmemory.entries import Draft, Entry, Item, normalise_description
from jsmemory.errors import EntryTooLargeError, InvalidEntryError
from jsmemory.limits import MAX_CONTENT_BYTES, MAX_DESCRIPTION_LENGTH

fuzz = settings(derandomize=True, deadline=None, max_examples=300, database=None)

UNICODE_WHITE_SPACE = (
    "\t\n\x0b\x0c\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000"
)
CONTROLS = "".join(map(chr, [*range(0x20), 0x7F]))


# -- Description ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given_line", "stored"),
    [
        ("plain", "plain"),
        ("  both ends \n", "both ends"),
        ("two\nlines", "two lines"),
        ("a \t\r\n  b", "a b"),
        ("a\x00b\x1b[31mc\x7f", "a b [31mc"),
        ("a\u2028\u3000\xa0b", "a b"),
        ("zero\u200bwidth \ufeffstays", "zero\u200bwidth \ufeffstays"),
        ("\x9bC1 stays", "\x9bC1 stays"),
        ("x" * 501, "x" * 500),
        ("x" * 499 + " tail", "x" * 499),
        (" " * 600 + "late", "late"),
        ("\U0001f600" * 501, "\U0001f600" * 500),
        ("e\u0301" * 300, "e\u0301" * 250),
    ],
)
def test_a_description_becomes_one_line(given_line: str, stored: str) -> None:
    """An index of one line an entry would be torn apart, or steer the terminal that shows it."""
    assert normalise_description(given_line) == stored
    assert Draft.of(given_line, "").description == stored


@pytest.mark.parametrize("space", UNICODE_WHITE_SPACE)
def test_all_white_space_of_unicode_collapses(space: str) -> None:
    """A line separator that only some programs know would break the line in those."""
    assert normalise_description(f"{space}a{space}{space}b{space}") == "a b"


@pytest.mark.parametrize("control", CONTROLS)
def test_controls_become_spaces(control: str) -> None:
    """A control would reach the terminal of whoever lists the store."""
    assert normalise_description(f"a{control}b") == "a b"


@pytest.mark.parametrize("nothing", ["", " ", "\n\t", "\x00", "\x1b\x7f", UNICODE_WHITE_SPACE, CONTROLS])
def test_a_description_of_nothing_is_refused(nothing: str) -> None:
    """An entry without a line in the index is never found again."""
    with pytest.raises(InvalidEntryError) as refusal:
        Draft.of(nothing, "body")
    assert refusal.value.field == "description"


@fuzz
@given(st.text(max_size=700))
def test_normalising_keeps_its_promises(text: str) -> None:
    """A description would change each time that somebody copies an entry."""
    line = normalise_description(text)
    assert normalise_description(line) == line
    assert line == line.strip()
    assert len(line) <= MAX_DESCRIPTION_LENGTH
    assert not set(line) & set(CONTROLS)
    assert "  " not in line
    assert not set(line) & (set(UNICODE_WHITE_SPACE) - {" "})


@fuzz
@given(st.text(st.sampled_from(f"ab\xe9\u200b\ue000\U0001f600{UNICODE_WHITE_SPACE}{CONTROLS}"), max_size=12))
@example(" one")
@example("one two ")
@example("one  two")
@example("x" * MAX_DESCRIPTION_LENGTH)
@example("x" * (MAX_DESCRIPTION_LENGTH - 1) + " y")
def test_what_is_one_line_already_is_treated_as_all_others_are(text: str) -> None:
    """Whether a description was looked at closely must not show in it."""
    marked = normalise_description(f"{text}\n")
    assert normalise_description(text) == marked


# -- Content --------------------------------------------------------------------------------


@pytest.mark.parametrize("content", ["", "\n", "\x00", "\ufeff", "a\r\nb", "x" * MAX_CONTENT_BYTES, "é" * 32768])
def test_content_is_kept_byte_for_byte(content: str) -> None:
    """A patch, a table or a key that was noted down would no longer work."""
    assert Draft.of("d", content).content == content.encode()


@pytest.mark.parametrize("content", ["x" * 65537, "é" * 32769, "\U0001f600" * 16384 + "x"])
def test_content_is_measured_in_bytes(content: str) -> None:
    """A bucket that is sized as advised would refuse what the store let through."""
    with pytest.raises(EntryTooLargeError) as refusal:
        Draft.of("d", content)
    assert (refusal.value.size, refusal.value.limit) == (len(content.encode()), MAX_CONTENT_BYTES)


@pytest.mark.parametrize("half", ["\ud800", "a\udfffb", "\ude00\ud83d"])
def test_half_a_character_is_refused_by_name(half: str) -> None:
    """The write would fail deep inside a backend, with an error that no model can act on."""
    for field, description, content in (("description", half, "c"), ("content", "d", half)):
        with pytest.raises(InvalidEntryError, match="surrogate") as refusal:
            Draft.of(description, content)
        assert refusal.value.field == field
        assert refusal.value.__suppress_context__, "the codec's error carries the whole text"
        assert half not in str(refusal.value)


@pytest.mark.parametrize("no_text", [None, 1, b"bytes", ["a"], {"a": 1}, bytearray(b"a")])
def test_what_is_no_text_is_refused_by_name(no_text: object) -> None:
    """A tool that passes a number on would crash the run instead of being told."""
    for field, description, content in (("description", no_text, "c"), ("content", "d", no_text)):
        with pytest.raises(InvalidEntryError, match="not text") as refusal:
            Draft.of(description, content)
        assert refusal.value.field == field


def test_a_refusal_is_a_value_error() -> None:
    """A host that knows only Python's own errors would not catch it."""
    with pytest.raises(ValueError, match="description"):
        Draft.of("", "")


# -- Entry and Item -------------------------------------------------------------------------


def test_an_entry_unpacks_as_description_and_content() -> None:
    """The example of the documentation would not run."""
    description, content = Entry("k", "d", "c", "7")
    assert (description, content) == ("d", "c")


def test_no_repr_shows_content_or_revision() -> None:
    """A log line or a traceback would hold what an agent was told in confidence."""
    for shown in (repr(Entry("k", "d", "sesame", "rev-7")), repr(Draft.of("d", "sesame"))):
        assert "sesame" not in shown
        assert "rev-7" not in shown
    assert "'k'" in repr(Entry("k", "d", "sesame", "rev-7"))


@pytest.mark.parametrize("value", [Entry("k", "d", "c", "7"), Item("k", "d"), Draft.of("d", "c")])
def test_they_are_values(value: Entry | Item | Draft) -> None:
    """Shared between tasks, one of them could change what the others hold."""
    assert pickle.loads(pickle.dumps(value)) == value
    assert hash(copy.copy(value)) == hash(value)
    with pytest.raises(AttributeError):
        value.description = "other"  # type: ignore[misc]


def test_entries_differ_by_revision() -> None:
    """A change back to an older text would look as if nobody had written."""
    assert Entry("k", "d", "c", "7") != Entry("k", "d", "c", "8")
