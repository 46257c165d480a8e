"""A store whose listing comes from a live view: for runs, tools, and whatever else lists."""

from collections.abc import Hashable

from jsmemory.entries import Item
from jsmemory.errors import InvalidOptionsError
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
        view: A view of the same keyspace: of `live` of this store, or of another one on it.

    Raises:
        InvalidOptionsError: it is a view of another keyspace, be it only of another prefix; its
            keys are not for who has this store.
    """

    def __init__(self, inner: Store, view: LiveView) -> None:
        super().__init__(inner)
        if not view.shows(inner.keyspace_names()):
            raise InvalidOptionsError(
                "live", "is a view of another keyspace than the store's", "Give the view of this store: store.live()."
            )
        self._view = view

    async def list(self) -> tuple[Item, ...]:
        return await self._view.list()

    def keyspace_names(self) -> frozenset[Hashable]:
        return self.inner.keyspace_names()
