"""
A network that can be treated badly: a TCP proxy in front of a server, which nobody can go around.

Bytes are held, delayed and swallowed, and connections cut, for all who connect or for one of
them. Who it is shows in what NATS itself says when it connects: a client its name, a server
that opens a route its server's name.
"""

import asyncio
import contextlib
import random
import re
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Final, Literal

from jsmemory.testing.servers.ports import draw_port

Way = Literal["up", "down"]
"""From who connects to the server, and back."""

BOTH: Final[tuple[Way, ...]] = ("up", "down")

_CHUNK: Final = 64 * 1024
_NAMES_WITHIN: Final = 16 * 1024
# Bytes from the beginning in which a client or a server says who it is.
_NAME: Final = re.compile(rb'"(?:server_name|name)":\s*"([^"]*)"')
_SERVER_NAME: Final = re.compile(rb'"server_name":\s*"([^"]*)"')
_WRITE: Final = re.compile(rb"PUB \$KV\.")


@dataclass(slots=True, eq=False)
class Weather:
    """
    What happens to bytes on their way.

    Attributes:
        holds: The ways on which nothing gets through; it waits, as in a network that sends it again.
        delay: Seconds that every piece takes longer, up to twice that by lot.
        stalls: The share of pieces that are late as if a packet had to be sent again.
        cuts_writes: Whether a connection is cut when it has just carried a write to the server.
        refuses: Whether nobody new is let in.
    """

    holds: set[Way] = field(default_factory=set)
    delay: float = 0.0
    stalls: float = 0.0
    cuts_writes: bool = False
    refuses: bool = False


_STALL: Final = (0.2, 0.6)
# Seconds after which TCP sends a lost packet again, for the first time or the second.


class _Carried:
    """One connection through a link."""

    def __init__(self, link: "Link", down: asyncio.StreamWriter, up: asyncio.StreamWriter) -> None:
        self._link = link
        self._writers: dict[Way, asyncio.StreamWriter] = {"up": up, "down": down}
        self._said = b""
        self.who = ""

    async def carry(self, way: Way, reader: asyncio.StreamReader) -> None:
        """Bytes one way, until an end is closed."""
        writer = self._writers[way]
        with contextlib.suppress(OSError):
            while piece := await reader.read(_CHUNK):
                if way == "up" and not self.who:
                    self._learn(piece)
                await self._weather_through(way)
                writer.write(piece)
                await writer.drain()
                if way == "up" and self._weather.cuts_writes and _WRITE.search(piece):
                    break
        self.cut()

    def cut(self) -> None:
        """Close both ends at once; what is held on the way is lost."""
        for writer in self._writers.values():
            if writer.transport is not None:
                writer.transport.abort()

    @property
    def _weather(self) -> Weather:
        return self._link.weather_of(self.who)

    async def _weather_through(self, way: Way) -> None:
        weather = self._weather
        if weather.delay:
            await asyncio.sleep(weather.delay * random.uniform(1, 2))  # noqa: S311
        if weather.stalls and random.random() < weather.stalls:  # noqa: S311
            await asyncio.sleep(random.uniform(*_STALL))  # noqa: S311
        while way in self._weather.holds:
            await self._link.changed.wait()

    def _learn(self, piece: bytes) -> None:
        if len(self._said) < _NAMES_WITHIN:
            self._said += piece
            if match := self._link.names.search(self._said):
                self.who = match[1].decode(errors="replace")
                self._said = b""


class Link:
    """
    The way to one server.

    Args:
        target: The server's port; asked at every connection.
        of_servers: Whether servers come this way, and not clients.
    """

    def __init__(self, target: Callable[[], int], *, of_servers: bool = False) -> None:
        self.port = draw_port()
        self.names = _SERVER_NAME if of_servers else _NAME
        self.changed = asyncio.Event()
        self._target = target
        self._fair = Weather()
        self._weather: dict[str, Weather] = {}
        self._carried: set[_Carried] = set()

    @property
    def who(self) -> frozenset[str]:
        """The names of those who are connected and have said them."""
        return frozenset(carried.who for carried in self._carried if carried.who)

    def weather_of(self, who: str) -> Weather:
        """What happens to the bytes of one who connects."""
        return self._weather.get(who) or self._weather.get("") or self._fair

    def turn(self, weather: Weather, who: Iterable[str] = ("",)) -> None:
        """Have it as bad as `weather` says, for all or for some."""
        self._weather.update(dict.fromkeys(who, weather))
        self._tell()

    def clear(self) -> None:
        """Let everything through again, also what was held."""
        self._weather.clear()
        self._tell()

    def cut(self, who: Iterable[str] | None = None) -> None:
        """Cut the connections of all or of some; what is held on them is lost."""
        names = None if who is None else set(who)
        for carried in list(self._carried):
            if names is None or carried.who in names:
                carried.cut()

    @asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        """Carry connections until the block ends."""
        server = await asyncio.start_server(self._accept, "127.0.0.1", self.port)
        try:
            yield
        finally:
            server.close()
            self.clear()
            self.cut()
            await server.wait_closed()

    async def _accept(self, near: asyncio.StreamReader, down: asyncio.StreamWriter) -> None:
        if self.weather_of("").refuses:
            down.transport.abort()
            return
        try:
            far, up = await asyncio.open_connection("127.0.0.1", self._target())
        except OSError:
            down.transport.abort()
            return
        carried = _Carried(self, down, up)
        self._carried.add(carried)
        try:
            await asyncio.gather(carried.carry("up", near), carried.carry("down", far))
        except asyncio.CancelledError:
            return
        finally:
            carried.cut()
            self._carried.discard(carried)

    def _tell(self) -> None:
        self.changed.set()
        self.changed = asyncio.Event()
