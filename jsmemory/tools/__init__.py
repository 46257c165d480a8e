"""
What a model sees of a memory: four tools, a system note, and an index to begin with.

    tools = MemoryTools(store, scope)
    tools.for_anthropic(), tools.for_openai(), tools.for_json_schema()
    result = await tools.dispatch(call)

A call goes one way: `dispatching` takes the provider's form apart, `arguments` decodes
strictly, `listing`, `reading`, `writing` or `deleting` asks the store, and `answers` words what
came of it. A model never sees the text of an error; the host does, through `tracing`.
"""

from jsmemory.tools.answers import Answer
from jsmemory.tools.exposure import NOWHERE, Exposure, Surface
from jsmemory.tools.spec import Tool
from jsmemory.tools.toolset import MemoryTools
from jsmemory.tools.tracing import Trace

__all__ = ["NOWHERE", "Answer", "Exposure", "MemoryTools", "Surface", "Tool", "Trace"]
