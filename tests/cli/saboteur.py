"""A worker of the demo that does harm, run in the place of the real one: the demo must find it out."""

import os
from contextlib import suppress
from typing import Any

from jsmemory import StaleEntryError
from jsmemory.cli.demo import index, keeping, worker


class TornIndex(index.Index):
    """Writes the index back without somebody's line, as one would who writes what is left of a long text."""

    async def enter(self, key: str, digest: str) -> None:
        await super().enter(key, digest)
        is_torn = not key.startswith("0002")
        while not is_torn:
            entry = await self._store.read(index.KEY, scope=self._scope)
            lines = index.lines_of(entry.content)
            del lines[key]
            # Others write it as well, and nothing is overwritten that was not read, not even in order to harm.
            with suppress(StaleEntryError):
                await self._store.update(index.KEY, index.DESCRIPTION, index.text_of(lines), scope=self._scope)
                is_torn = True


class ForgetfulKeeper(keeping.Keeper):
    """Deletes a note that it has kept."""

    async def _keep(self, task: Any) -> None:
        await super()._keep(task)
        if task.key.startswith("0002"):
            await self._run.store.delete(task.key, scope=None)


class UnauthorisedKeeper(keeping.Keeper):
    """Suspends its run without the authority that the run had."""

    async def _suspend(self) -> None:
        await self._run.rotate()
        await super()._suspend()


class ObliviousKeeper(keeping.Keeper):
    """Leaves out of the journal where it stood."""

    async def _suspend(self) -> None:
        await self._run.suspend()


match os.environ["JSMEMORY_SABOTAGE"]:
    case "index":
        keeping.Index = TornIndex  # type: ignore[attr-defined]
    case "note":
        worker.Keeper = ForgetfulKeeper  # type: ignore[attr-defined]
    case "scope":
        worker.Keeper = UnauthorisedKeeper  # type: ignore[attr-defined]
    case "record":
        worker.Keeper = ObliviousKeeper  # type: ignore[attr-defined]

if __name__ == "__main__":
    worker.main()
