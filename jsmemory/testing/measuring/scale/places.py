"""What is timed in one bucket."""

import random
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack

from jsmemory.backends.jetstream import JetStreamStore
from jsmemory.connecting import Connection
from jsmemory.scope import Scope
from jsmemory.testing.measuring.scale.filling import Filled, key_of

Call = Callable[[], Awaitable[object]]


class Place:
    """
    One bucket, and the calls that are timed in it.

    Args:
        filled: The bucket.
        old: A store over one of its prefixes, which is full of entries.
        new: A store over a prefix of its own, for entries that come and go.
        size: Bytes of a content.
    """

    def __init__(self, filled: Filled, old: JetStreamStore, new: JetStreamStore, size: int) -> None:
        self.entries = filled.entries
        self._old = old
        self._new = new
        self._keys = [key_of(number) for number in range(filled.of_a_prefix)]
        self._size = size
        self._scope = Scope()
        self._written = 0

    @classmethod
    async def bind(cls, connection: Connection, filled: Filled, size: int) -> "Place":
        """Bind to the prefix in the middle, and to a new one."""
        prefix = filled.prefixes[(len(filled.prefixes) - 1) // 2]
        old = await JetStreamStore.bind(connection, filled.bucket, prefix)
        return cls(filled, old, await JetStreamStore.bind(connection, filled.bucket, "new"), size)

    def short(self) -> Mapping[str, Call]:
        """The calls of one round, in their order; each finds what the ones before it have left."""
        key, passing = random.choice(self._keys), f"passing-{self._written}"  # noqa: S311
        return {
            "read": lambda: self._old.read(key, scope=self._scope),
            "update": lambda: self._old.update(key, *self._note(), scope=self._scope),
            "create": lambda: self._new.create(passing, *self._note(), scope=self._scope),
            "delete": lambda: self._new.delete(passing, scope=self._scope),
        }

    def listing(self) -> Mapping[str, Call]:
        """The listing of the prefix."""
        return {"list": self._old.list}

    async def live_listing(self, stack: AsyncExitStack) -> Mapping[str, Call]:
        """The listing out of a view of the prefix that lives as long as `stack`."""
        view = await stack.enter_async_context(self._old.live())
        return {"live_list": view.list}

    def _note(self) -> tuple[str, str]:
        self._written += 1
        description = f"What was measured in write {self._written} of this run: cafés, 'quotes' and a colon"
        return description, f"{self._written:08}".ljust(self._size, "x")[: self._size]
