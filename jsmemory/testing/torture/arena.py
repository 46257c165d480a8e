"""Where a campaign takes place: the keyspaces, and who may do what to them past every store."""

import asyncio
import random
import shutil
import time
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

import msgspec
from nats.aio.client import Client

from jsmemory import frontmatter
from jsmemory.backed_store import BackedStore
from jsmemory.backend import Backend
from jsmemory.backends.file import FileBackend
from jsmemory.backends.jetstream.backend import JetStreamBackend
from jsmemory.backends.jetstream.wire import Wire
from jsmemory.limits import MAX_ENTRIES
from jsmemory.scope import Scope
from jsmemory.testing.servers import plain_client
from jsmemory.testing.torture.acting import Actor, Place
from jsmemory.testing.torture.bucket_operator import BUCKET, PATIENCE_S, Operator
from jsmemory.testing.torture.jobs import FULL, Job
from jsmemory.testing.torture.network import Network
from jsmemory.testing.torture.recording import Recorder
from jsmemory.testing.torture.records import Rested, Wiped
from jsmemory.testing.torture.witness import Witness

STEADY: Final = MAX_ENTRIES - 8
"""Entries that fill the keyspace `FULL` up to its last places, and are never touched."""

_OPERATOR: Final = "op"
_AT_ONCE: Final = 32
_SIZE: Final = 40
_HISTORY: Final = 64
# Values that the bucket keeps of a key: more than come between two looks of the witness.


class Arena(ABC):
    """
    Keyspaces.

    Args:
        recorder: Where the operator's acts are written down.
        spaces: Those that are used.
    """

    def __init__(self, recorder: Recorder, spaces: Sequence[str]) -> None:
        self._recorder = recorder
        self._spaces = spaces
        self._actor = Actor(_OPERATOR, recorder)
        self._filled = 0

    @abstractmethod
    def assign(self, job: Job) -> Job:
        """A job, with where the keyspaces are."""

    @abstractmethod
    async def recreate(self) -> None:
        """Remove the keyspaces with all that they hold, and make empty ones."""

    @abstractmethod
    async def recovered(self) -> None:
        """Wait until it can be written again, after a fault."""

    @abstractmethod
    async def settle(self) -> None:
        """Have everything healed and current, when all is over."""

    @abstractmethod
    async def rest(self, space: str) -> Rested:
        """The final state of a keyspace."""

    @abstractmethod
    async def _open(self, space: str) -> Backend:
        """A driver on a keyspace, past all links."""

    async def fill(self) -> None:
        """Fill a keyspace up to its last places, by a store like any other, if it is used."""
        if FULL not in self._spaces:
            return
        place = Place(BackedStore(await self._open(FULL)), f"{_OPERATOR}-{self._filled}", FULL)
        turns = asyncio.Semaphore(_AT_ONCE)

        async def create(number: int) -> None:
            async with turns:
                key = f"s{self._filled:03}-{number:04}"
                await self._actor.create(place, Scope(), _OPERATOR, key, _SIZE)

        await asyncio.gather(*map(create, range(STEADY)))
        self._filled += 1

    async def wipe(self) -> None:
        """Recreate and fill again, written down."""
        began = time.monotonic()
        await self.recreate()
        self._recorder.write(Wiped(began, time.monotonic()))
        await self.fill()

    async def rests(self) -> None:
        """Write down the final states."""
        for space in self._spaces:
            self._recorder.write(await self.rest(space))


class BucketArena(Arena):
    """
    A bucket, on servers behind links.

    Attributes:
        network: The servers and the links.
        operator: The bucket's.
        witness: Who reads the stream's history.
    """

    def __init__(
        self, recorder: Recorder, spaces: Sequence[str], network: Network, client: Client, operator: Operator
    ) -> None:
        super().__init__(recorder, spaces)
        self._client = client
        self.network = network
        self.operator = operator
        self.witness = Witness(operator, recorder)

    @classmethod
    @asynccontextmanager
    async def open(
        cls, recorder: Recorder, spaces: Sequence[str], folder: Path, *, servers: int, replicas: int
    ) -> AsyncIterator["BucketArena"]:
        """Servers with a bucket, until the block ends."""
        network = Network(folder, servers)
        async with network.running(), plain_client(*network.direct_urls, name=_OPERATOR) as client:
            operator = Operator(client, replicas=replicas, history=_HISTORY)
            await operator.make()
            arena = cls(recorder, spaces, network, client, operator)
            async with arena.witness.watching():
                yield arena

    def assign(self, job: Job) -> Job:
        return msgspec.structs.replace(job, urls=self.network.urls, bucket=BUCKET)

    async def recreate(self) -> None:
        async with self.witness.looking_away():
            await self.operator.remove()
            await self.operator.make()

    async def recovered(self) -> None:
        await self.operator.describe()

    async def settle(self) -> None:
        self.network.heal()
        self.network.begin()
        await self.network.ready()
        await self.operator.describe()

    async def rest(self, space: str) -> Rested:
        at = time.monotonic()
        entries = await self.operator.entries(space)
        await self.witness.catch_up()
        return Rested(space, at, entries, self.witness.has_seen_all)

    async def _open(self, space: str) -> Backend:
        return await JetStreamBackend.bind(
            Wire(self._client), BUCKET, space, preflight=True, bind_timeout=PATIENCE_S, budget=PATIENCE_S
        )


class FolderArena(Arena):
    """
    A directory.

    Args:
        recorder: Where the operator's acts are written down.
        spaces: Those that are used.
        folder: Holds the directory, and what was removed.
    """

    def __init__(self, recorder: Recorder, spaces: Sequence[str], folder: Path) -> None:
        super().__init__(recorder, spaces)
        self._folder = folder
        self._directory = folder / "memory"
        self._removed = 0

    def assign(self, job: Job) -> Job:
        return msgspec.structs.replace(job, directory=str(self._directory))

    async def make(self) -> None:
        """Make the directory."""
        for space in self._spaces:
            (self._directory / space).mkdir(parents=True)

    async def recreate(self) -> None:
        # Put aside first: whoever is at work in it goes on in what is removed.
        self._removed += 1
        removed = self._folder / f"removed-{self._removed}"
        self._directory.rename(removed)
        await asyncio.sleep(random.uniform(0, 0.1))  # noqa: S311
        await self.make()
        shutil.rmtree(removed, ignore_errors=True)

    async def recovered(self) -> None:
        return

    async def settle(self) -> None:
        return

    async def rest(self, space: str) -> Rested:
        files = sorted((self._directory / space).glob("*.md"))
        entries = {file.stem: frontmatter.parse(file.read_bytes())[0] for file in files}
        return Rested(space, time.monotonic(), entries)

    async def _open(self, space: str) -> Backend:
        return await FileBackend.open(self._directory, prefix=space)
