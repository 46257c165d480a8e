"""The run: what it may, what its journal says on every way out, and what a resumed one gets back: faults 5 to 7."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
from nats.aio.client import Client

from jsmemory.backends.file import FileStore
from jsmemory.backends.in_process import InProcessStore
from jsmemory.backends.jetstream import JetStreamStore
from jsmemory.errors import (
    BackendUnavailableError,
    EntryExistsError,
    OutcomeUnknownError,
    ReadOnlyStoreError,
    RunClaimedError,
    RunEndedError,
    RunExistsError,
    RunNotFoundError,
    StaleEntryError,
)
from jsmemory.journal import records
from jsmemory.journal.claiming import claim, start
from jsmemory.journal.file import FileJournal
from jsmemory.journal.jetstream import JetStreamJournal
from jsmemory.journal.journal import Journal, Tail
from jsmemory.journal.records import Record
from jsmemory.layers.wrapping import WrappingStore
from jsmemory.running import Run
from jsmemory.scope import Scope
from jsmemory.testing.lossy import LossyConnection
from jsmemory.testing.servers import make_bucket
from jsmemory.tools import MemoryTools


@pytest.fixture
def store() -> InProcessStore:
    return InProcessStore()


async def noted(store: InProcessStore, *keys: str) -> None:
    for key in keys:
        await store.create(key, f"about {key}", "one", scope=None)


async def overwrite(run: Run, key: str, content: str = "two") -> str:
    """What a model is told that overwrites; the code, or ``ok``."""
    arguments = {"key": key, "description": "about", "content": content, "overwrite": True}
    return (await run.tools.call("memory_write", arguments)).code


async def told(journal: Journal, run_id: str = "night") -> tuple[str, str, Any]:
    state = await journal.state(run_id)
    return state.status, state.reason, state.snapshot


# -- Authority over a suspension ------------------------------------------------------------


async def test_a_resumed_run_may_overwrite_what_it_had_read_and_nothing_else(
    store: InProcessStore, journal: Journal, other: Journal
) -> None:
    """It would read everything again, or overwrite what it never saw."""
    await noted(store, "read", "unread", "changed")
    async with Run.start(store, journal, "night") as run:
        for key in ("read", "changed"):
            await run.tools.call("memory_read", {"key": key})
        await run.tools.call("memory_write", {"key": "mine", "description": "d", "content": "one"})
        await run.suspend()
    await store.delete("changed", scope=None)
    await store.create("changed", "d", "by another", scope=None)
    async with Run.resume(store, other, "night") as run:
        assert run.warning is None
        assert run.state is not None
        assert run.state.claims == 1
        assert await overwrite(run, "read") == "ok"
        assert await overwrite(run, "mine") == "ok"
        assert await overwrite(run, "unread") == "stale_entry"
        assert await overwrite(run, "changed") == "stale_entry"
    assert (await store.read("unread", scope=None)).content == "one"
    assert (await store.read("changed", scope=None)).content == "by another"


async def test_a_run_that_dropped_everything_is_resumed_with_nothing(store: InProcessStore, journal: Journal) -> None:
    """Fault 6: no snapshot at all would make the older one count again."""
    await noted(store, "k")
    async with Run.start(store, journal, "night") as run:
        await run.tools.call("memory_read", {"key": "k"})
        await run.suspend()
    async with Run.resume(store, journal, "night") as run:
        await run.tools.call("memory_delete", {"key": "k"})
        await run.suspend()
    status, _, snapshot = await told(journal)
    assert (status, snapshot) == ("suspended", Scope().snapshot())
    async with Run.resume(store, journal, "night") as run:
        assert run.scope.snapshot() == Scope().snapshot()
        await run.suspend()


async def test_a_new_conversation_has_a_new_scope(store: InProcessStore, journal: Journal) -> None:
    """Fault 7: a model that starts afresh would overwrite what only its predecessor has seen."""
    await noted(store, "k", "l")
    async with Run.start(store, journal, "night") as run:
        old_tools, old_scope, old_store = run.tools, run.scope, run.store
        await old_tools.call("memory_read", {"key": "k"})
        assert await run.rotate() is run.tools
        assert run.tools is not old_tools
        assert await overwrite(run, "k") == "stale_entry"
        assert old_scope.snapshot() == Scope().snapshot()
        with pytest.raises(RunEndedError) as refused:
            await old_store.read("k", scope=old_scope)
        assert refused.value.reason == "rotated"
        refusal = await old_tools.call("memory_write", {"key": "n", "description": "d", "content": "c"})
        assert refusal.body["written"] is False
        await run.tools.call("memory_read", {"key": "l"})
        assert await overwrite(run, "l") == "ok"
    assert (await store.read("k", scope=None)).content == "one"


async def test_a_rotated_conversation_does_not_come_back(store: InProcessStore, journal: Journal) -> None:
    """Fault 7, after a crash: whoever takes the run over would be given the old conversation's authority."""
    await noted(store, "k")
    async with Run.start(store, journal, "night") as run:
        await run.tools.call("memory_read", {"key": "k"})
        await run.suspend()
    async with Run.resume(store, journal, "night") as run:
        await run.rotate()
        assert (await journal.runs())[0].status == "running"
        async with Run.resume(store, journal, "night", take_over=True) as successor:
            assert successor.scope.snapshot() == Scope().snapshot()
            await successor.suspend()
        with pytest.raises(RunClaimedError):
            await run.record("message", 1)


async def test_a_run_that_was_left_can_do_nothing_more(store: InProcessStore, journal: Journal) -> None:
    """Fault 42, by another way: a tool call that comes late would use an authority that another process has now."""
    await noted(store, "k")
    async with Run.start(store, journal, "night") as run:
        await run.tools.call("memory_read", {"key": "k"})
        await run.suspend()
        assert await overwrite(run, "k") != "ok"
        with pytest.raises(RunEndedError):
            await run.store.read("k", scope=run.scope)
        assert run.scope.snapshot() == Scope().snapshot()
        for call in (run.suspend, run.rotate, lambda: run.record("message", 1)):
            with pytest.raises(RunEndedError) as refused:
                await call()
            assert refused.value.reason == "left"
    assert (await journal.state("night")).records == 3
    assert (await store.read("k", scope=None)).content == "one"


async def test_two_runs_never_share_authority(store: InProcessStore, journal: Journal) -> None:
    await noted(store, "k")
    async with Run.start(store, journal, "day") as day, Run.start(store, journal, "night") as night:
        await day.tools.call("memory_read", {"key": "k"})
        assert await overwrite(night, "k") == "stale_entry"
        assert await overwrite(day, "k") == "ok"


async def test_it_goes_on_under_other_tools(store: InProcessStore, journal: Journal) -> None:
    """Revisions say what the store held, not which tools an operator agreed to."""
    await noted(store, "k")
    async with Run.start(store, journal, "night", read_only=True, no_index=True) as run:
        assert [tool.name for tool in run.tools.specs()] == ["memory_list", "memory_read"]
        assert await run.index() == ""
        await run.tools.call("memory_read", {"key": "k"})
        with pytest.raises(ReadOnlyStoreError):
            await run.store.update("k", "d", "two", scope=run.scope)
        assert "memory_write" not in run.system_note()
        await run.suspend()
    async with Run.resume(store, journal, "night") as run:
        assert "about k" in await run.index()
        assert "memory_write" in run.system_note()
        assert await overwrite(run, "k") == "ok"


async def test_the_hosts_records_are_kept_in_order_however_they_overlap(
    store: InProcessStore, journal: Journal
) -> None:
    """Messages that are kept at once would take each other for another process's."""
    async with Run.start(store, journal, "night", about={"model": "m"}) as run:
        await asyncio.gather(*(run.record("message", number) for number in range(20)))
        await run.suspend()
    assert [record.data async for record in journal.history("night")] == list(range(20))
    assert (await journal.state("night")).about == {"model": "m"}


# -- Snapshots that grant nothing -----------------------------------------------------------


async def resumed_warning(store: Any, journal: Journal, snapshot: object) -> tuple[str | None, Scope]:
    tail = await start(journal, "night")
    older = records.memory_revisions({"version": 1, "realms": {store.realm: {"k": "older"}}}, "running")
    tail = await journal.append("night", older, after=tail)
    tail = await journal.append("night", records.terminal("suspended"), after=tail)
    await journal.append("night", records.memory_revisions(snapshot, "suspended"), after=tail)
    async with Run.resume(store, journal, "night") as run:
        assert await overwrite(run, "k") in ("stale_entry", "entry_not_found")
        held = Scope()
        held.restore(run.scope.snapshot())
        warning = run.warning
        await run.suspend()
    return warning, held


@pytest.mark.parametrize(
    ("snapshot", "reason"),
    [
        ({"version": 2, "realms": {}}, "has version 2"),
        ({"version": 1, "realms": {"": {"k": "1"}}}, "no store could have granted"),
        ({"version": 1, "realms": {"r": {"k": 7}}}, "not in the form"),
        ("garbage", "not in the form"),
        (["garbage"], "not in the form"),
        (0, "not in the form"),
        (None, "not in the form"),
    ],
)
async def test_a_snapshot_that_cannot_be_read_grants_nothing_and_says_why(
    store: InProcessStore, journal: Journal, snapshot: object, reason: str
) -> None:
    """An older one would count in its place, or the host would wonder why the model reads all again."""
    await noted(store, "k")
    warning, held = await resumed_warning(store, journal, snapshot)
    assert warning is not None
    assert reason in warning
    assert held.snapshot() == Scope().snapshot()


async def test_a_snapshot_of_another_directory_grants_nothing(tmp_path: Path, journal: Journal) -> None:
    """The same text under the same key has the same revision there, and nobody has read it."""
    one, two = await FileStore.open(tmp_path / "one"), await FileStore.open(tmp_path / "two")
    for each in (one, two):
        await each.create("k", "d", "the same", scope=None)
    async with Run.start(one, journal, "night") as run:
        await run.tools.call("memory_read", {"key": "k"})
        await run.suspend()
    async with Run.resume(WrappingStore(two), journal, "night") as run:
        assert run.warning is not None
        assert "belongs to another store" in run.warning
        assert await overwrite(run, "k") == "stale_entry"


async def test_a_snapshot_of_a_bucket_that_was_made_anew_grants_nothing(
    nc: Client, bucket: str, journal: Journal
) -> None:
    """Fault 5: revisions count from 1 again, and an old number is that of an unseen value."""
    old = await JetStreamStore.bind(nc, bucket)
    async with Run.start(old, journal, "night") as run:
        await run.tools.call("memory_write", {"key": "k", "description": "d", "content": "c"})
        await run.suspend()
    await nc.request(f"$JS.API.STREAM.DELETE.KV_{bucket}", b"")
    await make_bucket(nc, bucket)
    new = await JetStreamStore.bind(nc, bucket)
    await new.create("k", "d", "unseen", scope=None)
    async with Run.resume(new, journal, "night") as run:
        assert run.warning is not None
        assert "made anew" in run.warning
        assert await overwrite(run, "k") == "stale_entry"
    assert (await new.read("k", scope=None)).content == "unseen"


async def test_a_run_that_never_had_a_snapshot_is_resumed_with_nothing(store: InProcessStore, journal: Journal) -> None:
    await noted(store, "k")
    await start(journal, "night")
    async with Run.resume(store, journal, "night", take_over=True) as run:
        assert run.warning is None
        assert await overwrite(run, "k") == "stale_entry"


async def test_a_scope_beyond_a_record_is_left_behind_whole(
    store: InProcessStore, journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run that could not be suspended at all would lose its conversation, too."""
    await noted(store, "k")
    async with Run.start(store, journal, "night") as run:
        await run.tools.call("memory_read", {"key": "k"})
        for number in range(9000):
            run.scope.remember("realm", f"k{number}", "r" * 120)
        await run.suspend()
        assert run.warning is not None
        assert "more keys" in run.warning
    assert await told(journal) == ("suspended", "", Scope().snapshot())


# -- Ways out -------------------------------------------------------------------------------


async def test_a_run_that_is_left_in_good_order_is_completed(store: InProcessStore, journal: Journal) -> None:
    async with Run.start(store, journal, "night"):
        pass
    assert (await told(journal))[:2] == ("completed", "")
    with pytest.raises(RunEndedError):
        async with Run.resume(store, journal, "night"):
            pass


@pytest.mark.parametrize(
    ("error", "status", "reason"),
    [
        (ValueError("secret text"), "failed", ""),
        (BackendUnavailableError("It is gone."), "failed", "backend_unavailable"),
        (KeyboardInterrupt(), "cancelled", ""),
        (SystemExit(3), "cancelled", ""),
        (asyncio.CancelledError(), "cancelled", ""),
    ],
)
async def test_every_error_leaves_a_last_word(
    store: InProcessStore, journal: Journal, error: BaseException, status: str, reason: str
) -> None:
    """An operator would find a run that seems to go on for ever."""
    await noted(store, "k")

    async def work() -> None:
        async with Run.start(store, journal, "night") as run:
            await run.tools.call("memory_read", {"key": "k"})
            raise error

    with pytest.raises(type(error)) as raised:
        await work()
    assert raised.value is error
    found = await told(journal)
    assert found[:2] == (status, reason)
    assert "secret" not in json.dumps([line.text.decode() async for page in journal.pages("night") for line in page])
    async with Run.resume(store, journal, "night") as run:
        assert await overwrite(run, "k") == "ok"


async def by_task(work: Callable[[asyncio.Event], Awaitable[None]]) -> None:
    inside = asyncio.Event()
    task = asyncio.ensure_future(work(inside))
    await inside.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def by_task_again_and_again(work: Callable[[asyncio.Event], Awaitable[None]]) -> None:
    inside = asyncio.Event()
    task = asyncio.ensure_future(work(inside))
    await inside.wait()
    for _ in range(200):
        task.cancel()
        await asyncio.sleep(0)
    with pytest.raises(asyncio.CancelledError):
        await task


async def by_scope(work: Callable[[asyncio.Event], Awaitable[None]]) -> None:
    inside = asyncio.Event()
    async with anyio.create_task_group() as group:
        group.start_soon(work, inside)
        await inside.wait()
        group.cancel_scope.cancel()


async def by_timeout(work: Callable[[asyncio.Event], Awaitable[None]]) -> None:
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.1):
            await work(asyncio.Event())


each_cancellation = pytest.mark.parametrize("cancelled", [by_task, by_task_again_and_again, by_scope, by_timeout])


@each_cancellation
async def test_every_cancellation_leaves_a_last_word(
    store: InProcessStore, journal: Journal, cancelled: Callable[..., Awaitable[None]]
) -> None:
    """A host that is told to stop would lose the authority of all its runs."""
    await noted(store, "k")

    async def work(inside: asyncio.Event) -> None:
        async with Run.start(store, journal, "night") as run:
            await run.tools.call("memory_read", {"key": "k"})
            inside.set()
            await asyncio.sleep(60)

    await cancelled(work)
    status, _, snapshot = await told(journal)
    assert status == "cancelled"
    assert list(snapshot["realms"][store.realm]) == ["k"]


@each_cancellation
async def test_a_suspension_is_finished_although_it_is_cancelled(
    store: InProcessStore, journal: Journal, cancelled: Callable[..., Awaitable[None]]
) -> None:
    """Half of it would suspend the run without its authority."""
    await noted(store, "k")

    async def work(inside: asyncio.Event) -> None:
        async with Run.start(store, journal, "night") as run:
            await run.tools.call("memory_read", {"key": "k"})
            inside.set()
            await run.suspend()
            await asyncio.sleep(60)

    await cancelled(work)
    status, _, snapshot = await told(journal)
    assert status == "suspended"
    assert list(snapshot["realms"][store.realm]) == ["k"]


async def test_a_claim_that_is_cancelled_is_given_back(store: InProcessStore, journal: Journal) -> None:
    """The run would belong to nobody, and could not be resumed without force."""
    async with Run.start(store, journal, "night") as run:
        await run.suspend()
    for steps in range(12):

        async def resume() -> None:
            async with Run.resume(store, journal, "night") as run:
                await run.suspend()

        task = asyncio.ensure_future(resume())
        for _ in range(steps):
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait([task])
        assert (await told(journal))[0] in ("suspended", "cancelled")


CTRL_C = """
import asyncio, sys
from jsmemory.backends.in_process import InProcessStore
from jsmemory.journal.file import FileJournal
from jsmemory.running import Run

async def main():
    journal = await FileJournal.open(sys.argv[1])
    async with Run.start(InProcessStore(), journal, "night") as run:
        await run.tools.call("memory_write", {"key": "k", "description": "d", "content": "c"})
        print("inside", flush=True)
        await asyncio.sleep(60)

asyncio.run(main())
"""


async def test_a_ctrl_c_leaves_a_last_word(tmp_path: Path) -> None:
    """What a person stops would have to be taken over by force."""
    process = subprocess.Popen(
        [sys.executable, "-c", CTRL_C, str(tmp_path / "runs")], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    with process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"inside\n"
        os.kill(process.pid, signal.SIGINT)
        assert await asyncio.to_thread(process.wait, 60) != 0
    assert (await told(await FileJournal.open(tmp_path / "runs")))[0] == "cancelled"


# -- A journal that fails -------------------------------------------------------------------


class Failing(WrappingStore):
    """A store that answers when it is told to."""

    def __init__(self, inner: InProcessStore) -> None:
        super().__init__(inner)
        self.called = asyncio.Event()
        self.go_on = asyncio.Event()

    async def update(self, key: str, description: str, content: str, *, scope: Scope | None) -> None:
        self.called.set()
        await self.go_on.wait()
        await super().update(key, description, content, scope=scope)


async def test_a_suspension_waits_for_the_calls_under_way(store: InProcessStore, journal: Journal) -> None:
    """A write that lands behind the snapshot would make the resumed run read its own words again."""
    await noted(store, "k")
    slow = Failing(store)
    async with Run.start(slow, journal, "night") as run:
        await run.tools.call("memory_read", {"key": "k"})
        writing = asyncio.create_task(overwrite(run, "k"))
        await slow.called.wait()
        suspending = asyncio.create_task(run.suspend())
        await asyncio.sleep(0.05)
        assert not suspending.done()
        assert await overwrite(run, "k") != "ok"
        slow.go_on.set()
        await suspending
        assert await writing == "ok"
    async with Run.resume(store, journal, "night") as run:
        assert await overwrite(run, "k", "three") == "ok"


async def test_an_error_is_not_hidden_by_a_journal_that_fails(tmp_path: Path, store: InProcessStore) -> None:
    """The host would look for the fault in the journal."""
    journal = await FileJournal.open(tmp_path / "runs")
    tools: list[MemoryTools] = []

    async def work() -> None:
        async with Run.start(store, journal, "night") as run:
            tools.append(run.tools)
            (tmp_path / "runs").rename(tmp_path / "elsewhere")
            raise ValueError("the real one")

    with pytest.raises(ValueError, match="the real one") as raised:
        await work()
    assert "does not know that the run 'night' was left" in raised.value.__notes__[0]
    assert str(tmp_path) not in raised.value.__notes__[0]
    assert (await tools[0].call("memory_list", {})).code != "ok"


async def test_a_run_that_ends_well_says_that_its_journal_does_not_know(tmp_path: Path, store: InProcessStore) -> None:
    journal = await FileJournal.open(tmp_path / "runs")
    with pytest.raises(BackendUnavailableError):
        async with Run.start(store, journal, "night"):
            (tmp_path / "runs").rename(tmp_path / "elsewhere")


async def test_a_suspension_that_failed_can_be_tried_again(tmp_path: Path, store: InProcessStore) -> None:
    """The authority would be gone with the first try."""
    await noted(store, "k")
    journal = await FileJournal.open(tmp_path / "runs")
    async with Run.start(store, journal, "night") as run:
        await run.tools.call("memory_read", {"key": "k"})
        (tmp_path / "runs").rename(tmp_path / "elsewhere")
        with pytest.raises(BackendUnavailableError):
            await run.suspend()
        (tmp_path / "elsewhere").rename(tmp_path / "runs")
        await run.suspend()
    async with Run.resume(store, journal, "night") as run:
        assert await overwrite(run, "k") == "ok"


async def test_a_block_that_ends_after_a_suspension_that_failed_suspends(tmp_path: Path, store: InProcessStore) -> None:
    """A host that was told to leave the block would find its run completed, and nothing to go on with."""
    await noted(store, "k")
    journal = await FileJournal.open(tmp_path / "runs")
    async with Run.start(store, journal, "night") as run:
        await run.tools.call("memory_read", {"key": "k"})
        (tmp_path / "runs").rename(tmp_path / "elsewhere")
        with pytest.raises(BackendUnavailableError):
            await run.suspend()
        (tmp_path / "elsewhere").rename(tmp_path / "runs")
    async with Run.resume(store, journal, "night") as run:
        assert await overwrite(run, "k") == "ok"


async def test_a_suspension_by_another_task_is_what_the_end_of_the_block_does_too(
    store: InProcessStore, journal: Journal
) -> None:
    """A host whose signal handler suspends while its last turn ends would find the run completed."""
    await noted(store, "k")
    async with Run.start(store, journal, "night") as run:
        await run.tools.call("memory_read", {"key": "k"})
        suspending = asyncio.create_task(run.suspend())
        await asyncio.sleep(0)
    await suspending
    state = await journal.state("night")
    assert (state.status, state.records) == ("suspended", 3)
    assert state.snapshot["realms"]


async def test_a_suspension_that_comes_too_late_says_so(store: InProcessStore, journal: Journal) -> None:
    """It would report a run as suspended that was completed a moment before."""
    await noted(store, "k")
    slow = Failing(store)
    leave = asyncio.Event()

    async def live() -> None:
        async with Run.start(slow, journal, "night") as run:
            runs.append(run)
            await run.tools.call("memory_read", {"key": "k"})
            writing.append(asyncio.create_task(overwrite(run, "k")))
            await slow.called.wait()
            leave.set()

    runs: list[Run] = []
    writing: list[asyncio.Task[str]] = []
    living = asyncio.create_task(live())
    await leave.wait()
    await asyncio.sleep(0)
    suspending = asyncio.create_task(runs[0].suspend())
    await asyncio.sleep(0)
    slow.go_on.set()
    await living
    with pytest.raises(RunEndedError):
        await suspending
    assert await told(journal) == ("completed", "", None)


async def test_a_suspension_waits_for_a_rotation_and_has_the_last_word(store: InProcessStore, journal: Journal) -> None:
    """A record of the rotation behind those of the suspension would show the run as running, with nobody there."""
    await noted(store, "k")
    slow = Failing(store)
    async with Run.start(slow, journal, "night") as run:
        await run.tools.call("memory_read", {"key": "k"})
        writing = asyncio.create_task(overwrite(run, "k"))
        await slow.called.wait()
        rotating = asyncio.create_task(run.rotate())
        await asyncio.sleep(0)
        suspending = asyncio.create_task(run.suspend())
        await asyncio.sleep(0.05)
        slow.go_on.set()
        await asyncio.gather(writing, rotating, suspending)
        with pytest.raises(RunEndedError):
            await run.rotate()
    assert [line.status for line in await journal.runs()] == ["suspended"]
    async with Run.resume(store, journal, "night") as run:
        assert await overwrite(run, "k") == "stale_entry"


async def test_a_rotation_that_is_cancelled_is_told_to_the_journal_all_the_same(
    store: InProcessStore, journal: Journal, other: Journal
) -> None:
    """A process that is killed afterwards would hand the authority of the old conversation to its successor."""
    await noted(store, "k", "l")
    async with Run.start(store, journal, "night") as run:
        for key in "kl":
            await run.tools.call("memory_read", {"key": key})
        await run.suspend()
    slow = Failing(store)

    async def rotate_and_be_taken_over() -> None:
        async with Run.resume(slow, journal, "night") as run:
            writing = asyncio.create_task(overwrite(run, "l"))
            await slow.called.wait()
            rotating = asyncio.create_task(run.rotate())
            await asyncio.sleep(0.05)
            rotating.cancel()
            await asyncio.sleep(0)
            slow.go_on.set()
            await asyncio.wait([writing, rotating])
            assert rotating.cancelled()
            async with Run.resume(store, other, "night", take_over=True) as successor:
                assert await overwrite(successor, "k", "three") == "stale_entry"

    with pytest.raises(RunClaimedError):
        await rotate_and_be_taken_over()


async def test_a_run_that_was_taken_over_loses_its_authority_when_it_learns_of_it(
    store: InProcessStore, journal: Journal, other: Journal
) -> None:
    """A process that was taken for dead would go on beside its successor."""
    await noted(store, "k")
    async with Run.start(store, journal, "night") as run:
        await run.tools.call("memory_read", {"key": "k"})
        claimed = await claim(other, "night", take_over=True)
        with pytest.raises(RunClaimedError) as refused:
            await run.record("message", 1)
        assert refused.value.reason == "lost"
        assert await overwrite(run, "k") != "ok"
        with pytest.raises(RunEndedError):
            await run.suspend()
    await other.append("night", records.terminal("suspended"), after=claimed.tail)
    assert (await journal.state("night")).records == 3


async def test_a_run_that_was_taken_over_and_ends_well_is_told(
    store: InProcessStore, journal: Journal, other: Journal
) -> None:
    with pytest.raises(RunClaimedError) as raised:
        async with Run.start(store, journal, "night"):
            await claim(other, "night", take_over=True)
    assert raised.value.reason == "lost"


class Doubtful(Journal):
    """A journal whose next append lands, or not, and nobody is told."""

    def __init__(self, inner: Journal) -> None:
        self._inner = inner
        self.lands: bool | None = None

    async def begin(self, run_id: str, record: Record) -> Tail:
        return await self._inner.begin(run_id, record)

    async def append(self, run_id: str, record: Record, *, after: Tail) -> Tail:
        lands, self.lands = self.lands, None
        if lands is None:
            return await self._inner.append(run_id, record, after=after)
        if lands:
            await self._inner.append(run_id, record, after=after)
        raise OutcomeUnknownError(run_id)

    async def last(self, run_id: str) -> Any:
        return await self._inner.last(run_id)

    def pages(self, run_id: str, *, until: Tail | None = None) -> Any:
        return self._inner.pages(run_id, until=until)

    async def runs(self) -> Any:
        return await self._inner.runs()


@pytest.mark.parametrize("lands", [True, False])
async def test_a_record_in_doubt_does_not_cost_the_run(store: InProcessStore, journal: Journal, lands: bool) -> None:
    """The run would take its own record for that of a successor, and give up."""
    doubtful = Doubtful(journal)
    async with Run.start(store, doubtful, "night") as run:
        doubtful.lands = lands
        with pytest.raises(OutcomeUnknownError):
            await run.record("message", "in doubt")
        await run.record("message", "after")
        await run.suspend()
    expected = ["in doubt", "after"] if lands else ["after"]
    assert [record.data async for record in journal.history("night")] == expected


async def test_a_record_in_doubt_does_not_hide_a_successor(
    store: InProcessStore, journal: Journal, other: Journal
) -> None:
    doubtful = Doubtful(journal)
    async with Run.start(store, doubtful, "night") as run:
        doubtful.lands = False
        with pytest.raises(OutcomeUnknownError):
            await run.record("message", "in doubt")
        await claim(other, "night", take_over=True)
        with pytest.raises(RunClaimedError):
            await run.record("message", "after")
    assert (await journal.state("night")).records == 2


# -- Beginnings -----------------------------------------------------------------------------


async def test_a_run_cannot_be_begun_twice_nor_resumed_before_it_began(store: InProcessStore, journal: Journal) -> None:
    async with Run.start(store, journal, "night") as run:
        for begin, refusal in ((Run.start, RunExistsError), (Run.resume, RunClaimedError)):
            with pytest.raises(refusal):
                async with begin(store, journal, "night"):
                    pass
        await run.suspend()
    with pytest.raises(RunNotFoundError):
        async with Run.resume(store, journal, "day"):
            pass
    assert (await journal.state("night")).records == 3


async def test_a_resumed_run_takes_three_round_trips_before_its_first_tool_call(
    nc: Client, bucket: str, stream: str
) -> None:
    """Resuming a fleet would take as long as reading all of its conversations."""
    lossy = LossyConnection(nc)
    store = await JetStreamStore.bind(lossy, bucket)
    journal = await JetStreamJournal.bind(lossy, stream)
    async with Run.start(store, journal, "night") as run:
        await run.tools.call("memory_write", {"key": "k", "description": "d", "content": "one"})
        for number in range(50):
            await run.record("message", number)
        await run.suspend()
    again = await JetStreamStore.bind(lossy, bucket), await JetStreamJournal.bind(lossy, stream)
    lossy.sent.clear()
    async with Run.resume(*again, "night") as run:
        assert len(lossy.sent) <= 3
        assert await overwrite(run, "k") == "ok"


async def test_the_errors_of_a_store_are_told_apart_as_ever(store: InProcessStore, journal: Journal) -> None:
    """What stands between a run and its store would swallow a refusal."""
    await noted(store, "k")
    async with Run.start(store, journal, "night") as run:
        with pytest.raises(EntryExistsError):
            await run.store.create("k", "d", "c", scope=run.scope)
        with pytest.raises(StaleEntryError):
            await run.store.update("k", "d", "c", scope=run.scope)
        assert await run.store.delete("k", scope=run.scope) is True
        assert await run.store.list() == ()
        assert run.store.info() == store.info()
        assert repr(run) == "<Run 'night'>"
        assert run.run_id == "night"
        assert run.state is None
