"""A store with many entries, made as quickly as the harness can."""

import asyncio
from collections.abc import Iterable
from typing import Final

from jsmemory.store import Store
from jsmemory.testing.harness import Harness, Need, hands_of

_AT_ONCE: Final = 32


async def fill(harness: Harness, store: Store, keys: Iterable[str]) -> None:
    """
    Store an entry under each key: past the store where the harness can, else one by one.

    The description of each is ``about <key>``.
    """
    turns = asyncio.Semaphore(_AT_ONCE)
    plants = Need.PLANT in hands_of(type(harness))

    async def put(key: str) -> None:
        async with turns:
            if plants:
                await harness.plant(key, f'---\ndescription: "about {key}"\n---\n\ntext'.encode())
            else:
                await store.create(key, f"about {key}", "text", scope=None)

    await asyncio.gather(*(put(key) for key in keys))


def numbered(count: int) -> list[str]:
    """So many keys, in byte order."""
    return [f"entry-{number:04}" for number in range(count)]
