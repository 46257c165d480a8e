"""A store on which runs begin without an index of what is stored."""

from dataclasses import replace

from jsmemory.layers.wrapping import WrappingStore
from jsmemory.store import Terms


class NoIndexStore(WrappingStore):
    """Says so in its terms; all else is the inner store's."""

    def terms(self) -> Terms:
        return replace(self.inner.terms(), no_index=True)
