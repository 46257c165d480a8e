"""What a tool call costs, measured: the figures are shown by the benchmark, here it is that they are taken."""

import pytest

from jsmemory import BackendUnavailableError, InProcessStore, JetStreamStore
from jsmemory.testing.measuring.tools import measure_tools


async def test_every_tool_is_measured_and_the_store_left_as_it_was(jetstream_store: JetStreamStore) -> None:
    """A benchmark that leaves entries behind fills the memory of whoever runs it."""
    measured = await measure_tools(jetstream_store, rounds=3, size=100)
    assert set(measured) == {"memory_list", "memory_read", "memory_write", "memory_overwrite", "memory_delete"}
    for compared in measured.values():
        assert compared.ratio == pytest.approx(compared.median_ms / compared.raw_median_ms, rel=0.05)
    assert await jetstream_store.list() == ()


async def test_refused_calls_are_not_measured_as_if_they_were_done() -> None:
    """A refusal is fast, and would make a fine figure."""
    store = InProcessStore()
    await store.create("tool-0", "in the way", "", scope=None)
    with pytest.raises(BackendUnavailableError, match="refused"):
        await measure_tools(store, rounds=1, size=1)
