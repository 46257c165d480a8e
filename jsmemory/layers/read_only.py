"""A store that can be read and not written."""

from dataclasses import replace
from typing import NoReturn

from jsmemory.errors import ReadOnlyStoreError
from jsmemory.keys import validate_key
from jsmemory.layers.wrapping import WrappingStore
from jsmemory.scope import Scope
from jsmemory.store import Terms


class ReadOnlyStore(WrappingStore):
    """
    Refuses the three methods that write, before anything reaches the inner store.

    A malformed key is still told as such: it is wrong in every store, and whoever is told
    "read-only" instead would take it elsewhere. Scopes are left as they are. Its terms say
    so, and a run on it offers no tools that write.
    """

    async def create(self, key: str, description: str, content: str, *, scope: Scope | None) -> NoReturn:
        _refuse(key)

    async def update(self, key: str, description: str, content: str, *, scope: Scope | None) -> NoReturn:
        _refuse(key)

    async def delete(self, key: str, *, scope: Scope | None) -> NoReturn:
        _refuse(key)

    def terms(self) -> Terms:
        return replace(self.inner.terms(), read_only=True)


def _refuse(key: str) -> NoReturn:
    validate_key(key)
    raise ReadOnlyStoreError
