"""A listing of a live view against one raw request: it is one question to the leader, and memory."""

from typing import Final

from jsmemory.store import Store
from jsmemory.testing.measuring.comparing import Comparison, Turns
from jsmemory.testing.measuring.operations import UNMEASURED, Report
from jsmemory.testing.measuring.plain import Plain

NAME: Final = "live_list"


async def measure_view(store: Store, plain: Plain, name: str, *, rounds: int, report: Report) -> Comparison:
    """
    Time listings of a view of a store that has been filled.

    Args:
        store: The store.
        plain: Over the same bucket.
        name: A name beside the store's, for a value of one byte: reading it is the raw request.
        rounds: How often each is timed.
        report: Told how far it is.
    """
    await plain.publish(name, b"x", {})
    turns = Turns(UNMEASURED)
    async with store.live() as view:
        for done in range(rounds + UNMEASURED):
            await turns.either(view.list, lambda: plain.read(name))
            report(NAME, done / (rounds + UNMEASURED))
    return turns.comparison()
