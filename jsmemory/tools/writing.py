"""``memory_write``: store a new memory, or replace one that the run has read."""

from jsmemory.errors import EntryExistsError, EntryNotFoundError, StaleEntryError
from jsmemory.scope import Scope
from jsmemory.store import Store
from jsmemory.tools import answers, refusals
from jsmemory.tools.answers import Answer, Verb
from jsmemory.tools.arguments import WriteArguments
from jsmemory.tools.exposure import NOWHERE
from jsmemory.tools.spec import Tool
from jsmemory.tools.tracing import Hook

NAME = "memory_write"
_DESCRIPTION = (
    "Store a memory under a key, for later runs to read. Without overwrite it is stored only if the key is free; with "
    "overwrite true it replaces a memory that this run has read. The answer holds written: true; or written: false "
    "with a code and a reason that says what to do next: entry_exists, the key is taken, by what existing_description "
    "says; stale_entry, read the key and retry with overwrite true; entry_not_found, there is nothing to overwrite; or "
    "written: null where nobody knows whether it is stored: read the key then, before you decide anything. Only "
    "written: true means that it is saved."
)


def tool(store: Store, scope: Scope, hook: Hook) -> Tool[WriteArguments]:
    """The tool, bound to a store and a run's scope."""

    async def act(new: WriteArguments) -> Answer:
        key = new.key
        if new.overwrite:
            try:
                await store.update(key, new.description, new.content, scope=scope)
            except StaleEntryError as stale:
                return await _explain_stale(store, key, stale)
        else:
            try:
                await store.create(key, new.description, new.content, scope=scope)
            except EntryExistsError:
                return await _name_existing(store, key)
        return answers.written(key)

    return Tool(
        name=NAME,
        description=_DESCRIPTION,
        arguments=WriteArguments,
        verb=Verb.WRITTEN,
        act=act,
        exposure=NOWHERE,
        hook=hook,
    )


async def _name_existing(store: Store, key: str) -> Answer:
    # Read for the wording alone, in nobody's name: the model has not seen the content, so it must
    # not be able to replace it. Whatever goes wrong here, the refusal stands.
    try:
        description, _ = await store.read(key, scope=None)
        shown = answers.line(description)
    except Exception as error:
        return refusals.existing(key, None, error)
    return refusals.existing(key, shown, None)


async def _explain_stale(store: Store, key: str, stale: StaleEntryError) -> Answer:
    # An absent key is stale as well. Told to read it first, a model would run in a circle. Nor is it
    # created in passing: who overwrites believes that something is there, and should learn that
    # another run has deleted it.
    try:
        entry = await store.read(key, scope=None)
    except EntryNotFoundError:
        return refusals.missing(Verb.WRITTEN)
    except Exception as error:
        return refusals.stale(stale.reason, error)
    if answers.is_too_long(entry.content):
        return refusals.unreadable_whole()
    return refusals.stale(stale.reason)
