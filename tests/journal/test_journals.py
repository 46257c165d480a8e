"""What every journal owes its runs, on files and on a real server: faults 41 and 42."""

import asyncio
import random
from typing import NoReturn

import pytest

from jsmemory.errors import (
    BackendUnavailableError,
    InvalidKeyError,
    InvalidRecordError,
    JournalCorruptError,
    RunClaimedError,
    RunEndedError,
    RunExistsError,
    RunNotFoundError,
)
from jsmemory.journal import records
from jsmemory.journal.claiming import Claimed, claim, start
from jsmemory.journal.journal import Journal, Tail

SNAPSHOT = {"version": 1, "realms": {"realm": {"k": "1"}}}


async def suspend(journal: Journal, run_id: str, tail: Tail, snapshot: object = SNAPSHOT) -> Tail:
    tail = await journal.append(run_id, records.terminal("suspended"), after=tail)
    return await journal.append(run_id, records.memory_revisions(snapshot, "suspended"), after=tail)


async def test_what_one_wrote_the_other_reads(journal: Journal, other: Journal) -> None:
    await suspend(journal, "night", await start(journal, "night", {"model": "m"}))
    state = await other.state("night")
    assert (state.run_id, state.status, state.records, state.snapshot) == ("night", "suspended", 3, SNAPSHOT)
    assert state.about == {"model": "m"}
    assert state.started <= state.updated


async def test_the_hosts_own_records_come_back_in_their_order(journal: Journal, other: Journal) -> None:
    """A conversation out of order is another conversation."""
    tail = await start(journal, "night")
    for number in range(50):
        tail = await journal.append("night", records.host("message", {"n": number}), after=tail)
    await suspend(journal, "night", tail)
    found = [record async for record in other.history("night")]
    assert [record.data["n"] for record in found] == list(range(50))
    assert {record.name for record in found} == {"message"}
    assert all(record.at > 0 for record in found)


async def test_a_run_is_started_once(journal: Journal, other: Journal) -> None:
    """Two agents under one name would share a journal, and in the end their authority."""
    outcomes = await asyncio.gather(
        *(start(each, "night") for each in (journal, other) for _ in range(5)), return_exceptions=True
    )
    assert sum(isinstance(outcome, Tail) for outcome in outcomes) == 1
    assert sum(isinstance(outcome, RunExistsError) for outcome in outcomes) == 9


async def test_of_all_that_append_behind_one_tail_one_succeeds(journal: Journal, other: Journal) -> None:
    """Fault 41: a worker that lost its run would add to it unseen."""
    tail = await start(journal, "night")
    outcomes = await asyncio.gather(
        *(each.append("night", records.host("n", 1), after=tail) for each in (journal, other) for _ in range(5)),
        return_exceptions=True,
    )
    assert sum(isinstance(outcome, Tail) for outcome in outcomes) == 1
    assert sum(isinstance(outcome, RunClaimedError) for outcome in outcomes) == 9
    assert (await journal.state("night")).records == 2


async def test_of_two_that_resume_one_run_one_has_it_200_of_200_times(journal: Journal, other: Journal) -> None:
    """Fault 42: one suspended run would go on twice, and each would act in the other's name."""
    tail = await suspend(journal, "night", await start(journal, "night"))
    for count in range(1, 201):

        async def resume(host: Journal) -> Claimed:
            await asyncio.sleep(random.choice((0, 0, 0.0005, 0.002)))
            return await claim(host, "night")

        outcomes = await asyncio.gather(resume(journal), resume(other), return_exceptions=True)
        won = [outcome for outcome in outcomes if isinstance(outcome, Claimed)]
        lost = [outcome for outcome in outcomes if isinstance(outcome, RunClaimedError)]
        assert (len(won), len(lost)) == (1, 1), outcomes
        assert lost[0].reason == "held"
        assert (won[0].state.status, won[0].state.claims, won[0].state.snapshot) == ("running", count, SNAPSHOT)
        tail = await suspend(journal, "night", won[0].tail)
    assert (await journal.state("night", until=tail)).claims == 200


async def test_the_state_is_folded_up_to_the_claim_and_no_further(
    journal: Journal, other: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Fault 41: what another worker appends in between would count, or be overlooked."""
    await suspend(journal, "night", await start(journal, "night"))
    append = journal.append

    async def append_and_be_overtaken(run_id: str, record: records.Record, *, after: Tail) -> Tail:
        tail = await append(run_id, record, after=after)
        taken = await claim(other, run_id, take_over=True)
        await suspend(other, run_id, taken.tail, {"version": 1, "realms": {}})
        return tail

    monkeypatch.setattr(journal, "append", append_and_be_overtaken)
    claimed = await claim(journal, "night")
    assert (claimed.state.status, claimed.state.snapshot, claimed.state.records) == ("running", SNAPSHOT, 4)
    assert (await other.state("night")).records == 7


async def test_a_claim_does_not_land_behind_what_was_not_folded(
    journal: Journal, other: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Fault 41: a state that was folded before another worker wrote would be taken for the newest."""
    await suspend(journal, "night", await start(journal, "night"))
    append = journal.append

    async def be_overtaken_and_append(run_id: str, record: records.Record, *, after: Tail) -> Tail:
        taken = await claim(other, run_id)
        await suspend(other, run_id, taken.tail, {"version": 1, "realms": {}})
        return await append(run_id, record, after=after)

    monkeypatch.setattr(journal, "append", be_overtaken_and_append)
    with pytest.raises(RunClaimedError):
        await claim(journal, "night")
    assert (await other.state("night")).claims == 1


async def test_a_run_that_cannot_be_read_is_left_to_whoever_can(journal: Journal, other: Journal) -> None:
    """A worker of an older version would lock the run for the newer one, and be told that it is another's."""
    tail = await start(journal, "night")
    newer = records.Record(kind="weather", optional=False, at=1.0, data=records.claim().data, id=records.claim().id)
    tail = await journal.append("night", newer, after=tail)
    tail = await suspend(journal, "night", tail)
    for take_over in (False, True, False):
        with pytest.raises(JournalCorruptError):
            await claim(other, "night", take_over=take_over)
    assert (await journal.last("night") or (None,))[0] == tail


async def test_a_run_that_cannot_be_read_just_now_can_be_resumed_later(
    journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is said to be worth another try must not have taken the run from its next holder."""
    await suspend(journal, "night", await start(journal, "night"))
    with monkeypatch.context() as patch:

        async def fail(*_: object, **__: object) -> NoReturn:
            raise BackendUnavailableError("The journal did not answer.")

        patch.setattr(journal, "state", fail)
        with pytest.raises(BackendUnavailableError):
            await claim(journal, "night")
    assert (await claim(journal, "night")).state.claims == 1


async def test_a_run_that_was_not_left_is_taken_over_only_on_request(journal: Journal, other: Journal) -> None:
    """A slow process looks like a dead one: taken for dead, its run would go on twice."""
    tail = await start(journal, "night")
    with pytest.raises(RunClaimedError) as refused:
        await claim(other, "night")
    assert refused.value.reason == "held"
    taken = await claim(other, "night", take_over=True)
    assert (taken.state.status, taken.state.snapshot) == ("running", None)
    with pytest.raises(RunClaimedError):
        await journal.append("night", records.host("message", "late"), after=tail)
    with pytest.raises(RunClaimedError):
        await suspend(journal, "night", tail)
    assert (await suspend(other, "night", taken.tail)).place > taken.tail.place
    assert (await journal.state("night")).records == 4


async def test_where_the_last_record_does_not_tell_all_of_them_do(journal: Journal) -> None:
    """Records of a host, and of a newer version, may stand at the end."""
    tail = await start(journal, "night")
    tail = await journal.append("night", records.host("message", 1), after=tail)
    with pytest.raises(RunClaimedError):
        await claim(journal, "night")
    tail = await journal.append("night", records.terminal("suspended"), after=tail)
    newer = records.Record(kind="weather", optional=True, at=1.0, data=records.claim().data, id=records.claim().id)
    await journal.append("night", newer, after=tail)
    assert [run.status for run in await journal.runs()] == ["suspended"]
    assert (await claim(journal, "night")).state.claims == 1


@pytest.mark.parametrize("outcome", ["suspended", "failed", "cancelled"])
async def test_a_run_that_was_left_can_be_gone_on_with(
    journal: Journal, other: Journal, outcome: records.Outcome
) -> None:
    tail = await start(journal, "night")
    await journal.append("night", records.terminal(outcome), after=tail)
    assert (await claim(other, "night")).state.status == "running"


@pytest.mark.parametrize("take_over", [False, True])
async def test_a_completed_run_cannot(journal: Journal, other: Journal, take_over: bool) -> None:
    """Whatever it did would be done again."""
    tail = await start(journal, "night")
    await journal.append("night", records.terminal("completed"), after=tail)
    with pytest.raises(RunEndedError) as refused:
        await claim(other, "night", take_over=take_over)
    assert refused.value.reason == "completed"
    assert (await journal.state("night")).records == 2


async def test_a_run_that_is_not_there_is_said(journal: Journal) -> None:
    await start(journal, "day")
    tail = Tail(7, "x")
    for call in (claim(journal, "night"), journal.state("night"), journal.append("night", records.claim(), after=tail)):
        with pytest.raises(RunNotFoundError):
            await call
    with pytest.raises(RunNotFoundError):
        async for _ in journal.history("night"):
            pass
    assert await journal.last("night") is None


@pytest.mark.parametrize("run_id", ["", "../night", "a/b", ".night", "night\n", "n" * 201, "nächte", "a b", "*", ">"])
async def test_the_name_of_a_run_is_checked_before_anything_else(journal: Journal, run_id: str) -> None:
    """A name that is a path would write outside of the directory; one that is a wildcard, read all runs."""
    for call in (
        start(journal, run_id),
        claim(journal, run_id),
        journal.last(run_id),
        journal.state(run_id),
        journal.begin(run_id, records.claim()),
        journal.append(run_id, records.claim(), after=Tail(0, "")),
    ):
        with pytest.raises(InvalidKeyError):
            await call


async def test_names_that_contain_each_other_are_runs_of_their_own(journal: Journal) -> None:
    """A dot is a level of a subject: `night` would read what `night.shift` did."""
    tail = await start(journal, "night")
    inner = await start(journal, "night.shift")
    await start(journal, "Night")
    await journal.append("night.shift", records.terminal("completed"), after=inner)
    await journal.append("night", records.host("message", 1), after=tail)
    assert (await journal.state("night")).records == 2
    assert {run.run_id: run.status for run in await journal.runs()} == {
        "night": "running",
        "night.shift": "completed",
        "Night": "running",
    }


async def test_runs_are_listed_with_what_they_do_the_last_one_first(journal: Journal, other: Journal) -> None:
    """An operator could not tell what to resume."""
    assert await journal.runs() == ()
    for name in ("a", "b", "c"):
        await suspend(journal, name, await start(journal, name))
        await asyncio.sleep(0.002)
    await claim(other, "a")
    listed = await journal.runs()
    assert [(run.run_id, run.status) for run in listed] == [("a", "running"), ("c", "suspended"), ("b", "suspended")]
    assert listed[0].updated > listed[1].updated > 0


async def test_an_unfit_record_writes_nothing(journal: Journal) -> None:
    tail = await start(journal, "night")
    with pytest.raises(InvalidRecordError):
        await journal.append("night", records.host("message", "x" * 1_000_001), after=tail)
    assert (await journal.state("night")).records == 1


async def test_a_record_of_the_largest_size_comes_back(journal: Journal) -> None:
    """A limit that the server does not share would close the connection."""
    text = "x" * (records.MAX_RECORD_BYTES - 200)
    tail = await start(journal, "night")
    for _ in range(10):
        tail = await journal.append("night", records.host("message", text), after=tail)
    assert [record.data == text async for record in journal.history("night")] == [True] * 10
