"""A tool: what a model is told of it, and the one way that every call goes."""

import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import msgspec

from jsmemory.tools.answers import Answer, Verb, failed
from jsmemory.tools.arguments import UnfitArguments, decode, schema_of
from jsmemory.tools.exposure import Exposure
from jsmemory.tools.refusals import of_error
from jsmemory.tools.tracing import Hook, Trace, log, tell

ArgumentsT = TypeVar("ArgumentsT", bound=msgspec.Struct)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool(Generic[ArgumentsT]):
    """
    One tool, bound to what it works on; free of any framework.

    Args:
        name: What a model calls it by.
        description: What it does, and what its answers mean.
        arguments: The struct of its arguments; the JSON schema comes of it.
        verb: The field that leads its answers.
        act: Carries out a call.
        exposure: Where it may be offered beyond its run. There is no default: without a
            statement a tool cannot be made.
        hook: Told of each call that has ended.

    Raises:
        TypeError: `exposure` is no statement.
    """

    name: str
    description: str
    arguments: type[ArgumentsT]
    verb: Verb
    act: Callable[[ArgumentsT], Awaitable[Answer]]
    exposure: Exposure
    hook: Hook = log

    def __post_init__(self) -> None:
        if not isinstance(self.exposure, Exposure):
            raise TypeError("A tool states where it is exposed. Give an Exposure; NOWHERE is one.")

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON schema of the arguments; a fresh one on each call."""
        return schema_of(self.arguments)

    async def __call__(self, arguments: object) -> Answer:
        """
        Carry out a call of a model.

        Raises nothing but a cancellation: whatever a model sends and whatever a store raises
        becomes an answer. The hook is told in any case.

        Args:
            arguments: What the model sent: a mapping, or JSON text of one.
        """
        began = time.perf_counter()
        key, code, cause = None, "cancelled", None
        try:
            decoded = decode(arguments, self.arguments)
            key = getattr(decoded, "key", None)
            answer = await self.act(decoded)
            code, cause = answer.code, answer.cause
        except UnfitArguments as unfit:
            code = unfit.code
            answer = failed(self.verb, code, unfit.reason)
        except Exception as error:
            answer = of_error(self.verb, error)
            code, cause = answer.code, answer.cause
        finally:
            tell(self.hook, Trace(self.name, key, code, (time.perf_counter() - began) * 1000, cause))
        return answer
