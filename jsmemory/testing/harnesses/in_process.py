"""A keyspace in this process: the quickest one to try a layer on."""

from jsmemory.backed_store import BackedStore
from jsmemory.backend import Backend, Record
from jsmemory.backends.in_process import InProcessBackend
from jsmemory.errors import EntryExistsError
from jsmemory.keys import is_legal_key
from jsmemory.store import Store
from jsmemory.testing.harness import BackendHarness


class InProcessHarness(BackendHarness):
    """The keyspace is the driver: all stores share one."""

    def __init__(self) -> None:
        self._backend = InProcessBackend()

    async def drive(self) -> Backend:
        return self._backend

    async def plant(self, name: str, value: bytes) -> None:
        if not is_legal_key(name):
            return  # a dict that only this driver fills has no place for it
        record = Record(value, "")
        try:
            await self._backend.insert(name, record, capacity=2**31)
        except EntryExistsError:
            stored = await self._backend.load(name)
            if stored is not None:
                await self._backend.replace(name, record, expected=stored.revision)

    async def peek(self, key: str) -> bytes | None:
        stored = await self._backend.load(key)
        return None if stored is None else stored.value

    async def recreate(self) -> None:
        self._backend.begin_anew()

    async def neighbour(self) -> Store:
        return BackedStore(InProcessBackend())
