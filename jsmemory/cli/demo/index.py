"""
The index: one entry that all workers write, a line for each file.

Nobody owns it. A worker reads it, adds its line and updates; where another was faster the
update is refused, and the worker begins again with what is there now. So no line is lost.
"""

import asyncio
import random
from collections.abc import Mapping
from typing import Final

from jsmemory import EntryExistsError, EntryNotFoundError, Scope, StaleEntryError, Store

KEY: Final = "index"
DESCRIPTION: Final = "One line for each file: its key, and how its SHA-256 begins"
DIGITS: Final = 16
"""Of the 64 of a digest: enough to tell, and a thousand lines fit one entry."""

_FIRST_PAUSE: Final = 0.004
_LONGEST_PAUSE: Final = 0.25


def lines_of(text: str) -> dict[str, str]:
    """The first digits of the digests in an index, by the keys of the files."""
    return {key: digits for key, _, digits in (line.partition(" ") for line in text.splitlines()) if digits}


def text_of(lines: Mapping[str, str]) -> str:
    """The text of an index."""
    return "".join(f"{key} {digits}\n" for key, digits in sorted(lines.items()))


class Index:
    """
    The shared index, as one worker writes it.

    Args:
        store: Where it is.
        scope: The worker's authority.
        known: The text that was known when the run was suspended. The scope that came back with
            it is what authorises to replace it; without, the index is read before the first update.
    """

    def __init__(self, store: Store, scope: Scope, known: str | None = None) -> None:
        self._store = store
        self._scope = scope
        self._known = known
        self.last = known or ""
        """The newest text that was read or written."""
        self.writes = 0
        self.conflicts = 0

    async def enter(self, key: str, digest: str) -> None:
        """Have a line for a file in the index, for good."""
        pause = _FIRST_PAUSE
        while not await self._try_to_enter(key, digest[:DIGITS]):
            self.conflicts += 1
            await asyncio.sleep(random.uniform(0, pause))  # noqa: S311
            pause = min(2 * pause, _LONGEST_PAUSE)

    async def _try_to_enter(self, key: str, digits: str) -> bool:
        # What was known counts for one try only: the next one reads.
        text, self._known = self._known, None
        if text is None:
            try:
                text = (await self._store.read(KEY, scope=self._scope)).content
            except EntryNotFoundError:
                return await self._create(text_of({key: digits}))
            if lines_of(text).get(key) == digits:
                self.last = text
                return True
        text = text_of({**lines_of(text), key: digits})
        try:
            await self._store.update(KEY, DESCRIPTION, text, scope=self._scope)
        except StaleEntryError:
            return False
        self.writes += 1
        self.last = text
        return True

    async def _create(self, text: str) -> bool:
        try:
            await self._store.create(KEY, DESCRIPTION, text, scope=self._scope)
        except EntryExistsError:
            return False
        self.writes += 1
        self.last = text
        return True
