"""``memory_delete``: remove one memory."""

from jsmemory.scope import Scope
from jsmemory.store import Store
from jsmemory.tools import answers, refusals
from jsmemory.tools.answers import Answer, Verb
from jsmemory.tools.arguments import DeleteArguments
from jsmemory.tools.exposure import NOWHERE
from jsmemory.tools.spec import Tool
from jsmemory.tools.tracing import Hook

NAME = "memory_delete"
_DESCRIPTION = (
    "Delete one memory by its key, for this run and all others; it cannot be brought back. The answer holds deleted: "
    "true; or deleted: false with a code and a reason, entry_not_found where nothing is stored under the key; or "
    "deleted: null where nobody knows whether it is gone: read the key then, before you decide anything."
)


def tool(store: Store, scope: Scope, hook: Hook) -> Tool[DeleteArguments]:
    """The tool, bound to a store and a run's scope."""

    async def act(arguments: DeleteArguments) -> Answer:
        existed = await store.delete(arguments.key, scope=scope)
        return answers.deleted(arguments.key) if existed else refusals.missing(Verb.DELETED)

    return Tool(
        name=NAME,
        description=_DESCRIPTION,
        arguments=DeleteArguments,
        verb=Verb.DELETED,
        act=act,
        exposure=NOWHERE,
        hook=hook,
    )
