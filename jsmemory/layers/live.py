"""A store whose listing comes from a live view: for runs, tools, and whatever else lists."""

from jsmemory.entries import Item
from jsmemory.layers.wrapping import WrappingStore
from jsmemory.live import LiveView
from jsmemory.store import Store


class LiveStore(WrappingStore):
    """
    Lists out of a view; all else is the inner store's.

    A listing out of a view grants no authority either, and is as complete. After the view's
    block it is the store's own again.

    Args:
        inner: The store that does the work.
        view: A view of the same keyspace, of `Store.live`.
    """

    def __init__(self, inner: Store, view: LiveView) -> None:
        super().__init__(inner)
        self._view = view

    async def list(self) -> tuple[Item, ...]:
        return await self._view.list()
