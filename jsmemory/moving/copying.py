"""From one store to another."""

from collections.abc import AsyncGenerator, Sequence
from functools import partial

from jsmemory.entries import Item
from jsmemory.layers.retry import RetryingStore
from jsmemory.moving.carrying import Carrier
from jsmemory.moving.crew import AT_ONCE, Crew
from jsmemory.moving.parcels import Parcel, Text
from jsmemory.moving.report import MovingReport, Progressed, unheeded
from jsmemory.store import Store


async def copy_entries(
    source: Store,
    destination: Store,
    *,
    overwrite: bool = False,
    dry_run: bool = False,
    at_once: int = AT_ONCE,
    on_progress: Progressed = unheeded,
) -> MovingReport:
    """
    Copy every entry of a store into another one, of any backend, and read each back.

    Done again, it goes on where it ended: what is equal already is compared and left. It never
    deletes: a source that was wiped leaves the destination as it is. Cut short at any point it
    leaves whole entries only. It is no snapshot: what is written meanwhile may be in it or not.

    Args:
        source: Where from; only read.
        destination: Where to. It has to keep the guard, as a store does unless it was opened
            without; else what is replaced may be more than what was read.
        overwrite: Whether another value under the same key is replaced, if nobody changes it
            between the read and the write. Otherwise it is left and told.
        dry_run: Read and compare only, and tell what would come of it.
        at_once: Entries that are on their way at once; no more than these are held in memory.
        on_progress: Told after each entry.

    Returns:
        What became of each entry. One that cannot be carried keeps none of the others back.

    Raises:
        IncompleteListingError: one of the two could not be listed.
        BackendUnavailableError: one of the two could not be reached to list it.
        AccessDeniedError: one of the two may not be listed.
        ReadOnlyStoreError: the destination takes no writes.
    """
    source, destination = RetryingStore(source), RetryingStore(destination)
    items = await source.list()
    taken = [item.key for item in await destination.list()]
    crew = Crew(
        Carrier(destination, taken, overwrite=overwrite, dry_run=dry_run), at_once=at_once, on_progress=on_progress
    )
    return await crew.carry_all(_parcels(source, items), [(item.key, item.key) for item in items], dry_run=dry_run)


async def _parcels(source: Store, items: Sequence[Item]) -> AsyncGenerator[Parcel, None]:
    for item in items:
        yield Parcel(item.key, item.key, partial(_read, source, item.key))


async def _read(source: Store, key: str) -> Text:
    description, content = await source.read(key, scope=None)
    return description, content
