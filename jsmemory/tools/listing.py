"""``memory_list``: what is stored, by key and description."""

from jsmemory.store import Store
from jsmemory.tools import answers
from jsmemory.tools.answers import Answer, Verb
from jsmemory.tools.arguments import ListArguments
from jsmemory.tools.exposure import NOWHERE
from jsmemory.tools.spec import Tool
from jsmemory.tools.tracing import Hook

NAME = "memory_list"
_DESCRIPTION = (
    "List every memory: its key and its one-line description, sorted by key. Contents are not shown; read one with "
    "memory_read. A memory that was only listed cannot be overwritten. The answer holds listed: true, or listed: false "
    "with a reason; a listing that failed says nothing about what is stored."
)


def tool(store: Store, hook: Hook) -> Tool[ListArguments]:
    """The tool, bound to a store."""

    async def act(_: ListArguments) -> Answer:
        return answers.listed(await store.list())

    return Tool(
        name=NAME,
        description=_DESCRIPTION,
        arguments=ListArguments,
        verb=Verb.LISTED,
        act=act,
        exposure=NOWHERE,
        hook=hook,
    )
