"""Tools in the forms in which providers of models take them. Every call gives fresh, plain data."""

from collections.abc import Iterable
from typing import Any, Final

from jsmemory.tools.spec import Tool

JSON_SCHEMA: Final = "https://json-schema.org/draft/2020-12/schema"


def for_anthropic(tools: Iterable[Tool[Any]]) -> list[dict[str, Any]]:
    """The ``tools`` of a request to the Anthropic Messages API."""
    return [{"name": tool.name, "description": tool.description, "input_schema": tool.schema} for tool in tools]


def for_openai(tools: Iterable[Tool[Any]]) -> list[dict[str, Any]]:
    """The ``tools`` of a request to OpenAI's Chat Completions API, and to the many that speak it."""
    return [{"type": "function", "function": _function(tool)} for tool in tools]


def for_openai_responses(tools: Iterable[Tool[Any]]) -> list[dict[str, Any]]:
    """The ``tools`` of a request to OpenAI's Responses API."""
    return [{"type": "function", **_function(tool)} for tool in tools]


def for_json_schema(tools: Iterable[Tool[Any]]) -> list[dict[str, Any]]:
    """Name, description and a JSON schema of the arguments, for everybody else."""
    return [
        {"name": tool.name, "description": tool.description, "parameters": {"$schema": JSON_SCHEMA, **tool.schema}}
        for tool in tools
    ]


def _function(tool: Tool[Any]) -> dict[str, Any]:
    # Strict mode takes no optional argument and no limits; arguments are checked here in any case.
    return {"name": tool.name, "description": tool.description, "parameters": tool.schema, "strict": False}
