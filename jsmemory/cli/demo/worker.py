"""
One worker of the demo, a process of its own: ``python -m jsmemory.cli.demo.worker``.

Its job is the first line of standard input, what happens goes to standard output. It ends
when its input does, so that it never outlives the process that started it.
"""

import asyncio
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import Final

from jsmemory import (
    EntryExistsError,
    JsMemoryError,
    Scope,
    StaleEntryError,
    Store,
    connect,
    open_store,
)
from jsmemory.cli.demo.index import Index
from jsmemory.cli.demo.notes import Note, NotReadable, NotText, note_of
from jsmemory.cli.demo.wording import (
    HAND_OVER,
    LINE_LIMIT,
    Began,
    Event,
    Failed,
    Finished,
    HandedOver,
    Inheritance,
    Job,
    Kept,
    Resumed,
    Task,
    Unreadable,
    decode_job,
    line_of,
)

_ORPHANED: Final = 3


class Worker:
    """
    Keeps notes on its share of the files.

    Args:
        store: Where.
        job: What to do.
        asked_to_stop: Set when the parent wants another process to go on.
    """

    def __init__(self, store: Store, job: Job, asked_to_stop: asyncio.Event) -> None:
        self._store = store
        self._job = job
        self._asked_to_stop = asked_to_stop
        self._scope = Scope()
        self._last: str | None = None
        inherited = job.inheritance
        if inherited is not None:
            self._scope.restore(inherited.scope)
        self._index = Index(store, self._scope, inherited.index if inherited is not None else None)

    async def work(self) -> None:
        """All of it."""
        if self._job.inheritance is not None and self._job.inheritance.last is not None:
            await self._resume(self._job.inheritance.last)
        for task in self._job.tasks:
            if self._asked_to_stop.is_set():
                break
            _say(Began(task.key))
            await self._keep(task)
        else:
            _say(Finished())
            await self._asked_to_stop.wait()
        _say(HandedOver(Inheritance(self._scope.snapshot(), self._index.last, self._last)))

    async def _keep(self, task: Task) -> None:
        note = self._note(task)
        if note is None:
            _say(Unreadable(task.key))
            return
        before = self._index.writes, self._index.conflicts
        writes, conflicts = await self._store_note(task.key, note)
        await self._index.enter(task.key, note.digest)
        self._last = task.key
        _say(Kept(task.key, writes + self._index.writes - before[0], conflicts + self._index.conflicts - before[1]))

    async def _store_note(self, key: str, note: Note) -> tuple[int, int]:
        """Have the note stored; one who was killed may have done so already. The writes and the conflicts it took."""
        conflicts = 0
        try:
            await self._store.create(key, note.description, note.content, scope=self._scope)
        except EntryExistsError:
            pass
        else:
            return 1, 0
        while True:
            entry = await self._store.read(key, scope=self._scope)
            if entry.content == note.content:
                return 0, conflicts
            try:
                await self._store.update(key, note.description, note.content, scope=self._scope)
            except StaleEntryError:
                conflicts += 1
            else:
                return 1, conflicts

    async def _resume(self, key: str) -> None:
        """Go on where another process stopped, by its authority: nothing is read before it is replaced."""
        task = next(task for task in self._job.tasks if task.key == key)
        note = self._note(task)
        if note is None:
            return
        try:
            await self._store.update(key, note.description, note.content, scope=self._scope)
        except StaleEntryError:
            _say(Resumed(held=False, writes=0, conflicts=0))
            return
        await self._index.enter(key, note.digest)
        _say(Resumed(held=True, writes=1 + self._index.writes, conflicts=self._index.conflicts))

    def _note(self, task: Task) -> Note | None:
        try:
            return note_of(Path(os.fsdecode(self._job.folder)), Path(os.fsdecode(task.name)))
        except (NotReadable, NotText):
            return None


def _say(event: Event) -> None:
    sys.stdout.buffer.write(line_of(event))
    sys.stdout.buffer.flush()


async def _listen(orders: asyncio.StreamReader, asked_to_stop: asyncio.Event) -> None:
    while line := await orders.readline():
        if line == HAND_OVER:
            asked_to_stop.set()
    # Whoever is at the other end is done with this worker, or gone.
    os._exit(_ORPHANED)


async def _run() -> None:
    orders = asyncio.StreamReader(limit=LINE_LIMIT)
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(orders), sys.stdin)
    job = decode_job(await orders.readline())
    asked_to_stop = asyncio.Event()
    listening = asyncio.create_task(_listen(orders, asked_to_stop))
    try:
        async with connect(servers=job.server, name="jsmemory demo") as nats:
            options = {"backend": "jetstream", "options": {"bucket": job.bucket}}
            store = await open_store(options, identity=job.identity, nats=nats)
            await Worker(store, job, asked_to_stop).work()
    finally:
        listening.cancel()
        with suppress(asyncio.CancelledError):
            await listening


def main() -> None:
    """Run until done; what goes wrong is said to the parent in one line."""
    try:
        asyncio.run(_run())
    except JsMemoryError as error:
        _say(Failed(error.code, str(error)))
        sys.exit(1)
    except BrokenPipeError:
        os._exit(_ORPHANED)
    except Exception as defect:
        _say(Failed("defect", f"A worker failed with {type(defect).__name__}. Please report it."))
        sys.exit(1)


if __name__ == "__main__":
    main()
