"""What a tool call costs, measured: the figures are shown by the benchmark, here it is that they are taken."""

from typing import Any

import pytest
from nats.aio.client import Client

from jsmemory import BackendUnavailableError, InProcessStore, Item, JetStreamStore
from jsmemory.testing.measuring.operations import UNMEASURED
from jsmemory.testing.measuring.plain import Plain
from jsmemory.testing.measuring.tools import measure_tools


class Counted(InProcessStore):
    """Counts how often it is listed."""

    listings = 0

    async def list(self) -> tuple[Item, ...]:
        self.listings += 1
        return await super().list()


async def test_every_tool_is_measured_and_the_store_left_as_it_was(jetstream_store: JetStreamStore) -> None:
    """A benchmark that leaves entries behind fills the memory of whoever runs it."""
    listed = Counted()
    await listed.create("k", "x", "", scope=None)
    measured = await measure_tools(jetstream_store, listed, rounds=3, size=100)
    assert set(measured) == {"memory_list", "memory_read", "memory_write", "memory_overwrite", "memory_delete"}
    for compared in measured.values():
        assert compared.ratio == pytest.approx(compared.median_ms / compared.raw_median_ms, rel=0.05)
    assert await jetstream_store.list() == ()
    # By the tool as often as by itself, and nothing else: what was deleted elsewhere costs it nothing.
    assert listed.listings == 2 * (3 + UNMEASURED)
    assert [item.key for item in await listed.list()] == ["k"]


async def test_a_measurement_that_is_stopped_is_over_at_whatever_moment(
    nc: Client, bucket: str, stops_at_any_moment: Any
) -> None:
    """In Python 3.11 nats-py drops a cancellation that comes with an answer, and the measuring would go on."""
    await nc.jetstream().publish(f"$KV.{bucket}.k", b"value")
    plain = Plain(nc, nc, "$JS.API", bucket)
    await stops_at_any_moment(lambda: plain.read("k"))


async def test_refused_calls_are_not_measured_as_if_they_were_done() -> None:
    """A refusal is fast, and would make a fine figure."""
    store = InProcessStore()
    await store.create("tool-0", "in the way", "", scope=None)
    with pytest.raises(BackendUnavailableError, match="refused"):
        await measure_tools(store, InProcessStore(), rounds=1, size=1)
