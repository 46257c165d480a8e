"""The memory tools of one run: what a host mounts."""

from types import MappingProxyType
from typing import Any, Final

from jsmemory.errors import ReadOnlyStoreError
from jsmemory.scope import Scope
from jsmemory.store import Store
from jsmemory.tools import deleting, dispatching, forms, listing, reading, writing
from jsmemory.tools.answers import INVALID_CALL, UNKNOWN_TOOL, Answer, Verb, failed
from jsmemory.tools.exposure import Surface
from jsmemory.tools.guidance import note
from jsmemory.tools.index import index_of
from jsmemory.tools.refusals import of_error
from jsmemory.tools.spec import Tool
from jsmemory.tools.tracing import Hook, Trace, log, tell

_WITHHELD: Final = MappingProxyType({writing.NAME: Verb.WRITTEN, deleting.NAME: Verb.DELETED})
# What read-only memory has not, and refuses all the same: a model may know the names from elsewhere.


class MemoryTools:
    """
    The tools of one run, bound to a store and to the run's scope.

        tools = MemoryTools(store, scope)
        system = f"{tools.system_note()}\\n\\n{await tools.index()}"
        request = {"tools": tools.for_anthropic(), ...}
        result = await tools.dispatch(tool_use_block)

    Calls may overlap. A host that begins a new conversation begins a new scope, and with it
    new tools: what the model has not seen it may not replace.

    Args:
        store: Where the memories are; many runs may share it.
        scope: The authority of this run, and of no other.
        read_only: Leave out the tools that write, also where the store would take it. They are
            neither offered nor mentioned, and refused when called; as they are in any case where
            the store's terms say that it is read-only. Other ways to the store stay open: hand
            out one that refuses writes itself, as `open_store` gives for ``read_only``.
        no_index: Begin without an index of what is stored; None is as the store's terms say.
        hook: Told of each call; by default a line goes to the logger ``jsmemory.tools``.
    """

    def __init__(
        self, store: Store, scope: Scope, *, read_only: bool = False, no_index: bool | None = None, hook: Hook = log
    ) -> None:
        terms = store.terms()
        self._store = store
        self._read_only = read_only or terms.read_only
        self._no_index = terms.no_index if no_index is None else no_index
        self._hook = hook
        tools: list[Tool[Any]] = [listing.tool(store, hook), reading.tool(store, scope, hook)]
        if not self._read_only:
            tools += [writing.tool(store, scope, hook), deleting.tool(store, scope, hook)]
        self._tools = {tool.name: tool for tool in tools}

    def specs(self, surface: Surface | None = None) -> tuple[Tool[Any], ...]:
        """
        The tools: name, description, JSON schema, exposure, and callable with arguments.

        Args:
            surface: Only those that may be offered there; of these four, none.
        """
        return tuple(tool for tool in self._tools.values() if surface is None or tool.exposure.allows(surface))

    def for_anthropic(self) -> list[dict[str, Any]]:
        """The ``tools`` of a request to the Anthropic Messages API."""
        return forms.for_anthropic(self.specs())

    def for_openai(self) -> list[dict[str, Any]]:
        """The ``tools`` of a request to OpenAI's Chat Completions API."""
        return forms.for_openai(self.specs())

    def for_openai_responses(self) -> list[dict[str, Any]]:
        """The ``tools`` of a request to OpenAI's Responses API."""
        return forms.for_openai_responses(self.specs())

    def for_json_schema(self) -> list[dict[str, Any]]:
        """Name, description and JSON schema of each tool."""
        return forms.for_json_schema(self.specs())

    async def call(self, name: str, arguments: object) -> Answer:
        """
        Carry out a call of a model. Raises nothing but a cancellation.

        Args:
            name: Of the tool; an unknown one is answered as such.
            arguments: A mapping, or JSON text of one.
        """
        tool = self._tools.get(name)
        if tool is not None:
            return await tool(arguments)
        if name in _WITHHELD:
            answer = of_error(_WITHHELD[name], ReadOnlyStoreError())
            shown = name
        else:
            known = ", ".join(self._tools)
            answer = failed(Verb.CALLED, UNKNOWN_TOOL, f"There is no tool of this name. The memory has: {known}.")
            shown = "-"
        tell(self._hook, Trace(shown, None, answer.code, 0.0, answer.cause))
        return answer

    async def dispatch(self, call: object) -> dict[str, Any]:
        """
        Carry out a tool call of a provider, and answer in that provider's form.

        Raises nothing but a cancellation: also what is no call gets a result that says so.

        Args:
            call: A tool call of the Anthropic Messages API, of OpenAI's Chat Completions or
                Responses API, or ``{"name": ..., "arguments": ...}``; a mapping or an SDK object.

        Returns:
            The result, as plain data to pass back: a ``tool_result`` block, a message of the
            role ``tool``, a ``function_call_output``, or ``{"name", "result", "is_error"}``.
        """
        taken = dispatching.taken_apart(call)
        if taken.name is None:
            tell(self._hook, Trace("-", None, INVALID_CALL, 0.0))
            return taken.result(dispatching.unreadable())
        return taken.result(await self.call(taken.name, taken.arguments))

    def system_note(self) -> str:
        """What to tell the model about its memory in the system prompt; the same text each time."""
        return note(read_only=self._read_only, no_index=self._no_index)

    async def index(self) -> str:
        """
        The index to begin the run with, newly listed on each call; ``""`` with `no_index`.

        Raises nothing but a cancellation: a listing that fails is a warning in the text.
        """
        return "" if self._no_index else await index_of(self._store, self._hook)

    def __repr__(self) -> str:
        return f"<MemoryTools {', '.join(self._tools)}>"
