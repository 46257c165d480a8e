"""
Drivers that are broken on purpose, each in one way: they prove that the checker sees it.

A checker that has never found anything has not been tried. There is one for each guarantee,
under its name.
"""

import asyncio
import random
import secrets
from collections.abc import Mapping, Sequence
from typing import Final

from jsmemory.backend import Backend, Keyspace, Record, Stored
from jsmemory.entries import Item
from jsmemory.errors import JsMemoryError, StaleEntryError, StoreFullError
from jsmemory.testing.torture.checking import Guarantee

_SOMETIMES: Final = 0.3
_LATER_S: Final = (0.02, 0.2)


def mutated(backend: Backend, mutant: str) -> Backend:
    """A driver, broken in the guarantee that is named; as it is where none is."""
    return MUTANTS[Guarantee(mutant)](backend) if mutant else backend


class _Mutant(Backend):
    """What all of them do right."""

    def __init__(self, inner: Backend) -> None:
        self._inner = inner
        self._lot = random.SystemRandom()

    def describe(self) -> Keyspace:
        return self._inner.describe()

    async def scan(self) -> Sequence[Item]:
        return await self._inner.scan()

    async def load(self, key: str) -> Stored | None:
        return await self._inner.load(key)

    async def insert(self, key: str, record: Record, *, capacity: int) -> str:
        return await self._inner.insert(key, record, capacity=capacity)

    async def replace(self, key: str, record: Record, *, expected: str) -> str:
        return await self._inner.replace(key, record, expected=expected)

    async def remove(self, key: str) -> bool:
        return await self._inner.remove(key)

    @property
    def _is_time(self) -> bool:
        return self._lot.random() < _SOMETIMES

    async def _over_whatever_is_there(self, key: str, record: Record) -> str:
        stored = await self._inner.load(key)
        if stored is None:
            raise StaleEntryError(key, "changed")
        return await self._inner.replace(key, record, expected=stored.revision)


class LetsAnErrorThrough(_Mutant):
    """Sometimes raises what no caller knows of."""

    async def load(self, key: str) -> Stored | None:
        if self._is_time:
            raise KeyError(key)
        return await super().load(key)


class ShowsHalf(_Mutant):
    """Sometimes shows a value of which only half was written."""

    async def load(self, key: str) -> Stored | None:
        stored = await super().load(key)
        if stored is not None and self._is_time:
            return Stored(stored.value[: len(stored.value) * 3 // 4], stored.revision)
        return stored


class LiesAboutALostAnswer(_Mutant):
    """Sometimes says that a write has landed which was never sent."""

    async def insert(self, key: str, record: Record, *, capacity: int) -> str:
        if self._is_time and await super().load(key) is None:
            return secrets.token_hex(16)
        return await super().insert(key, record, capacity=capacity)


class RetriesBlindly(_Mutant):
    """Sends a write once more, some time later, whatever is there by then."""

    def __init__(self, inner: Backend) -> None:
        super().__init__(inner)
        self._retries: set[asyncio.Task[None]] = set()

    async def replace(self, key: str, record: Record, *, expected: str) -> str:
        revision = await super().replace(key, record, expected=expected)
        retry = asyncio.create_task(self._again(key, record))
        self._retries.add(retry)
        retry.add_done_callback(self._retries.discard)
        return revision

    async def _again(self, key: str, record: Record) -> None:
        await asyncio.sleep(self._lot.uniform(*_LATER_S))
        try:
            await self._over_whatever_is_there(key, record)
        except JsMemoryError:
            return


class RefusesWhatLanded(_Mutant):
    """Sometimes says of its own write that somebody else came first."""

    async def replace(self, key: str, record: Record, *, expected: str) -> str:
        revision = await super().replace(key, record, expected=expected)
        if self._is_time:
            raise StaleEntryError(key, "changed")
        return revision


class ForgetsTheCondition(_Mutant):
    """Replaces whatever is there."""

    async def replace(self, key: str, record: Record, *, expected: str) -> str:
        return await self._over_whatever_is_there(key, record)


class KeepsAuthority(_Mutant):
    """Takes a keyspace that was made anew for the old one."""

    def __init__(self, inner: Backend) -> None:
        super().__init__(inner)
        self._first = inner.describe()

    def describe(self) -> Keyspace:
        return self._first

    async def replace(self, key: str, record: Record, *, expected: str) -> str:
        if self._inner.describe() != self._first:
            return await self._over_whatever_is_there(key, record)
        return await super().replace(key, record, expected=expected)


class RefusesForNothing(_Mutant):
    """Sometimes says that somebody came first where nobody did."""

    async def replace(self, key: str, record: Record, *, expected: str) -> str:
        if self._is_time:
            raise StaleEntryError(key, "changed")
        return await super().replace(key, record, expected=expected)


class AnswersOldReads(_Mutant):
    """Reads from a replica that lags."""

    def __init__(self, inner: Backend) -> None:
        super().__init__(inner)
        self._old: dict[str, Stored | None] = {}

    async def load(self, key: str) -> Stored | None:
        if key in self._old and self._lot.random() < 0.5:
            return self._old[key]
        self._old[key] = await super().load(key)
        return self._old[key]


class AlwaysSaysItExisted(_Mutant):
    """Answers a delete with True, whoever has deleted it."""

    async def remove(self, key: str) -> bool:
        await super().remove(key)
        return True


class CountsNothing(_Mutant):
    """Takes an entry more, however many there are."""

    async def insert(self, key: str, record: Record, *, capacity: int) -> str:
        return await super().insert(key, record, capacity=2**31)


class KeepsCountingTheDeleted(_Mutant):
    """Sometimes takes a store for full that has room."""

    async def insert(self, key: str, record: Record, *, capacity: int) -> str:
        if self._is_time and await super().load(key) is None:
            raise StoreFullError(capacity)
        return await super().insert(key, record, capacity=capacity)


class DropsAKey(_Mutant):
    """Sometimes leaves an entry out of a listing."""

    async def scan(self) -> Sequence[Item]:
        items = list(await super().scan())
        if items and self._is_time:
            items.remove(self._lot.choice(items))
        return items


MUTANTS: Final[Mapping[Guarantee, type[_Mutant]]] = {
    Guarantee.CONTRACT: LetsAnErrorThrough,
    Guarantee.WHOLE: ShowsHalf,
    Guarantee.KEPT: LiesAboutALostAnswer,
    Guarantee.ONCE: RetriesBlindly,
    Guarantee.REFUSED: RefusesWhatLanded,
    Guarantee.UNSEEN: ForgetsTheCondition,
    Guarantee.ERA: KeepsAuthority,
    Guarantee.HONEST: RefusesForNothing,
    Guarantee.SESSION: AnswersOldReads,
    Guarantee.EXISTED: AlwaysSaysItExisted,
    Guarantee.CAPACITY: CountsNothing,
    Guarantee.ROOM: KeepsCountingTheDeleted,
    Guarantee.LISTED: DropsAKey,
}
"""By the guarantee that each one breaks."""
