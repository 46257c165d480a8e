"""The store over a driver: what it refuses before a driver hears of it."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from jsmemory.backed_store import BackedStore
from jsmemory.backends.in_process import InProcessBackend
from jsmemory.scope import Scope

CALLS: dict[str, Callable[[BackedStore, Any], Awaitable[object]]] = {
    "read": lambda store, scope: store.read("there", scope=scope),
    "create": lambda store, scope: store.create("new", "about", "text", scope=scope),
    "update": lambda store, scope: store.update("there", "about", "new", scope=scope),
    "delete": lambda store, scope: store.delete("there", scope=scope),
}


@pytest.mark.parametrize("guarded", [True, False])
@pytest.mark.parametrize("scope", [{}, Scope().snapshot(), "run 1", Scope], ids=["empty", "snapshot", "text", "class"])
@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
async def test_what_is_no_scope_is_refused_before_anything_is_done(
    call: Callable[[BackedStore, Any], Awaitable[object]], scope: object, guarded: bool
) -> None:
    """A host that passes a snapshot would have written, and then met an AttributeError."""
    store = BackedStore(InProcessBackend(), require_read_before_update=guarded)
    await store.create("there", "about", "text", scope=None)
    with pytest.raises(TypeError, match=r"neither a Scope nor None\. Make one Scope\(\) for each run"):
        await call(store, scope)
    assert [item.key for item in await store.list()] == ["there"]
    assert tuple(await store.read("there", scope=None)) == ("about", "text")
