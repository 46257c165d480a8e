"""The key grammar, and prefixes that keep agents apart."""

import enum
import json
import string
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jsmemory.backends.in_process import InProcessStore
from jsmemory.errors import InvalidKeyError
from jsmemory.keys import Prefix, is_legal_key, validate_key
from jsmemory.limits import MAX_KEY_LENGTH

VECTORS = Path(__file__).parents[1] / "data" / "vectors" / "keys.jsonl"
LEGAL = string.ascii_letters + string.digits + "._=-"

fuzz = settings(derandomize=True, deadline=None, max_examples=200, database=None)
keys = st.text(LEGAL, min_size=1, max_size=12).filter(is_legal_key)
tokens = keys.filter(lambda key: "." not in key)


def test_keys_are_legal_here_where_they_are_in_the_other_program() -> None:
    """Two programs on one bucket: an entry of one would be invisible to the other."""
    lines = [json.loads(line) for line in VECTORS.read_text(encoding="utf-8").splitlines()]
    assert len(lines) == 44
    assert [line for line in lines if is_legal_key(line["key"]) != line["valid"]] == []


@pytest.mark.parametrize(
    "key",
    [
        *("a", "A", "0", "_", "=", "-", "a.b", "a.b.c", "v1=beta", "-rf", "CON", "nul.md", "a" * MAX_KEY_LENGTH),
        *("a-.-b", "=.=", "0.0"),
    ],
)
def test_a_legal_key_passes(key: str) -> None:
    """An agent would be refused a key that its instructions allow."""
    assert is_legal_key(key)
    validate_key(key)


@pytest.mark.parametrize(
    "key",
    [
        *("", " ", "a b", "a\n", "\na", "a\x00", "a\t", "a\r", ".", "..", ".a", "a.", "a..b", "a/b", "../a", "a\\b"),
        *("a*", "a>", "*", ">", "$KV", "a:b", "a+b", "a,b", "a#b", "a%2e", "~", "é", "ａ", "١", "ſ", "\u212a"),
        *("a\u200b", "\ud800", "a" * (MAX_KEY_LENGTH + 1), "a" * 100_000, None, 1, b"a", ["a"], ("a",), True),
    ],
)
def test_an_illegal_key_is_refused_without_being_repeated(key: object) -> None:
    """A key with an escape sequence, or a novel in it, would reach a terminal by way of a message."""
    assert not is_legal_key(key)
    with pytest.raises(InvalidKeyError) as refusal:
        validate_key(key)
    assert isinstance(refusal.value, ValueError)
    spelled = repr(key).strip("'")
    assert len(spelled) < 3 or spelled not in str(refusal.value)
    assert len(str(refusal.value)) < 200


@fuzz
@given(st.text(max_size=8) | st.text(LEGAL + "/ \n", max_size=8))
def test_a_legal_key_is_one_flat_name_everywhere(key: str) -> None:
    """A key could climb out of a directory, or match other subjects of the server."""
    if is_legal_key(key):
        assert Path(key).name == key
        assert key not in (".", "..")
        assert set(key) <= set(LEGAL)
        assert "" not in key.split("."), "no empty token in a subject"


def test_a_prefix_joins_and_strips() -> None:
    """An agent would write under one name and look under another."""
    alice = Prefix("alice")
    name = alice.join("build.notes")
    assert name == "alice.build.notes"
    assert alice.strip(name) == "build.notes"


def test_the_empty_prefix_is_the_whole_bucket() -> None:
    """An operator who chose the flat keyspace would not find what is in it."""
    flat = Prefix("")
    for name in ("alice.build", "build"):
        assert flat.join(name) == name
        assert flat.strip(name) == name
    for name in ("not legal", "", "a..b"):
        assert flat.strip(name) is None


@pytest.mark.parametrize(
    "name", ["acme-corp.k", "acme", "acme.", "acm.k", "ACME.k", "acme..k", "acme.k.", "acme.a b", "k"]
)
def test_a_name_that_is_not_of_the_prefix_is_nobodys(name: str) -> None:
    """Fault 18: acme would see what acme-corp keeps; and a planted name would take a place in the listing."""
    assert Prefix("acme").strip(name) is None


@pytest.mark.parametrize("token", ["team.sub", ".", "a.", ".a", "a b", "*", ">", "a\n", "x" * 201, None, 1])
def test_a_prefix_is_one_token(token: object) -> None:
    """Fault 18: with a dot in it, prefix team would hold all of prefix team.sub."""
    with pytest.raises(InvalidKeyError, match=r"prefix .*Use 1 to 200 characters out of A-Z a-z 0-9 _ = - with no dot"):
        Prefix(token)  # type: ignore[arg-type]


@fuzz
@given(tokens, keys)
def test_what_is_joined_is_stripped_again(token: str, key: str) -> None:
    """A listing would show keys that cannot be read."""
    assert Prefix(token).strip(Prefix(token).join(key)) == key


@fuzz
@given(tokens, tokens, keys)
def test_no_prefix_holds_a_name_of_another(mine: str, other: str, key: str) -> None:
    """One tenant would read the notes of another."""
    if mine != other:
        assert Prefix(mine).strip(Prefix(other).join(key)) is None


def test_prefixes_are_values() -> None:
    """Two stores of one prefix would not know that they share a keyspace."""
    assert Prefix("a") == Prefix("a")
    assert len({Prefix("a"), Prefix("a"), Prefix("b")}) == 2
    with pytest.raises(AttributeError):
        Prefix("a").token = "b"  # type: ignore[misc]


async def test_a_key_is_stored_under_its_characters_whatever_class_it_has() -> None:
    """A member of an Enum shows itself under another name, and an entry stored there is never found again."""

    class Topic(str, enum.Enum):  # noqa: UP042 - this is the shape that such code has
        BUILD = "build"

    class Disguised(str):
        def __str__(self) -> str:
            return "evil"

        def __format__(self, _: str) -> str:
            return "evil.>"

    store = InProcessStore()
    await store.create(Topic.BUILD, "d", "c", scope=None)
    await store.create(Disguised("plain"), Disguised("d"), Disguised("c"), scope=None)
    assert [item.key for item in await store.list()] == ["build", "plain"]
    assert all(type(item.key) is str for item in await store.list())
    assert Prefix("p").join(validate_key(Disguised("plain"))) == "p.plain"
