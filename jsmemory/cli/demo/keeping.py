"""The work of one run: to keep notes on its share of the files, and to be gone on with by another process."""

import asyncio
import os
from collections.abc import Callable
from pathlib import Path
from typing import Final

import msgspec

from jsmemory import EntryExistsError, Run, StaleEntryError
from jsmemory.cli.demo.index import Index
from jsmemory.cli.demo.notes import Note, NotReadable, NotText, note_of
from jsmemory.cli.demo.wording import SUSPEND, Began, Event, Finished, Job, Kept, Resumed, Task, Unreadable

PROGRESS: Final = "progress"
"""What a run calls its record of where it stands."""


class Progress(msgspec.Struct, frozen=True):
    """
    Where a run stands when it is suspended; the scope is not in it, the journal keeps that by itself.

    Attributes:
        done: The keys of the files that were gone through.
        last: The key of the one whose note was stored last; None where none was.
        index: The index as it was last known.
    """

    done: tuple[str, ...] = ()
    last: str | None = None
    index: str | None = None


class Keeper:
    """
    Keeps notes on the files of one run.

    Args:
        run: The run.
        job: What is to be done.
        progress: Where the run stood when it was suspended; of nothing where it was not.
        order: What the parent says, as soon as it says something.
        say: Tells the parent.
    """

    def __init__(
        self, run: Run, job: Job, progress: Progress, order: asyncio.Future[bytes], say: Callable[[Event], None]
    ) -> None:
        self._run = run
        self._job = job
        self._order = order
        self._say = say
        self._done = list(progress.done)
        self._last = progress.last
        self._index = Index(run.store, run.scope, progress.index)

    async def work(self) -> bool:
        """
        All of it, as far as the parent lets it come.

        Returns:
            Whether the run was suspended.
        """
        if self._last is not None:
            await self._go_on(self._last)
        done = frozenset(self._done)
        for task in self._job.tasks:
            if self._order.done():
                break
            if task.key not in done:
                self._say(Began(task.key))
                await self._keep(task)
                self._done.append(task.key)
        else:
            self._say(Finished())
        if await self._order != SUSPEND:
            return False
        await self._suspend()
        return True

    async def _go_on(self, key: str) -> None:
        """Go on where another process stopped, by the run's authority: nothing is read before it is replaced."""
        note = self._note(next(task for task in self._job.tasks if task.key == key))
        if note is None:
            return
        try:
            await self._run.store.update(key, note.description, note.content, scope=self._run.scope)
        except StaleEntryError:
            self._say(Resumed(held=False, writes=0, conflicts=0))
            return
        await self._index.enter(key, note.digest)
        self._say(Resumed(held=True, writes=1 + self._index.writes, conflicts=self._index.conflicts))

    async def _keep(self, task: Task) -> None:
        note = self._note(task)
        if note is None:
            self._say(Unreadable(task.key))
            return
        before = self._index.writes, self._index.conflicts
        writes, conflicts = await self._store_note(task.key, note)
        await self._index.enter(task.key, note.digest)
        self._last = task.key
        writes += self._index.writes - before[0]
        self._say(Kept(task.key, writes, conflicts + self._index.conflicts - before[1]))

    async def _store_note(self, key: str, note: Note) -> tuple[int, int]:
        """Have the note stored; one who was killed may have done so already. The writes and the conflicts it took."""
        store, scope = self._run.store, self._run.scope
        conflicts = 0
        try:
            await store.create(key, note.description, note.content, scope=scope)
        except EntryExistsError:
            pass
        else:
            return 1, 0
        while True:
            entry = await store.read(key, scope=scope)
            if entry.content == note.content:
                return 0, conflicts
            try:
                await store.update(key, note.description, note.content, scope=scope)
            except StaleEntryError:
                conflicts += 1
            else:
                return 1, conflicts

    async def _suspend(self) -> None:
        progress = Progress(tuple(self._done), self._last, self._index.last)
        await self._run.record(PROGRESS, msgspec.to_builtins(progress))
        await self._run.suspend()

    def _note(self, task: Task) -> Note | None:
        try:
            return note_of(Path(os.fsdecode(self._job.folder)), Path(os.fsdecode(task.name)))
        except (NotReadable, NotText):
            return None
