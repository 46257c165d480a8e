"""A store that tries again what failed without a trace, a bounded number of times."""

import random
from collections.abc import Awaitable, Callable, Hashable
from functools import partial
from typing import Final, TypeVar

import anyio

from jsmemory.entries import Entry, Item
from jsmemory.errors import JsMemoryError
from jsmemory.layers.wrapping import WrappingStore
from jsmemory.live import Feed, Picture
from jsmemory.scope import Scope
from jsmemory.store import Store

T = TypeVar("T")

ATTEMPTS: Final = 4
FIRST_PAUSE: Final = 0.2
LONGEST_PAUSE: Final = 5.0


class RetryingStore(WrappingStore):
    """
    Tries a call again where the error says that it may succeed later and nothing was written.

    Every other error is passed on at once, an `OutcomeUnknownError` above all: what may have
    landed is never sent twice. After the last attempt the error of that attempt is raised.

    Args:
        inner: The store that does the work.
        attempts: How often a call is made at most, 1 or more.
        first_pause: Seconds after the first attempt at most; twice as many after each further one.
        longest_pause: Seconds that a pause never exceeds.
        sleep: What waits. A pause lasts from half of its length to all of it, at random, so
            that a fleet which failed together does not come back together.
    """

    def __init__(
        self,
        inner: Store,
        *,
        attempts: int = ATTEMPTS,
        first_pause: float = FIRST_PAUSE,
        longest_pause: float = LONGEST_PAUSE,
        sleep: Callable[[float], Awaitable[None]] = anyio.sleep,
    ) -> None:
        super().__init__(inner)
        if attempts < 1:
            raise ValueError("A call takes one attempt or more.")
        self._pauses = [min(longest_pause, first_pause * 2**number) for number in range(attempts - 1)]
        self._sleep = sleep

    async def list(self) -> tuple[Item, ...]:
        return await self._persist(self.inner.list)

    async def read(self, key: str, *, scope: Scope | None) -> Entry:
        return await self._persist(partial(self.inner.read, key, scope=scope))

    async def create(self, key: str, description: str, content: str, *, scope: Scope | None) -> None:
        await self._persist(partial(self.inner.create, key, description, content, scope=scope))

    async def update(self, key: str, description: str, content: str, *, scope: Scope | None) -> None:
        await self._persist(partial(self.inner.update, key, description, content, scope=scope))

    async def delete(self, key: str, *, scope: Scope | None) -> bool:
        return await self._persist(partial(self.inner.delete, key, scope=scope))

    def feed(self, picture: Picture) -> Feed | None:
        # It goes on by itself; and what it cannot list is listed here, again and again.
        return self.inner.feed(picture)

    def keyspace_names(self) -> frozenset[Hashable]:
        return self.inner.keyspace_names()

    async def _persist(self, call: Callable[[], Awaitable[T]]) -> T:
        for pause in self._pauses:
            try:
                return await call()
            except JsMemoryError as error:
                if not error.retryable:
                    raise
            await self._sleep(random.uniform(pause / 2, pause))  # noqa: S311, no secret depends on it
        return await call()
