"""A store that is open to one conversation, and shut when that is over."""

import asyncio
from collections.abc import Hashable
from contextlib import suppress

from jsmemory.entries import Entry, Item
from jsmemory.errors import EndReason, RunEndedError
from jsmemory.layers.wrapping import WrappingStore
from jsmemory.scope import Scope
from jsmemory.store import Store


class Gate(WrappingStore):
    """
    Lets calls through until it is shut, and knows which of them are still under way.

    Whoever keeps tools of a conversation that is over can do nothing with them: neither read
    what would grant them a new authority, nor use the old one.

    Args:
        inner: The store behind it.
        run_id: For the refusal.
    """

    def __init__(self, inner: Store, run_id: str) -> None:
        super().__init__(inner)
        self._run_id = run_id
        self._shut: EndReason | None = None
        self._under_way = 0
        self._quiet = asyncio.Event()
        self._quiet.set()

    def shut(self, reason: EndReason) -> None:
        """Refuse every further call; `reason` is what they are told."""
        self._shut = self._shut or reason

    async def quiet(self, patience: float) -> None:
        """
        Wait for the calls under way.

        Args:
            patience: Seconds. A call that takes longer lands, or not, as it would have; only
                what it would have learnt is lost.
        """
        with suppress(TimeoutError):
            async with asyncio.timeout(patience):
                await self._quiet.wait()

    async def list(self) -> tuple[Item, ...]:
        with self:
            return await self.inner.list()

    async def read(self, key: str, *, scope: Scope | None) -> Entry:
        with self:
            return await self.inner.read(key, scope=scope)

    async def create(self, key: str, description: str, content: str, *, scope: Scope | None) -> None:
        with self:
            await self.inner.create(key, description, content, scope=scope)

    async def update(self, key: str, description: str, content: str, *, scope: Scope | None) -> None:
        with self:
            await self.inner.update(key, description, content, scope=scope)

    async def delete(self, key: str, *, scope: Scope | None) -> bool:
        with self:
            return await self.inner.delete(key, scope=scope)

    def keyspace_names(self) -> frozenset[Hashable]:
        return self.inner.keyspace_names()

    def __enter__(self) -> None:
        if self._shut is not None:
            raise RunEndedError(self._run_id, self._shut)
        self._under_way += 1
        self._quiet.clear()

    def __exit__(self, *failure: object) -> None:
        self._under_way -= 1
        if not self._under_way:
            self._quiet.set()
