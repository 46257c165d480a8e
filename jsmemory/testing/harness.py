"""
What the author of a store hands to the kit: a fresh keyspace, and a hand in it.

    class MyHarness(Harness):
        async def open(self, *, require_read_before_update: bool = True) -> Store:
            return MyStore(self.folder, guarded=require_read_before_update)

`open` is all that a harness must have. The other methods let the kit see what a store does
with values that it did not write itself, and with a keyspace that is made anew; a harness
that has no such hand says why in `lacks`.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from enum import StrEnum
from types import TracebackType
from typing import ClassVar, Self

from jsmemory.backed_store import BackedStore
from jsmemory.backend import Backend
from jsmemory.scope import Scope
from jsmemory.store import Store
from jsmemory.testing.case import Gap


class Need(StrEnum):
    """A hand that some cases need beside the store's own methods."""

    PLANT = "plant"
    PEEK = "peek"
    RECREATE = "recreate"
    NEIGHBOUR = "neighbour"


class Lacking(Exception):
    """A case needs a hand that the harness does not have."""

    def __init__(self, need: Need) -> None:
        super().__init__(need)
        self.need = need

    def __str__(self) -> str:
        return f"The harness has no {self.need.value!r}. Write the method, or say why it cannot be had in `lacks`."


class Harness(ABC):
    """
    One fresh, empty keyspace, for one case. The kit makes a harness, enters it, runs the
    case, and leaves it.

    Attributes:
        lacks: The hands that this harness does not have, each with the reason.
        gaps: The cases that the store is known to fail, each with the reason.
    """

    lacks: ClassVar[Mapping[Need, str]] = {}
    gaps: ClassVar[tuple[Gap, ...]] = ()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Let go of what the keyspace took; nothing, unless the harness says otherwise."""
        return

    @abstractmethod
    async def open(self, *, require_read_before_update: bool = True) -> Store:
        """
        A store on the keyspace.

        Every call gives another one, as another process would have it: it shares nothing with
        the others save the keyspace. Where the keyspace lives in the store object, it is the
        same keyspace again.
        """

    def scope(self) -> Scope:
        """The scope of a run that begins."""
        return Scope()

    async def plant(self, name: str, value: bytes) -> None:
        """Put a value under a name, past the store, as another program or a person would; the name need be no key."""
        raise Lacking(Need.PLANT)

    async def peek(self, key: str) -> bytes | None:
        """The stored value of a key, as another program would find it; None where there is none."""
        raise Lacking(Need.PEEK)

    async def recreate(self) -> None:
        """Delete the keyspace with all that it holds, and make an empty one under its name."""
        raise Lacking(Need.RECREATE)

    async def neighbour(self) -> Store:
        """A store for another agent, in the same bucket or directory, under a prefix that begins as this one does."""
        raise Lacking(Need.NEIGHBOUR)


class BackendHarness(Harness):
    """A harness for a driver: its stores are `BackedStore` over what `drive` gives."""

    @abstractmethod
    async def drive(self) -> Backend:
        """A driver on the keyspace; every call gives another one, as another process would have it."""

    async def open(self, *, require_read_before_update: bool = True) -> Store:
        return BackedStore(await self.drive(), require_read_before_update=require_read_before_update)
