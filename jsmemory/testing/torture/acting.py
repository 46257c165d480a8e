"""One call on a store, written down before it is made and after it has ended."""

import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

from jsmemory.errors import (
    AccessDeniedError,
    BackendUnavailableError,
    IncompleteListingError,
    JsMemoryError,
    OutcomeUnknownError,
    RequestError,
    StaleEntryError,
)
from jsmemory.live import LiveView
from jsmemory.scope import Scope
from jsmemory.store import Store
from jsmemory.testing.torture.recording import Recorder
from jsmemory.testing.torture.records import Began, Ended, Operation, Outcome
from jsmemory.testing.torture.values import TORN, content_of, is_whole, name_value
from jsmemory.testing.torture.watching import Losses, losses

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Place:
    """
    A store object, and what it is called in the records.

    Attributes:
        store: The store.
        name: Of this object.
        space: Of its keyspace.
        view: Answers its listings, where it is not the store itself.
    """

    store: Store
    name: str
    space: str
    view: LiveView | None = None


@dataclass(frozen=True, slots=True)
class _Said:
    """What a call has answered."""

    outcome: Outcome = "ok"
    code: str = ""
    value: str = ""
    existed: bool = False
    listed: tuple[tuple[str, str], ...] = ()


class Actor:
    """
    Makes the calls of one worker.

    Args:
        worker: Its name.
        recorder: Where they are written down.
    """

    def __init__(self, worker: str, recorder: Recorder) -> None:
        self._worker = worker
        self._recorder = recorder
        self._number = 0

    async def create(self, place: Place, scope: Scope, run: str, key: str, size: int) -> bool:
        """Create an entry with a value of its own; whether it was stored for certain."""
        return await self._write("create", place, scope, run, key, size)

    async def update(self, place: Place, scope: Scope, run: str, key: str, size: int) -> bool:
        """Replace an entry with a value of its own; whether it was stored for certain."""
        return await self._write("update", place, scope, run, key, size)

    async def read(self, place: Place, scope: Scope, run: str, key: str) -> bool:
        """Read an entry; whether there was one."""

        async def call() -> _Said:
            description, content = await place.store.read(key, scope=scope)
            if not is_whole(description, content):
                return _Said("foreign", TORN, value=description)
            return _Said(value=description)

        return (await self._record("read", place, run, key, "", call)).outcome == "ok"

    async def delete(self, place: Place, scope: Scope, run: str, key: str) -> None:
        """Delete an entry."""

        async def call() -> _Said:
            return _Said(existed=await place.store.delete(key, scope=scope))

        await self._record("delete", place, run, key, "", call)

    async def list(self, place: Place, run: str) -> None:
        """List a keyspace."""

        async def call() -> _Said:
            return _Said(
                listed=tuple((item.key, item.description) for item in await (place.view or place.store).list())
            )

        await self._record("list", place, run, "", "", call)

    async def _write(self, verb: Operation, place: Place, scope: Scope, run: str, key: str, size: int) -> bool:
        value = name_value(self._worker, self._number, size)
        write = place.store.create if verb == "create" else place.store.update

        async def call() -> _Said:
            await write(key, value, content_of(value), scope=scope)
            return _Said()

        return (await self._record(verb, place, run, key, value, call)).outcome == "ok"

    async def _record(
        self, verb: Operation, place: Place, run: str, key: str, value: str, call: Callable[[], Awaitable[_Said]]
    ) -> _Said:
        number = self._number
        self._number += 1
        lost = Losses()
        token = losses.set(lost)
        self._recorder.write(
            Began(self._worker, number, time.monotonic(), verb, place.name, run, place.space, key, value)
        )
        said = await _outcome(call)
        losses.reset(token)
        self._recorder.write(
            Ended(
                self._worker,
                number,
                time.monotonic(),
                said.outcome,
                said.code,
                said.value,
                said.existed,
                said.listed,
                lost.count,
            )
        )
        return said


async def _outcome(call: Callable[[], Awaitable[_Said]]) -> _Said:
    """Make a call, and put what it says into the words of the records."""
    try:
        return await call()
    except StaleEntryError as error:
        return _Said("refused", f"{error.code}:{error.reason}")
    except OutcomeUnknownError as error:
        return _Said("unknown", error.code)
    except (BackendUnavailableError, AccessDeniedError, IncompleteListingError) as error:
        return _Said("unavailable", error.code)
    except RequestError as error:
        return _Said("refused", error.code)
    except JsMemoryError as error:
        # Only opening a store may end so; what was to be written is not there, or it is a violation.
        return _Said("unavailable", error.code)
    except Exception as error:
        return _Said("foreign", type(error).__name__)
