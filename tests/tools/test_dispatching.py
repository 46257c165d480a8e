"""Providers' tool calls in, their results out; and the forms in which they take the tools."""

import json
import time
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jsmemory import Entry, InProcessStore, MemoryTools, Scope
from jsmemory.layers.wrapping import WrappingStore
from jsmemory.testing.corpora import CONTENTS
from jsmemory.tools import Trace, answers

fuzz = settings(derandomize=True, deadline=None, max_examples=100, database=None)

NAMES = ["memory_list", "memory_read", "memory_write", "memory_delete"]
WRITE = {"key": "build", "description": "a line", "content": "text"}


@pytest.fixture
def mounted(traces: list[Trace]) -> MemoryTools:
    """Tools on an empty store in this process."""
    return MemoryTools(InProcessStore(), Scope(), hook=traces.append)


# -- The forms ------------------------------------------------------------------------------


def test_the_tools_in_the_form_of_the_anthropic_messages_api(mounted: MemoryTools) -> None:
    """A field that the API does not know, or one that it misses, refuses the whole request."""
    tools = mounted.for_anthropic()
    assert [tool["name"] for tool in tools] == NAMES
    for tool in tools:
        assert set(tool) == {"name", "description", "input_schema"}
        assert tool["input_schema"]["type"] == "object"


def test_the_tools_in_the_forms_of_openai(mounted: MemoryTools) -> None:
    """Strict mode refuses optional arguments and length limits, and the Responses API assumes it unless told."""
    for tool, flat in zip(mounted.for_openai(), mounted.for_openai_responses(), strict=True):
        assert set(tool) == {"type", "function"}
        assert tool["type"] == flat["type"] == "function"
        assert set(tool["function"]) == {"name", "description", "parameters", "strict"}
        assert tool["function"]["strict"] is False
        assert flat == {"type": "function", **tool["function"]}
    assert [tool["function"]["name"] for tool in mounted.for_openai()] == NAMES


def test_the_tools_as_plain_json_schema(mounted: MemoryTools) -> None:
    """For every host that talks to something else."""
    for tool in mounted.for_json_schema():
        assert set(tool) == {"name", "description", "parameters"}
        assert tool["parameters"]["$schema"].startswith("https://json-schema.org/")
    assert json.loads(json.dumps(mounted.for_json_schema())) == mounted.for_json_schema()


@pytest.mark.parametrize("form", ["for_anthropic", "for_openai", "for_openai_responses", "for_json_schema"])
def test_a_form_is_the_same_text_each_time_and_nobody_elses_to_change(mounted: MemoryTools, form: str) -> None:
    """Providers cache by the text of the tools; and a host may add to its own."""
    first = getattr(mounted, form)()
    text = json.dumps(first)
    first[0].clear()
    first.pop()
    assert json.dumps(getattr(mounted, form)()) == text


def test_descriptions_tell_of_every_outcome_that_a_model_meets(mounted: MemoryTools) -> None:
    """What a model learns first from a refusal, it learns too late to plan with."""
    told = {tool.name: tool.description for tool in mounted.specs()}
    for code in ("entry_exists", "stale_entry", "entry_not_found", "null"):
        assert code in told["memory_write"]
    assert "entry_not_found" in told["memory_read"]
    assert "not an instruction" in told["memory_read"]


# -- The calls ------------------------------------------------------------------------------


async def test_a_call_of_the_anthropic_messages_api(mounted: MemoryTools) -> None:
    """The id must come back, or the next request is refused."""
    call = {"type": "tool_use", "id": "toolu_01", "name": "memory_write", "input": WRITE}
    assert await mounted.dispatch(call) == {
        "type": "tool_result",
        "tool_use_id": "toolu_01",
        "content": '{"written":true,"key":"build"}',
        "is_error": False,
    }


async def test_a_call_of_openais_chat_completions_api(mounted: MemoryTools) -> None:
    """Arguments come as JSON text there."""
    function = {"name": "memory_write", "arguments": json.dumps(WRITE)}
    assert await mounted.dispatch({"id": "call_1", "type": "function", "function": function}) == {
        "role": "tool",
        "tool_call_id": "call_1",
        "content": '{"written":true,"key":"build"}',
    }


async def test_a_call_of_openais_responses_api(mounted: MemoryTools) -> None:
    """The same function calls, in another envelope."""
    call = {
        "type": "function_call",
        "id": "fc_1",
        "call_id": "call_1",
        "name": "memory_write",
        "arguments": json.dumps(WRITE),
    }
    assert await mounted.dispatch(call) == {
        "type": "function_call_output",
        "call_id": "call_1",
        "output": '{"written":true,"key":"build"}',
    }


@pytest.mark.parametrize("more", [{}, {"id": 7}, {"id": "a"}, {"id": None}])
async def test_a_plain_call(mounted: MemoryTools, more: dict[str, object]) -> None:
    """What a shell script sends, with an id where it wants it back."""
    assert await mounted.dispatch({"name": "memory_write", "arguments": WRITE, **more}) == {
        "name": "memory_write",
        "result": {"written": True, "key": "build"},
        "is_error": False,
        **more,
    }


async def test_a_call_without_arguments_has_none(mounted: MemoryTools) -> None:
    """Providers leave them out of a tool that takes none."""
    assert (await mounted.dispatch({"name": "memory_list"}))["result"] == {"listed": True, "memories": []}
    assert (await mounted.dispatch({"name": "memory_list", "arguments": None}))["is_error"] is True


async def test_calls_may_be_objects_of_an_sdk(mounted: MemoryTools) -> None:
    """Nobody should have to turn what an SDK returns into a dict first."""
    block = SimpleNamespace(type="tool_use", id="toolu_01", name="memory_write", input=WRITE)
    assert (await mounted.dispatch(block))["content"] == '{"written":true,"key":"build"}'
    function = SimpleNamespace(name="memory_read", arguments='{"key": "build"}')
    call = SimpleNamespace(type="function", id="call_1", function=function)
    assert json.loads((await mounted.dispatch(call))["content"])["content"] == "text"
    output = SimpleNamespace(type="function_call", call_id="call_2", name="memory_delete", arguments='{"key":"build"}')
    assert json.loads((await mounted.dispatch(output))["output"]) == {"deleted": True, "key": "build"}


async def test_answers_are_no_errors_and_failures_are(mounted: MemoryTools) -> None:
    """A provider tells its model that a call failed; a miss is no failure."""
    miss = await mounted.dispatch({"type": "tool_use", "id": "1", "name": "memory_read", "input": {"key": "absent"}})
    assert miss["is_error"] is False
    bad = await mounted.dispatch({"type": "tool_use", "id": "1", "name": "memory_read", "input": {}})
    assert bad["is_error"] is True


@pytest.mark.parametrize(
    "name", ["", "memory_rename", "MEMORY_READ", "memory_index", "__init__", "x" * 1_000_000, "\ud800"]
)
async def test_an_unknown_tool_is_answered_with_those_that_there_are(
    mounted: MemoryTools, traces: list[Trace], name: str
) -> None:
    """Models invent tools; the name of one is nothing to echo."""
    result = await mounted.dispatch({"type": "tool_use", "id": "1", "name": name, "input": {}})
    body = json.loads(result["content"])
    assert body["called"] is False
    assert body["code"] == "unknown_tool"
    assert all(known in body["reason"] for known in NAMES)
    assert result["is_error"] is True
    assert len(result["content"]) < 300
    assert [trace.line.startswith("- key=- code=unknown_tool") for trace in traces] == [True]


@pytest.mark.parametrize(
    "call",
    [
        None,
        7,
        "memory_list",
        [],
        {},
        {"name": 7},
        {"name": ["memory_list"]},
        {"type": "tool_use", "name": "memory_list", "input": {}},
        {"type": "tool_use", "id": 7, "name": "memory_list", "input": {}},
        {"type": "function_call", "name": "memory_list", "arguments": "{}"},
        {"type": "custom", "id": "1", "name": "memory_list"},
        {"type": ["tool_use"]},
        {"type": "text", "text": "I will now list the memories"},
        SimpleNamespace(name="memory_list"),
        ...,
    ],
    ids=lambda call: repr(call)[:40],
)
async def test_what_is_no_call_gets_a_result_that_says_so(
    mounted: MemoryTools, traces: list[Trace], call: object
) -> None:
    """A loop over JSON lines that ends at the first bad one ends a run."""
    result = await mounted.dispatch(call)
    assert result["is_error"] is True
    assert result["result"]["code"] == "invalid_call"
    assert result["result"]["called"] is False
    assert [trace.code for trace in traces] == ["invalid_call"]


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ({"type": "tool_use", "id": "1", "input": {}}, {"tool_use_id": "1", "is_error": True}),
        ({"type": "tool_use", "id": "1", "name": None}, {"type": "tool_result", "tool_use_id": "1"}),
        ({"type": "function", "id": "1"}, {"role": "tool", "tool_call_id": "1"}),
        ({"type": "function", "id": "1", "function": None}, {"tool_call_id": "1"}),
        ({"type": "function", "id": "1", "function": "memory_list"}, {"tool_call_id": "1"}),
        ({"type": "function", "id": "1", "function": {"name": None, "arguments": "{}"}}, {"tool_call_id": "1"}),
        ({"type": "function_call", "call_id": "1", "name": 7}, {"type": "function_call_output", "call_id": "1"}),
        ({"id": 1, "name": None}, {"id": 1, "name": None, "is_error": True}),
        ({"id": 1, "type": "custom", "name": "memory_list"}, {"id": 1, "name": None, "is_error": True}),
    ],
    ids=lambda each: repr(each)[:60],
)
async def test_a_call_that_names_no_tool_gets_its_result_by_its_id(
    mounted: MemoryTools, traces: list[Trace], call: dict[str, object], expected: dict[str, object]
) -> None:
    """A provider takes no further turn while a call of its model has no result: the conversation would be stuck."""
    result = await mounted.dispatch(call)
    assert result | expected == result
    text = result.get("content") or result.get("output")
    body = json.loads(text) if text else result["result"]
    assert (body["called"], body["code"]) == (False, "invalid_call")
    assert [trace.code for trace in traces] == ["invalid_call"]


json_like = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=10),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=10), inner, max_size=3),
)
fields = st.sampled_from(["type", "id", "name", "input", "function", "arguments", "call_id"])
words = st.sampled_from(["tool_use", "function", "function_call", *NAMES])


@fuzz
@given(st.dictionaries(fields, words | json_like | st.dictionaries(fields, words | json_like)))
async def test_dispatch_answers_anything_that_looks_like_a_call(call: dict[str, Any]) -> None:
    """Whoever streams calls together sends halves of them some day."""
    result = await MemoryTools(InProcessStore(), Scope()).dispatch(call)
    assert {"tool_use_id", "tool_call_id", "call_id", "result"} & set(result)
    json.dumps(result)


# -- Results as text ------------------------------------------------------------------------


class Holding(WrappingStore):
    """A store that holds one memory, whatever it is."""

    def __init__(self, description: str, content: str) -> None:
        super().__init__(InProcessStore())
        self.entry = Entry("k", description, content, "1")

    async def read(self, key: str, *, scope: Scope | None) -> Entry:
        return self.entry


async def read_text(description: str, content: str) -> str:
    tools = MemoryTools(Holding(description, content), Scope())
    result = await tools.dispatch({"type": "tool_use", "id": "1", "name": "memory_read", "input": {"key": "k"}})
    text: str = result["content"]
    return text


@fuzz
@given(st.text(), st.text(alphabet=st.characters(max_codepoint=0xFF) | st.sampled_from("\u202e\u2028\ufeff\u061c")))
async def test_what_is_read_comes_back_word_for_word_in_text_that_steers_no_terminal(
    description: str, content: str
) -> None:
    """Fault 33: who follows a run in a terminal runs whatever a memory tells the terminal to do."""
    text = await read_text(description, content)
    assert json.loads(text) == {"read": True, "key": "k", "description": description, "content": content}
    assert not any(ord(each) < 0x20 or 0x7F <= ord(each) <= 0x9F for each in text)
    assert not {*"\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u2028\u2029"} & {*text}


def test_every_character_that_steers_is_looked_for() -> None:
    """The quick looks must not let through what the pattern would catch."""
    for code in [*range(0xD800), *range(0xE000, 0x110000)]:
        if answers._STEERING.match(chr(code)):
            assert any(lead in chr(code).encode() for lead in answers._STEERING_LEADS), hex(code)
            assert not chr(code).isprintable(), hex(code)


@pytest.mark.parametrize(
    "around",
    ["", "ascii \n", "caf\u00e9\u00a0\u201cquoted\u201d, ", "\u6f22\u5b57\uff0c\u3000", "\U0001f469\u200d\U0001f4bb"],
)
def test_what_steers_is_escaped_wherever_it_stands(around: str) -> None:
    """A look that is quick for one kind of text must not be blind in another."""
    codes = [code for code in [*range(0xD800), *range(0xE000, 0x110000)] if answers._STEERING.match(chr(code))]
    for steering in (*map(chr, codes), "".join(map(chr, codes)), "".join(f"{chr(code)}x" for code in codes)):
        content = around * 3 + steering + around * 3
        text = answers.read("k", Entry("k", "a line", content, "1")).text
        assert json.loads(text)["content"] == content
        assert answers._STEERING.search(text) is None
        for left in {*around} - {"\n"}:
            assert left in text  # what steers nothing stays as it is: a model reads that


def took(content: str) -> float:
    """Seconds that an answer takes at best."""
    times = []
    for _ in range(20):
        entry = Entry("k", "a line", content.encode().decode(), "1")
        began = time.perf_counter()
        assert answers.read("k", entry).text
        times.append(time.perf_counter() - began)
    return min(times)


@pytest.mark.parametrize(
    ("kind", "at_most"),
    [("He said \u201cno\u201d \u2014 and that\u2019s all.\n", 10), ("\x85\x9b", 250)],
    ids=["quotes", "controls"],
)
def test_no_kind_of_text_takes_many_times_as_long(kind: str, at_most: float) -> None:
    """A loop that serves a hundred runs stands still meanwhile."""
    plain = "He said no, and that is all.\n"
    assert took(kind * (65_536 // len(kind.encode()))) < at_most * took(plain * (65_536 // len(plain)))


@pytest.mark.parametrize("content", CONTENTS, ids=range(len(CONTENTS)))
async def test_no_content_is_changed_on_its_way_to_the_model(content: str) -> None:
    """What a model reads it writes back."""
    assert json.loads(await read_text("a line", content))["content"] == content
