"""
A provider's tool call in, that provider's tool result out.

    Anthropic Messages         {"type": "tool_use", "id", "name", "input"}
                            -> {"type": "tool_result", "tool_use_id", "content", "is_error"}
    OpenAI Chat Completions    {"type": "function", "id", "function": {"name", "arguments"}}
                            -> {"role": "tool", "tool_call_id", "content"}
    OpenAI Responses           {"type": "function_call", "call_id", "name", "arguments"}
                            -> {"type": "function_call_output", "call_id", "output"}
    plain                      {"name", "arguments"}, with an "id" where the caller wants it back
                            -> {"id", "name", "result", "is_error"}

A call may be a mapping or an object of the provider's SDK. Results are plain data. ``content``
and ``output`` are JSON text, ``result`` is the same as an object.
"""

from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any, Final

import msgspec

from jsmemory.tools.answers import INVALID_CALL, Answer, Verb, failed

Result = dict[str, Any]

_NONE: Final[Mapping[str, object]] = MappingProxyType({})
# A call that leaves the arguments out has none; one that sets them to null is malformed.

_UNREADABLE: Final = (
    "This is no tool call of a known form. Pass one of the Anthropic Messages API or of an OpenAI API, or an object "
    "with name and arguments."
)


class Call(msgspec.Struct, frozen=True):
    """
    A call as it was taken apart.

    Attributes:
        name: Of the tool that was called; None where it is no call of a known form.
        arguments: As they came.
        result: Puts an answer into the form of whoever called. One that names no tool gets it
            too, where it has an id: a provider takes no further turn without it.
    """

    name: str | None
    arguments: object
    result: Callable[[Answer], Result]


def unreadable() -> Answer:
    """The answer to what is no call."""
    return failed(Verb.CALLED, INVALID_CALL, _UNREADABLE)


def taken_apart(call: object) -> Call:
    """Recognise a call by its form."""
    field = _fields_of(call)
    match field("type", None):
        case "tool_use":
            taken = _anthropic(field)
        case "function":
            taken = _openai_chat(field)
        case "function_call":
            taken = _openai_responses(field)
        case None if isinstance(call, Mapping):
            # Only a mapping: many an object that is no call has a name.
            taken = _plain(call, _name_in(call.get))
        case _:
            taken = None
    return taken or _plain(call, None)


def _anthropic(field: "_Fields") -> Call | None:
    identity = field("id", None)
    if not isinstance(identity, str):
        return None

    def result(answer: Answer) -> Result:
        return {
            "type": "tool_result",
            "tool_use_id": identity,
            "content": answer.text,
            "is_error": answer.is_error,
        }

    return Call(_name_in(field), field("input", _NONE), result)


def _openai_chat(field: "_Fields") -> Call | None:
    identity, function = field("id", None), _fields_of(field("function", None))
    if not isinstance(identity, str):
        return None
    return Call(
        _name_in(function),
        function("arguments", _NONE),
        lambda answer: {"role": "tool", "tool_call_id": identity, "content": answer.text},
    )


def _openai_responses(field: "_Fields") -> Call | None:
    identity = field("call_id", None)
    if not isinstance(identity, str):
        return None
    return Call(
        _name_in(field),
        field("arguments", _NONE),
        lambda answer: {"type": "function_call_output", "call_id": identity, "output": answer.text},
    )


def _plain(call: object, name: str | None) -> Call:
    fields = call if isinstance(call, Mapping) else _NONE
    identity = {"id": fields["id"]} if "id" in fields else {}

    def result(answer: Answer) -> Result:
        return {**identity, "name": name, "result": dict(answer.body), "is_error": answer.is_error}

    return Call(name, fields.get("arguments", _NONE), result)


def _name_in(field: "_Fields") -> str | None:
    name = field("name", None)
    return name if isinstance(name, str) else None


_Fields = Callable[[str, object], Any]
# Gives a field by its name, or what is to stand in for it.


def _fields_of(call: object) -> _Fields:
    # Nearly always a dict, which is told much faster than any mapping.
    if isinstance(call, dict) or isinstance(call, Mapping):  # noqa: SIM101
        return call.get
    return partial(getattr, call)
