"""The stored format: what is written fits and is read by anybody; what is read never raises."""

import base64
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st

from jsmemory import frontmatter
from jsmemory.entries import Draft
from jsmemory.errors import InvalidEntryError
from jsmemory.frontmatter import parse, read_description, serialise
from jsmemory.limits import MAX_CONTENT_BYTES, MAX_DESCRIPTION_LENGTH, MAX_ENTRY_BYTES, MAX_HEADER_BYTES

VECTORS = Path(__file__).parents[1] / "data" / "vectors"
LOADERS = {"libyaml": yaml.CBaseLoader, "pure": yaml.BaseLoader}
DUMPERS = {"libyaml": yaml.CBaseDumper, "pure": yaml.BaseDumper}

fuzz = settings(derandomize=True, deadline=None, max_examples=300, database=None)


def lines_of(name: str) -> Iterator[dict[str, Any]]:
    with (VECTORS / name).open(encoding="utf-8") as file:
        for line in file:
            fields = json.loads(line)
            if "stored_b64" in fields:
                fields["stored"] = base64.b64decode(fields["stored_b64"])
            yield fields


WRITTEN = [fields for fields in lines_of("write.jsonl") if "error" not in fields]
REFUSED = [fields for fields in lines_of("write.jsonl") if "error" in fields]
FOUND = list(lines_of("read.jsonl"))


@pytest.fixture(params=LOADERS)
def implementation(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Both of PyYAML's implementations: which one a host has is not jsmemory's choice."""
    name: str = request.param
    monkeypatch.setattr(frontmatter, "_LOADER", LOADERS[name])
    monkeypatch.setattr(frontmatter, "_DUMPER", DUMPERS[name])
    return name


def with_every_parser(header: bytes) -> list[str | None]:
    """What the general path, not the quick one, makes of a header; once a parser."""
    answers: list[str | None] = []
    for loader in LOADERS.values():
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(frontmatter, "_LOADER", loader)
            answers.append(frontmatter._parse_header(frontmatter._decode(header)))
    return answers


def header_of(value: bytes, content: bytes) -> bytes:
    assert value.endswith(content)
    return value[: len(value) - len(content)]


# -- The vectors ----------------------------------------------------------------------------


def test_the_vectors_are_all_there() -> None:
    """A truncated copy would pass every test below and prove nothing."""
    assert (len(WRITTEN), len(REFUSED), len(FOUND)) == (2145, 11, 254)
    assert sum(not fields["round_trips"] for fields in WRITTEN) == 16


def test_what_the_other_program_wrote_is_read(implementation: str) -> None:
    """Two programs on one bucket: a memory that one wrote would be garbled by the other."""
    wrong = [fields for fields in WRITTEN if parse(fields["stored"]) != (fields["normalized"], fields["content"])]
    assert wrong == []


def test_what_is_found_is_read_as_the_other_program_reads_it(implementation: str) -> None:
    """Two readers that disagree about a hand-made value would overwrite each other's text."""
    wrong = [fields for fields in FOUND if parse(fields["stored"]) != (fields["description"], fields["content"])]
    assert wrong == []


def test_descriptions_are_normalised_as_the_other_program_does() -> None:
    """An index would show two lines for what is one description."""
    drafts = [(Draft.of(fields["description"], fields["content"]), fields) for fields in WRITTEN]
    # The other program cuts and leaves it at that; here the cut is trimmed, so that no
    # description ends in a space. One line of the vectors has one there.
    assert [fields for draft, fields in drafts if draft.description != fields["normalized"].rstrip(" ")] == []
    assert sum(fields["normalized"].endswith(" ") for fields in WRITTEN) == 1
    assert [fields for draft, fields in drafts if draft.content != fields["content"].encode()] == []


def test_what_the_other_program_refuses_is_refused() -> None:
    """An entry without a description is invisible to a model that reads the index."""
    for fields in REFUSED:
        with pytest.raises(InvalidEntryError):
            Draft.of(fields["description"], fields["content"])


def test_what_is_written_is_read_back(implementation: str) -> None:
    """A memory that cannot be read back was lost when it was written."""
    for fields in WRITTEN:
        draft = Draft.of(fields["description"], fields["content"])
        value = serialise(draft)
        assert parse(value) == (draft.description, fields["content"])
        assert len(header_of(value, draft.content)) <= MAX_HEADER_BYTES


def test_a_listing_shows_the_description_that_a_read_returns(implementation: str) -> None:
    """A model would look for an entry by a line that the entry does not carry."""
    values = [fields["stored"] for fields in WRITTEN + FOUND]
    assert [value for value in values if read_description(value) != parse(value)[0]] == []


# -- Writing --------------------------------------------------------------------------------


def by_the_emitter(draft: Draft) -> bytes:
    """What is written where nothing is taken for granted about the description."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(frontmatter, "_ESCAPED", re.compile(""))
        return serialise(draft)


def test_every_character_is_written_as_the_emitter_writes_it(implementation: str) -> None:
    """Two processes that write one entry in different bytes would each take the other's for a change."""
    everything = "".join(map(chr, [*range(0xD800), *range(0xE000, 0x110000)]))
    plain = re.sub(frontmatter._ESCAPED, "", everything)
    assert len(everything) - len(plain) < 100
    for begin in range(0, len(plain), MAX_DESCRIPTION_LENGTH):
        draft = Draft(plain[begin : begin + MAX_DESCRIPTION_LENGTH], b"")
        assert serialise(draft) == by_the_emitter(draft)


@fuzz
@given(st.text(min_size=1, max_size=MAX_DESCRIPTION_LENGTH))
@example("- ? : , [ ] { } # & * ! | > ' % @ ` ~ null 0x1F")
@example('a "quoted" and a back\\slash')
@example("\U0001f600 beyond the plane, and a tab \t")
def test_every_description_is_written_as_the_emitter_writes_it(description: str) -> None:
    """As above, for the characters beside each other."""
    draft = Draft(description, b"content")
    assert serialise(draft) == by_the_emitter(draft)


WORST = {
    "double quote": '"' * 500,
    "single quote": "'" * 500,
    "backslash": "\\" * 500,
    "first C1 control": "\x80" * 500,
    "escape of eight-bit terminals": "\x9b" * 500,
    "last C1 control": "\x9f" * 500,
    "byte order mark": "\ufeff" * 500,
    "noncharacter FFFE": "\ufffe" * 500,
    "noncharacter FFFF": "\uffff" * 500,
    "last of the basic plane that is printed": "\ufffd" * 500,
    "noncharacter 1FFFF": "\U0001ffff" * 500,
    "last code point": "\U0010ffff" * 500,
    "private use plane": "\U000f0000" * 500,
    "emoji": "\U0001f600" * 500,
    "emoji and one C1 control": "\U0001f600" * 499 + "\x9b",
    "bidi override": "\u202e" * 500,
    "words": "a b " * 124 + "abcd",
    "words of one letter": "a " * 249 + "bc",
    "mixed": ('"\\\x80\x9b\ufeff\ufffe\uffff\U0010ffff\U0001f600é' * 50),
    "escapes spelled out": "\\U0001F600" * 50,
    "backslashes before an emoji": "\\\\\U0001f600\\\U0001f600" * 100,
}


@pytest.mark.parametrize("description", WORST.values(), ids=WORST.keys())
def test_the_longest_descriptions_fit_the_header(description: str, implementation: str) -> None:
    """Fault 13: a legal entry would be refused by a bucket that is sized as advised."""
    draft = Draft.of(description, "x" * MAX_CONTENT_BYTES)
    assert len(draft.description) == MAX_DESCRIPTION_LENGTH
    value = serialise(draft)
    header = header_of(value, draft.content)
    assert len(header) <= MAX_HEADER_BYTES
    assert len(value) <= MAX_ENTRY_BYTES
    assert header.splitlines()[2:] == [b"---", b""], "the description is on one line"
    assert parse(value) == (description, "x" * MAX_CONTENT_BYTES)
    assert yaml.safe_load(header.split(b"\n")[1]) == {"description": description}


def test_every_code_point_costs_six_bytes_at_most_and_comes_back() -> None:
    """A description in some script would be cut short, changed or refused, and no test of ASCII would tell."""
    legal = [code for code in range(sys.maxunicode + 1) if not 0xD800 <= code <= 0xDFFF]
    for start in range(0, len(legal), MAX_DESCRIPTION_LENGTH):
        description = Draft.of("x" + "".join(map(chr, legal[start : start + MAX_DESCRIPTION_LENGTH - 2])) + "x", "")
        value = serialise(description)
        assert parse(value) == (description.description, "")
        assert len(value) <= len(b'---\ndescription: ""\n---\n\n') + 6 * len(description.description)


def test_both_emitters_write_the_same_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    """A revision that is derived from the bytes would differ between two hosts of one store."""
    drafts = [Draft.of(text, "") for text in WORST.values()]
    drafts += [Draft.of(fields["description"], "") for fields in WRITTEN]
    drafts += [Draft.of("x" + "".join(map(chr, range(start, start + 256))), "") for start in range(0, 0xD800, 256)]
    drafts += [
        Draft.of("x" + "".join(map(chr, range(start, start + 256))), "") for start in range(0xE000, 0x11000, 256)
    ]
    written = {}
    for name, dumper in DUMPERS.items():
        monkeypatch.setattr(frontmatter, "_DUMPER", dumper)
        written[name] = [serialise(draft) for draft in drafts]
    assert written["libyaml"] == written["pure"]


@pytest.mark.parametrize(
    "description",
    [
        *("yes", "No", "on", "true", "null", "~", "=", "<<", "0x1F", "1.50", "0o17", "1_000", ".inf", ".nan"),
        *("12:30:45", "2024-01-01", "? q", "- a", "-", "# c", "a #b", "a: b", "key:", "[a]", "{a: 1}", "*a", "&a"),
        *("!t", "|", ">", "%", "@", "`x`", "'", '"', '"open', "'it''s'", "---", "...", "--- a", ",x", "}x"),
        *("\\", "\\n", "\\x41", "\\ud83d\\ude00"),
    ],
)
def test_a_description_stays_text_for_every_reader_of_yaml(description: str, implementation: str) -> None:
    """A person who reads the file with another tool would see a number, a date or an error."""
    value = serialise(Draft.of(description, "body"))
    assert value.startswith(b'---\ndescription: "')
    assert yaml.safe_load(value.split(b"\n")[1]) == {"description": description}
    assert parse(value) == (description, "body")


def test_text_that_looks_like_an_escape_stays_text() -> None:
    """A note about escapes would come back as the character that it writes about."""
    for description in ("\\U0001F600", "\\\\U0001F600", "\U0001f600\\U0001F600", "\\\U0001f600", "\\\\\U0001f600"):
        value = serialise(Draft.of(description, ""))
        assert parse(value) == (description, "")
        assert ("\U0001f600" in description) == ("\U0001f600".encode() in value)


@pytest.mark.parametrize(
    "content",
    [
        *("", "\n", "\n\n", "---\n", "\n---\n", "---", "---\ndescription: fake\n---\n\nbody", "...\n"),
        *("\ufeffbom", "\x00\x1b[2J", "a\r\nb\r", " \t ", "\u2028\x85", "\U0010ffff\ufffe"),
    ],
)
def test_content_comes_back_byte_for_byte(content: str, implementation: str) -> None:
    """Fault 34: a body that contains the delimiter would be split, or lose its first lines."""
    value = serialise(Draft.of("d", content))
    assert value == b'---\ndescription: "d"\n---\n\n' + content.encode()
    assert parse(value) == ("d", content)


# -- Reading what others wrote --------------------------------------------------------------


def in_header(header: str, content: str = "body") -> bytes:
    return f"---\n{header}\n---\n\n{content}".encode()


@pytest.mark.parametrize(
    ("header", "description"),
    [
        (json.dumps({"description": "\U0001f600 é"}), "\U0001f600 é"),
        ('description: "\\ud83d\\ude00\\U0001F600"', "\U0001f600\U0001f600"),
        ('description: "a\\ud83d b \\uDE00 c"', "a\ufffd b \ufffd c"),
        ('description: "\\U0000d83d"', "\ufffd"),
        ('description: "\\\\ud83d\\\\ude00"', "\\ud83d\\ude00"),
        ("description: \\ud83d\\ude00", "\\ud83d\\ude00"),
        ("description: '\\ud83d\\ude00'", "\\ud83d\\ude00"),
        ("description: a\u2028b\x85c\u2029d", "a\u2028b\x85c\u2029d"),
        ('description: "\x1b[0m\x00\x7f\x9b\uffff"', "\x1b[0m\x00\x7f\x9b\uffff"),
        ("description: |-\n  \ufeffone\n  \x01two", "\ufeffone\n\x01two"),
        ("description: \U000f0000\x01\U000f0001", "\U000f0000\x01\U000f0001"),
        ("? description\n: d", "d"),
        ("other: &a x\ndescription: *a", "x"),
        ("tags:\n- a\n- {b: [c]}\ndescription: d\nmore: |\n  description: no", "d"),
        ("x: {description: inner}", ""),
        ("description: !!str 0x1F", "0x1F"),
        ("description: >-\n  0x1F", "0x1F"),
        ("description: 'null'", "null"),
        ("description: FALSE", "false"),
        ("description: -0b11", "-3"),
        ("description: 017", "15"),
        ("description: 08", "08"),
        ("description: +1_000", "1000"),
        ("description: _1", "_1"),
        ("description: 0xFFFFFFFFFFFFFFFF", "18446744073709551615"),
        ("description: 0x10000000000000000", "0x10000000000000000"),
        ("description: -0x8000000000000001", "-0x8000000000000001"),
        ("description: 2620484.0", "2.620484e+06"),
        ("description: -0.0", "-0"),
        ("description: .00001", "1e-05"),
        ("description: 1.5e400", "1.5e400"),
        ("description: 1e3", "1e3"),
        ("description: -.INF", "-.INF"),
        ("description: ? q", "? q"),
        ("description: ?", "?"),
    ],
)
def test_a_header_that_another_program_wrote_is_understood(header: str, description: str, implementation: str) -> None:
    """A line that is plain to its author would be missing from the index."""
    assert parse(in_header(header)) == (description, "body")


@pytest.mark.parametrize(
    "header",
    [
        "description: d\n...\nlost?",
        "description: d\n--- x",
        "description: d\n--- {other: 1}",
        "description: d\ndescription: d",
        "other: 1\nother: 2\ndescription: d",
        "other: *nothing\ndescription: d",
        "other: &a [x]\ndescription: *a",
        "description: {a: 1}",
        "description:\n  - a",
        "? [x]\n: d",
        "just text",
        "~",
        "- a",
        "*a",
        "description: a: b",
        "description: d\nnot yaml",
        'description: "\\U00110000"',
        'description: "\\q"',
        "description: ? a: b",
        "\tdescription: d",
    ],
)
def test_what_is_no_header_stays_part_of_the_content(header: str, implementation: str) -> None:
    """Fault 35: whoever edits broken front matter by hand would find it wiped after the next update."""
    value = in_header(header)
    assert parse(value) == ("", value.decode())
    assert read_description(value) == ""


@pytest.mark.parametrize(
    "value",
    [b"---\r\ndescription: d\r\n---\r\n", b"---", b"---\n", b"---\n---", b"---\n---\n", b"--- \ndescription: d\n---\n"],
)
def test_only_whole_delimiters_delimit(value: bytes) -> None:
    """A line that merely begins like a delimiter would swallow the text around it."""
    assert parse(value) == ("", value.decode())


def test_bytes_that_are_no_utf_8_become_one_replacement_each() -> None:
    """One bad byte in a file would make the entry unreadable, or shift what other readers see."""
    assert parse(b'---\ndescription: "\xe2\x82 \xff"\n---\n\n\xed\xa0\x80\xf0\x9f') == (
        "\ufffd\ufffd \ufffd",
        "\ufffd\ufffd\ufffd\ufffd\ufffd",
    )


def test_a_header_beyond_any_measure_is_no_header() -> None:
    """A planted value would keep every process that lists the store busy."""
    within = in_header('description: "' + "a" * (64 * 1024 - 15) + '"')
    assert len(read_description(within)) == 64 * 1024 - 15
    beyond = in_header('description: "' + "a" * (64 * 1024 - 14) + '"')
    assert parse(beyond) == ("", beyond.decode())


@pytest.mark.parametrize("opening", ["[", "{", "a: [", "- ", "? ", "{a: "])
def test_depth_costs_nothing(opening: str, implementation: str) -> None:
    """A planted value of brackets would end the process by recursion."""
    value = in_header(opening * (60_000 // len(opening)))
    assert parse(value) == ("", value.decode())


def test_a_header_is_a_list_of_fields_and_not_a_tree(implementation: str) -> None:
    """What is refused for its depth would depend on the parser that a host happens to have."""
    for depth, description in ((31, "d"), (32, ""), (500, ""), (2000, "")):
        value = in_header("tags: " + "[" * depth + "]" * depth + "\ndescription: d")
        assert parse(value)[0] == description


def test_aliases_are_not_multiplied_out(implementation: str) -> None:
    """Ten lines of aliases would be a list of 2 to the 1,000th items in memory."""
    lines = ["a0: &a0 [x, x]", *(f"a{i}: &a{i} [*a{i - 1}, *a{i - 1}]" for i in range(1, 1000)), "description: d"]
    assert parse(in_header("\n".join(lines))) == ("d", "body")


# -- Any bytes at all -----------------------------------------------------------------------

PIECES = (
    *(b"---\n", b"\n---\n", b"...", b"description: ", b'"', b"'", b": ", b"- ", b"? ", b"&a ", b"*a", b"<<: "),
    *(b"!!str ", b"|\n ", b">", b"#", b"%", b"[", b"]", b"{", b"}", b",", b"\\", b"\\ud83d", b"\\x", b"0x1F"),
    *(b"\\U00110000", b"\\U0000D83D"),
    *(b"\n", b"\r", b"\t", b" ", b"\x00", b"\xff", b"\xc2\x85", b"\xe2\x80\xa8", b"\xef\xbb\xbf", b"\xf0\x9f\x98\x80"),
)
pieces = st.lists(st.sampled_from(PIECES) | st.binary(max_size=3), max_size=12).map(b"".join)


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    value: bytes = draw(st.sampled_from(WRITTEN + FOUND))["stored"][:200]
    for _ in range(draw(st.integers(1, 3))):
        start = draw(st.integers(0, len(value)))
        value = value[:start] + draw(pieces) + value[start + draw(st.integers(0, 4)) :]
    return value


@fuzz
@given(st.binary() | pieces | pieces.map(lambda header: b"---\n" + header + b"\n---\n") | damaged())
def test_reading_never_raises(value: bytes) -> None:
    """One value that cannot be read would take the whole listing away from everybody."""
    for loader in LOADERS.values():
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(frontmatter, "_LOADER", loader)
            description, content = parse(value)
            assert read_description(value) == description
        description.encode()
        content.encode()
        if not description:
            continue
        assert value.startswith(b"---\n")
        assert len(content.encode()) < len(value) * 3


@fuzz
@given(st.text(min_size=1, max_size=600), st.text())
def test_any_draft_comes_back(description: str, content: str) -> None:
    """A memory that cannot be read back was lost when it was written."""
    if not description.strip("".join(map(chr, range(0x21))) + "\x7f"):
        description += "x"
    draft = Draft.of(f"{description}.", content)
    value = serialise(draft)
    header = header_of(value, draft.content)
    assert parse(value) == (draft.description, content)
    assert len(header) <= MAX_HEADER_BYTES
    assert with_every_parser(header.removeprefix(b"---\n").removesuffix(b"\n---\n\n")) == [draft.description] * 2
    assert yaml.safe_load(header.split(b"\n")[1]) == {"description": draft.description}


@fuzz
@given(
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters='"\\'), max_size=40).map(str.encode)
    | st.binary(max_size=20)
)
def test_the_quick_way_to_read_answers_as_the_general_one(text: bytes) -> None:
    """A description would change with how it happens to be read."""
    header = b'description: "' + text + b'"'
    if frontmatter._WRITTEN_HERE.fullmatch(header):
        assert [frontmatter._description_in(header)] * 2 == with_every_parser(header)


def test_the_quick_way_is_taken_for_what_is_written_here() -> None:
    """A listing of a full store would start a parser for each of its 1,024 entries."""
    value = serialise(Draft.of("Ünïcode: 'yes', # and \U0001f600", ""))
    assert frontmatter._WRITTEN_HERE.fullmatch(value.split(b"\n")[1])
