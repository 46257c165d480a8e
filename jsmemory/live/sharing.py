"""One view for all who look at a store at the same time."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final

from jsmemory.live.view import LiveView


@dataclass(slots=True)
class _Shared:
    owner: object
    view: LiveView
    users: int = 0


_open: Final[dict[tuple[int, asyncio.AbstractEventLoop], _Shared]] = {}
# Here and not in the store: nobody who writes one has to call our constructor. An entry holds
# its store, so that the number of the store is not given to another one meanwhile.


@asynccontextmanager
async def shared_view(owner: object, make: Callable[[], LiveView]) -> AsyncIterator[LiveView]:
    """
    The view of a store, for the length of the block: one for all tasks of an event loop.

    Args:
        owner: The store.
        make: Makes the view where nobody has one open.

    Raises:
        JsMemoryError: what a listing raises, where a first look is not to be had.
    """
    place = (id(owner), asyncio.get_running_loop())
    shared = _open.get(place)
    if shared is None:
        shared = _open[place] = _Shared(owner, make())
    shared.users += 1
    try:
        await shared.view.begin()
        yield shared.view
    finally:
        shared.users -= 1
        if not shared.users:
            del _open[place]
            await shared.view.end()
