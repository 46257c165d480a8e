"""Keep a connection alive for as long as somebody holds it."""

import asyncio
import logging
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal

from jsmemory.connecting.clients import Occasion, SafeClient, discard, open_client
from jsmemory.connecting.connection import Connection
from jsmemory.connecting.reasons import REFUSED, is_refusal
from jsmemory.connecting.settings import Settings
from jsmemory.errors import AccessDeniedError, InvalidOptionsError, JsMemoryError

AWAY_S: Final = 30.0
"""A client that has not come back by itself in this time is replaced: its settings may be old."""

REPLACE_S: Final = 10.0
FIRST_PAUSE_S: Final = 0.1
LONGEST_PAUSE_S: Final = 5.0

EventKind = Literal["connected", "disconnected", "reconnected", "replaced", "denied", "refused", "closed"]

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ConnectionEvent:
    """
    Something that happened to a connection.

    Attributes:
        kind: ``connected`` the first time; ``disconnected``; ``reconnected`` by the same
            client, or ``replaced`` by another; ``denied`` where a permission is missing;
            ``refused`` where the credentials are; ``closed`` at the end.
        detail: The permission, for ``denied`` and ``refused``; otherwise empty.
    """

    kind: EventKind
    detail: str = ""


class Supervisor:
    """
    Opens a connection, and replaces its client when that will not come back by itself.

    Args:
        settings: Decides anew what to connect with; may raise `InvalidOptionsError`.
        name: What operators see of the client.
        on_event: Told what happens.
    """

    def __init__(
        self, settings: Callable[[], Settings], name: str, on_event: Callable[[ConnectionEvent], None] | None
    ) -> None:
        self._decide = settings
        self._settings = settings()
        self._name = name
        self._on_event = on_event
        self._news = asyncio.Event()
        self._useless = False
        self._connection: Connection | None = None

    async def begin(self, limit: float) -> Connection:
        """The connection, once it stands; raises as `open_client` does."""
        client = await self._open(limit)
        self._connection = Connection(client, self._settings)
        self.tell("connected")
        return self._connection

    async def watch(self, connection: Connection) -> None:
        """Replace the client of `connection` whenever it must be, until cancelled or ended."""
        while not connection.is_closed:
            await self._until_useless(connection.client)
            await self._replace(connection)

    def tell(self, kind: EventKind, detail: str = "") -> None:
        """Tell the host; what its hook raises is logged and stops nothing."""
        if self._on_event is not None:
            try:
                self._on_event(ConnectionEvent(kind, detail))
            except Exception:
                _log.exception("The hook for events of the NATS connection failed.")

    async def _open(self, limit: float) -> SafeClient:
        return await open_client(self._settings, name=self._name, limit=limit, notice=self._notice)

    async def _until_useless(self, client: SafeClient) -> None:
        loop = asyncio.get_running_loop()
        away_since: float | None = None
        while not self._useless and not client.is_closed:
            self._news.clear()
            patience: float | None = None
            if client.is_connected:
                away_since = None
            else:
                # Also where its task has died of an error that nobody foresaw.
                away_since = away_since or loop.time()
                patience = away_since + AWAY_S - loop.time()
                if patience <= 0:
                    return
            try:
                async with asyncio.timeout(patience):
                    await self._news.wait()
            except TimeoutError:
                continue

    async def _replace(self, connection: Connection) -> None:
        self._useless = True
        connection.interrupt()
        await discard(connection.client)
        pause = FIRST_PAUSE_S
        while not connection.is_closed:
            try:
                self._read_settings_again()
                client = await self._open(REPLACE_S)
            except JsMemoryError as error:
                if isinstance(error, AccessDeniedError) and connection.refused(error.permission):
                    self.tell("refused", error.permission)
                await asyncio.sleep(pause * random.uniform(0.5, 1.5))  # noqa: S311
                pause = min(2 * pause, LONGEST_PAUSE_S)
            else:
                connection.use(client, self._settings)
                self._useless = False
                self.tell("replaced")
                return

    def _read_settings_again(self) -> None:
        try:
            self._settings = self._decide()
        except InvalidOptionsError:
            # Half written, or taken away: what was good once may still be.
            return

    def _notice(self, client: SafeClient, occasion: Occasion, error: Exception | None) -> None:
        connection = self._connection
        if connection is None or client is not connection.client or connection.is_closed or self._useless:
            return
        match occasion:
            case "closed":
                pass
            case "disconnected" | "reconnected":
                self.tell(occasion)
            case "error":
                if permission := connection.note_denial(error):
                    self.tell("denied", permission)
                    self._useless = connection.hears_nothing(permission)
                elif is_refusal(error):
                    if connection.refused(REFUSED):
                        self.tell("refused", REFUSED)
                    self._useless = True
        self._news.set()
