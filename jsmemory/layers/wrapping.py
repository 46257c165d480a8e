"""A store around a store, that adds nothing: the one place for layers to start from."""

from collections.abc import Hashable

from jsmemory.entries import Entry, Item
from jsmemory.live import Feed, Picture
from jsmemory.scope import Scope
from jsmemory.store import Info, Store, Terms


class WrappingStore(Store):
    """
    Forwards every method to an inner store, scope and all. A layer overrides what it changes.

    Args:
        inner: The store that does the work. It stays the caller's.
    """

    def __init__(self, inner: Store) -> None:
        self._inner = inner

    @property
    def inner(self) -> Store:
        """The store underneath."""
        return self._inner

    def info(self) -> Info:
        return self._inner.info()

    async def list(self) -> tuple[Item, ...]:
        return await self._inner.list()

    async def read(self, key: str, *, scope: Scope | None) -> Entry:
        return await self._inner.read(key, scope=scope)

    async def create(self, key: str, description: str, content: str, *, scope: Scope | None) -> None:
        await self._inner.create(key, description, content, scope=scope)

    async def update(self, key: str, description: str, content: str, *, scope: Scope | None) -> None:
        await self._inner.update(key, description, content, scope=scope)

    async def delete(self, key: str, *, scope: Scope | None) -> bool:
        return await self._inner.delete(key, scope=scope)

    def terms(self) -> Terms:
        return self._inner.terms()

    def feed(self, picture: Picture) -> Feed | None:
        # A layer that lists in a way of its own is followed by what it lists, unless it says otherwise.
        return self._inner.feed(picture) if type(self).list is WrappingStore.list else None

    def keyspace_names(self) -> frozenset[Hashable]:
        # It may list less, so that a view of what is underneath would show what it hides.
        return self._inner.keyspace_names() if type(self).list is WrappingStore.list else super().keyspace_names()
