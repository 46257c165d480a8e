"""
What the author of a store hands to the kit: a fresh keyspace, and a hand in it.

    class MyHarness(Harness):
        async def open(self, *, require_read_before_update: bool = True) -> Store:
            return MyStore(self.folder, guarded=require_read_before_update)

`open` is all that a harness must have; for a driver it is `drive`, in a `BackendHarness`.
Four hands more let the kit see what a store does with values that it did not write itself,
and with a keyspace that is not its own any more: `plant`, `peek`, `recreate`, `neighbour`.
What needs a hand that nobody wrote is reported as not checked: neither kept nor broken.
A hand that cannot be had stands in `lacks`, with the reason.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from enum import StrEnum
from types import TracebackType
from typing import ClassVar, Final, Self

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

    @property
    def shows(self) -> str:
        """What is checked with it."""
        return _SHOWS[self]


_SHOWS: Final = {
    Need.PLANT: "how values that others wrote are read, listed, counted and overwritten",
    Need.PEEK: "what is stored under a key, and that a delete leaves nothing of it",
    Need.RECREATE: "that authority ends with a keyspace that is deleted and made anew",
    Need.NEIGHBOUR: "that two agents beside each other see nothing of one another",
}


class Lacking(Exception):
    """A case needs a hand that the harness does not have."""

    def __init__(self, need: Need) -> None:
        super().__init__(need)
        self.need = need

    def __str__(self) -> str:
        return (
            f"the harness has no {self.need.value!r}, which shows {self.need.shows}. "
            "Write the method, or say in `lacks` why it cannot be had."
        )


class WrongHarness(TypeError):
    """What was given as a harness is none, or is none for these cases, or names what there is not."""


class Harness(ABC):
    """
    One fresh, empty keyspace, for one case. The kit makes a harness, enters it, runs the
    case, and leaves it.

    Attributes:
        lacks: The hands that cannot be had, each with the reason. Checked strictly: what needs
            one must fail.
        gaps: The cases that the store is known to fail, each with the reason. Strict as well.
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


def hands_of(harness: type[Harness]) -> frozenset[Need]:
    """The hands that a harness has: those that it wrote or inherited, save what it says it lacks."""
    written = {need for need in Need if getattr(harness, need) is not getattr(Harness, need)}
    return frozenset(written - set(harness.lacks))
