"""A listing against the same consumer with bodies, and what it moves over the wire."""

from dataclasses import dataclass
from typing import Final

from nats.aio.client import Client

from jsmemory.store import Store
from jsmemory.testing.measuring.comparing import Comparison, Turns
from jsmemory.testing.measuring.operations import Report
from jsmemory.testing.measuring.plain import Plain, counted_bytes

_ROUNDS: Final = 9
# Each moves every body of a full store once: 64 MiB.


@dataclass(frozen=True, slots=True)
class ListingComparison(Comparison):
    """
    As `Comparison`; beside it, what one listing took.

    Attributes:
        wire_bytes: Bytes that came in on the connection for one listing, protocol included.
        entries: How many entries were listed.
    """

    wire_bytes: int
    entries: int


async def measure_listing(
    store: Store, plain: Plain, client: Client, filter_subject: str, *, entries: int, size: int, report: Report
) -> ListingComparison:
    """
    Fill an empty store, and list it.

    Args:
        store: The store.
        plain: Over the same bucket.
        client: The connection of both.
        filter_subject: What the store holds.
        entries: How many.
        size: Bytes of each content.
        report: Told how far it is.
    """
    content = "x" * size
    for number in range(entries):
        description = f"Entry {number}: one line of an index, as long as such lines are"
        await store.create(f"entry-{number:04}", description, content, scope=None)
        report("list", number / (entries + 1))
    turns = Turns(1)
    for _ in range(_ROUNDS):
        await turns.raw(lambda: plain.list_with_bodies(filter_subject))
        await turns.store(store.list)
    with counted_bytes(client) as received:
        listed = await store.list()
    compared = turns.comparison()
    return ListingComparison(
        compared.median_ms, compared.p99_ms, compared.raw_median_ms, compared.ratio, received.count, len(listed)
    )
