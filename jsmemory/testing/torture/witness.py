"""Who reads the stream's own history while it happens: what was stored, in which order, whoever asked for it."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from jsmemory.testing.torture.bucket_operator import Operator
from jsmemory.testing.torture.recording import Recorder

_LOOKS_EVERY_S: Final = 0.5
_AGAIN_S: Final = 0.1
_CATCHES_UP_S: Final = 30.0


class Witness:
    """
    Args:
        operator: Reads the stream.
        recorder: Where the messages are written down.
    """

    def __init__(self, operator: Operator, recorder: Recorder) -> None:
        self._operator = operator
        self._recorder = recorder
        self._era = 0
        self._last = 0
        self._one_looks = asyncio.Lock()
        self.has_seen_all = True
        """Whether no message was gone before it was seen."""

    @asynccontextmanager
    async def watching(self) -> AsyncIterator[None]:
        """Look again and again until the block ends."""
        looking = asyncio.create_task(self._look_again_and_again())
        try:
            yield
        finally:
            looking.cancel()
            await asyncio.wait([looking])

    @asynccontextmanager
    async def looking_away(self) -> AsyncIterator[None]:
        """While the bucket is made anew; what is stored after that counts from 1."""
        await self.catch_up()
        async with self._one_looks:
            yield
            self._era += 1
            self._last = 0

    async def catch_up(self) -> None:
        """Read all that the leader has by now; any replica answers, and one that lags shows less."""
        async with self._one_looks:
            goal = await self._operator.last_sequence()
            end = time.monotonic() + _CATCHES_UP_S
            while self._last < goal and time.monotonic() < end:
                if not await self._read_on():
                    await asyncio.sleep(_AGAIN_S)
            self.has_seen_all &= self._last >= goal

    async def _read_on(self) -> bool:
        found = await self._operator.history_after(self._last, self._era)
        for stored in found:
            self.has_seen_all &= stored.sequence == self._last + 1
            self._last = stored.sequence
            self._recorder.write(stored)
        return bool(found)

    async def _look_again_and_again(self) -> None:
        while True:
            await asyncio.sleep(_LOOKS_EVERY_S)
            async with self._one_looks:
                while await self._read_on():
                    pass
