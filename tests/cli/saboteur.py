"""A worker of the demo that does harm, run in the place of the real one: the demo must find it out."""

import os
from typing import Any

from jsmemory import Scope, Store
from jsmemory.cli.demo import index, worker


class TornIndex(index.Index):
    """Writes the index back without somebody's line, as one would who writes what is left of a long text."""

    async def enter(self, key: str, digest: str) -> None:
        await super().enter(key, digest)
        if key.startswith("0002"):
            entry = await self._store.read(index.KEY, scope=self._scope)
            lines = index.lines_of(entry.content)
            del lines[key]
            await self._store.update(index.KEY, index.DESCRIPTION, index.text_of(lines), scope=self._scope)


class ForgetfulWorker(worker.Worker):
    """Deletes a note that it has kept."""

    def __init__(self, store: Store, *rest: Any) -> None:
        super().__init__(store, *rest)
        self._where = store

    async def _keep(self, task: Any) -> None:
        await super()._keep(task)
        if task.key.startswith("0002"):
            await self._where.delete(task.key, scope=None)


class UnauthorisedScope(Scope):
    """Cannot be restored."""

    def restore(self, snapshot: object) -> str | None:
        return super().restore(None)


match os.environ["JSMEMORY_SABOTAGE"]:
    case "index":
        worker.Index = TornIndex  # type: ignore[misc]
    case "note":
        worker.Worker = ForgetfulWorker  # type: ignore[misc]
    case "scope":
        worker.Scope = UnauthorisedScope  # type: ignore[misc]

if __name__ == "__main__":
    worker.main()
