"""What models send: each malformed call gets a clear answer, in bounded time, and reaches no store."""

import contextlib
import json
import string
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jsmemory import InProcessStore, MemoryTools, Scope
from jsmemory.keys import is_legal_key
from jsmemory.limits import MAX_CONTENT_BYTES, MAX_DESCRIPTION_LENGTH, MAX_KEY_LENGTH
from jsmemory.testing.corpora import (
    CONTENTS,
    CONTENTS_TOO_LARGE,
    DESCRIPTIONS,
    EMPTY_DESCRIPTIONS,
    ILLEGAL_KEYS,
    LEGAL_KEYS,
    LONE_SURROGATES,
    NO_TEXT,
)
from jsmemory.tools import Answer
from jsmemory.tools.arguments import (
    MAX_ARGUMENTS_LENGTH,
    DeleteArguments,
    ListArguments,
    ReadArguments,
    UnfitArguments,
    WriteArguments,
    decode,
    schema_of,
)

fuzz = settings(derandomize=True, deadline=None, max_examples=200, database=None)

GOOD = {"key": "build", "description": "a line", "content": "text"}
MEGABYTES = 10_000_000


async def written(arguments: object) -> Answer:
    """Call memory_write on a store that must stay empty unless the answer is ok."""
    store = InProcessStore()
    answer = await MemoryTools(store, Scope()).call("memory_write", arguments)
    assert len(await store.list()) == (1 if answer.body["written"] is True else 0)
    return answer


def in_every_form(arguments: object) -> list[object]:
    """As a mapping, and as the JSON text that some providers pass on."""
    return [arguments, json.dumps(arguments), json.dumps(arguments).encode()]


@pytest.mark.parametrize(
    ("change", "code", "named"),
    [
        ({"key": ...}, "invalid_arguments", "key is missing"),
        ({"description": ...}, "invalid_arguments", "description is missing"),
        ({"content": ...}, "invalid_arguments", "content is missing"),
        ({"extra": 1}, "invalid_arguments", "no argument extra"),
        ({"Key": "a"}, "invalid_arguments", "no argument Key"),
        ({"scope": {}}, "invalid_arguments", "no argument scope"),
        ({"key": None}, "invalid_arguments", "key has a wrong type"),
        ({"key": 7}, "invalid_arguments", "key has a wrong type"),
        ({"key": ["a"]}, "invalid_arguments", "key has a wrong type"),
        ({"description": None}, "invalid_arguments", "description has a wrong type"),
        ({"description": {"a": 1}}, "invalid_arguments", "description has a wrong type"),
        ({"content": None}, "invalid_arguments", "content has a wrong type"),
        ({"content": 1.5}, "invalid_arguments", "content has a wrong type"),
        ({"content": ["line"]}, "invalid_arguments", "content has a wrong type"),
        ({"overwrite": None}, "invalid_arguments", "overwrite has a wrong type"),
        ({"overwrite": 1}, "invalid_arguments", "overwrite has a wrong type"),
        ({"overwrite": "true"}, "invalid_arguments", "overwrite has a wrong type"),
        ({"overwrite": []}, "invalid_arguments", "overwrite has a wrong type"),
        ({"key": ""}, "invalid_key", "key"),
        ({"key": "a/b"}, "invalid_key", "key"),
        ({"key": "a\n"}, "invalid_key", "key"),
        ({"key": "k" * 201}, "invalid_key", "key"),
        ({"description": ""}, "invalid_entry", "description"),
        ({"description": "d" * 501}, "invalid_entry", "501 characters"),
        ({"content": "x" * 65_537}, "entry_too_large", "65537 bytes"),
        ({"content": "\U0001f4a1" * 16_385}, "entry_too_large", "65536 bytes"),
    ],
)
async def test_a_call_that_is_not_as_the_schema_says_names_what_is_wrong(
    change: dict[str, Any], code: str, named: str
) -> None:
    """A model that is told what to mend mends it; one that is told "error" says that memory is broken."""
    arguments = {name: value for name, value in {**GOOD, **change}.items() if value is not ...}
    for form in in_every_form(arguments):
        answer = await written(form)
        assert answer.body["written"] is False
        assert answer.code == code
        assert named in answer.body["reason"]
        assert answer.is_error


async def test_several_things_that_are_wrong_are_told_at_once() -> None:
    """One round trip of a model for each mistake is one too many."""
    answer = await written({"key": "a/b", "descriptoin": "a typo", "overwrite": "yes"})
    assert answer.code == "invalid_arguments"
    for part in ("key is malformed", "no argument descriptoin", "description is missing", "overwrite has a wrong type"):
        assert part in answer.body["reason"]


@pytest.mark.parametrize(
    "arguments",
    [
        None,
        True,
        7,
        "not json",
        "null",
        "7",
        '"text"',
        "[]",
        "{",
        '{"key": "a"',
        "{'key': 'a'}",
        '{"key": NaN}',
        "\x00",
        "\ud800",
        b"\xff\xfe",
        [],
        [("key", "build")],
        {1: 2},
        {None: None},
        {"\ud800": 1},
        ...,
    ],
    ids=ascii,
)
@pytest.mark.parametrize("name", ["memory_list", "memory_read", "memory_write", "memory_delete"])
async def test_what_is_no_object_of_arguments_is_told_as_such(name: str, arguments: object) -> None:
    """A host that has to check what a model sends before it passes it on will forget it once."""
    answer = await MemoryTools(InProcessStore(), Scope()).call(name, arguments)
    assert answer.code == "invalid_arguments"
    assert answer.is_error
    assert len(answer.text) < 2000


@pytest.mark.parametrize("arguments", [{}, "", "  \n", "{}", b"", MappingProxyType({})])
async def test_no_arguments_at_all_are_fine_where_none_are_taken(arguments: object) -> None:
    """Models call a tool without arguments with an object, or with nothing."""
    answer = await MemoryTools(InProcessStore(), Scope()).call("memory_list", arguments)
    assert answer.body == {"listed": True, "memories": []}


@pytest.mark.parametrize(
    "arguments",
    [
        {**GOOD, "content": "x" * MEGABYTES},
        {**GOOD, "content": "\U0001f4a1" * (MEGABYTES // 4)},
        {**GOOD, "description": "d" * MEGABYTES},
        {**GOOD, "description": " " * MEGABYTES},
        {**GOOD, "key": "k" * MEGABYTES},
        {**GOOD, "key": "a." * (MEGABYTES // 2)},
        {**GOOD, "x" * MEGABYTES: 1},
        {**GOOD, **{f"extra{number}": 1 for number in range(100_000)}},
        {**GOOD, "content": [0] * (MEGABYTES // 10)},
        "x" * MEGABYTES,
        " " * MEGABYTES,
        "[" * MEGABYTES,
        '{"key":' * (MEGABYTES // 7),
        '{"key":' * 50_000,
        "[" * 300_000,
        '{"key": "a", "x": ' + "[" * 100_000 + "]" * 100_000 + "}",
        '{"key": ' + "9" * 300_000 + "}",
        b'"' + b"x" * MEGABYTES + b'"',
        json.dumps({**GOOD, "content": "x" * MEGABYTES}),
    ],
    ids=range(19),
)
async def test_what_is_huge_is_answered_briefly_and_soon(arguments: object) -> None:
    """A model that repeats itself for ever stops the host, or fills its own context with the complaint."""
    answer = await written(arguments)
    if isinstance(arguments, str | bytes) and len(arguments) > MAX_ARGUMENTS_LENGTH:
        assert answer.code == "entry_too_large"  # told by the length, and not parsed at all
    assert answer.body["written"] is False
    assert answer.is_error
    assert len(answer.text) < 2000


@pytest.mark.parametrize("half", LONE_SURROGATES)
@pytest.mark.parametrize(
    ("name", "code"), [("key", "invalid_key"), ("description", "invalid_entry"), ("content", "invalid_entry")]
)
async def test_half_of_a_surrogate_pair_is_told_as_such_in_every_form(name: str, code: str, half: str) -> None:
    """It passes many a parser and fails where it is encoded, which is in the middle of a write."""
    for form in in_every_form({**GOOD, name: half}):
        answer = await written(form)
        assert answer.code == code
        assert answer.body["written"] is False
        assert name in answer.body["reason"]


@pytest.mark.parametrize("key", ILLEGAL_KEYS, ids=lambda key: ascii(key)[:20])
async def test_no_illegal_key_passes(key: object) -> None:
    """Each of these has passed somewhere."""
    answer = await written({**GOOD, "key": key})
    assert answer.code == ("invalid_key" if isinstance(key, str) else "invalid_arguments")


@pytest.mark.parametrize("key", LEGAL_KEYS, ids=lambda key: key[:20])
async def test_every_legal_key_passes(key: str) -> None:
    """A key that the store takes and the tool refuses can be listed and never read."""
    for form in in_every_form({**GOOD, "key": key}):
        assert (await written(form)).code == "ok"


@fuzz
@given(st.text(alphabet=string.ascii_letters + string.digits + "._=-/ é\n", max_size=MAX_KEY_LENGTH + 2))
def test_the_schema_and_the_store_agree_on_every_key(key: str) -> None:
    """A key that is legal by the schema and refused by the store is a riddle for a model."""
    if is_legal_key(key):
        assert decode({"key": key}, ReadArguments).key == key
    else:
        with pytest.raises(UnfitArguments) as unfit:
            decode({"key": key}, ReadArguments)
        assert unfit.value.code == "invalid_key"


@pytest.mark.parametrize("description", EMPTY_DESCRIPTIONS, ids=ascii)
async def test_a_description_of_nothing_is_refused_as_one(description: str) -> None:
    """An index of blank lines tells nobody what to read."""
    assert (await written({**GOOD, "description": description})).code == "invalid_entry"


@pytest.mark.parametrize("content", CONTENTS_TOO_LARGE, ids=range(len(CONTENTS_TOO_LARGE)))
async def test_a_content_of_too_many_bytes_is_refused_with_the_limit(content: str) -> None:
    """The schema counts characters and the store bytes: what lies between must be told as well."""
    answer = await written({**GOOD, "content": content})
    assert answer.code == "entry_too_large"
    assert str(MAX_CONTENT_BYTES) in answer.body["reason"]


@pytest.mark.parametrize("value", NO_TEXT, ids=repr)
@pytest.mark.parametrize("name", ["description", "content"])
async def test_what_is_no_text_is_refused_where_text_belongs(name: str, value: object) -> None:
    """A number that is stored as text comes back as something else than was meant."""
    assert (await written({**GOOD, name: value})).code == "invalid_arguments"


@pytest.mark.parametrize("content", CONTENTS, ids=range(len(CONTENTS)))
async def test_every_content_goes_in_and_comes_back_word_for_word(content: str) -> None:
    """Fault 34, and the longest: as an object, as JSON text, and as JSON text of escapes alone."""
    escaped = "".join(f"\\u{unit:04x}" for unit in memoryview(content.encode("utf-16-le")).cast("H"))
    everything_escaped = f'{{"key": "build", "description": "a line", "content": "{escaped}"}}'
    for form in [*in_every_form({**GOOD, "content": content}), everything_escaped]:
        tools = MemoryTools(InProcessStore(), Scope())
        assert (await tools.call("memory_write", form)).code == "ok"
        read = await tools.call("memory_read", {"key": "build"})
        assert read.body["content"] == content
        assert json.loads(read.text)["content"] == content


@pytest.mark.parametrize(("given_line", "stored"), DESCRIPTIONS, ids=range(len(DESCRIPTIONS)))
async def test_a_description_is_stored_as_the_store_does_or_refused_as_too_long(given_line: str, stored: str) -> None:
    """What a tool cut silently, the model would believe to be stored."""
    tools = MemoryTools(InProcessStore(), Scope())
    answer = await tools.call("memory_write", {**GOOD, "description": given_line})
    if len(given_line) > MAX_DESCRIPTION_LENGTH:
        assert answer.code == "invalid_entry"
    else:
        assert (await tools.call("memory_read", {"key": "build"})).body["description"] == stored


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20) | st.binary(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=12), inner, max_size=4),
    max_leaves=10,
)


@fuzz
@given(
    arguments=anything
    | st.dictionaries(st.sampled_from(["key", "description", "content", "overwrite", "x"]), anything)
    | st.text()
    | st.binary(),
    into=st.sampled_from([ListArguments, ReadArguments, WriteArguments, DeleteArguments]),
)
def test_decoding_gives_arguments_or_says_why_not_and_never_anything_else(arguments: object, into: type[Any]) -> None:
    """An exception of a parser in the middle of a turn ends the run."""
    decoded: object = None
    with contextlib.suppress(UnfitArguments):
        decoded = decode(arguments, into)
    if decoded is not None:
        assert isinstance(decoded, into)
        return
    with pytest.raises(UnfitArguments) as unfit:
        decode(arguments, into)
    assert unfit.value.reason.endswith(".")
    assert unfit.value.code in {"invalid_arguments", "invalid_key", "invalid_entry", "entry_too_large"}


# -- The schemas ----------------------------------------------------------------------------


@pytest.mark.parametrize("arguments", [ListArguments, ReadArguments, WriteArguments, DeleteArguments])
def test_a_schema_is_closed_and_says_what_is_required(arguments: type[Any]) -> None:
    """A provider that does not know that nothing else is allowed lets a model invent arguments."""
    schema = schema_of(arguments)
    assert schema["type"] == "object"
    assert schema["additionalProperties"] is False
    assert set(schema["required"]) <= set(schema["properties"])
    assert set(schema) == {"type", "properties", "required", "additionalProperties"}
    assert all(each["description"] for each in schema["properties"].values())
    assert "$ref" not in json.dumps(schema)


def test_the_limits_are_in_the_schema() -> None:
    """A limit that a model learns by running into it costs a call each time."""
    schema = schema_of(WriteArguments)
    assert schema["required"] == ["key", "description", "content"]
    fields = schema["properties"]
    assert fields["key"]["minLength"] == fields["description"]["minLength"] == 1
    assert fields["key"]["maxLength"] == MAX_KEY_LENGTH
    assert fields["key"]["pattern"].startswith("^")
    assert fields["key"]["pattern"].endswith("$")
    assert fields["description"]["maxLength"] == MAX_DESCRIPTION_LENGTH
    assert fields["content"]["maxLength"] == MAX_CONTENT_BYTES
    assert "minLength" not in fields["content"]
    assert str(MAX_CONTENT_BYTES) in fields["content"]["description"]
    assert fields["overwrite"]["type"] == "boolean"
    assert fields["overwrite"]["default"] is False


def test_a_schema_that_a_host_changes_is_its_own() -> None:
    """A host that adds a word for its provider would change what every other run is told."""
    schema_of(ReadArguments)["properties"]["key"]["pattern"] = "anything"
    assert schema_of(ReadArguments)["properties"]["key"]["pattern"] != "anything"
