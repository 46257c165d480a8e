"""Replay: the records of a run fold to where it stands, and what no run writes is reported with its place."""

import itertools
import json
from collections.abc import Iterable
from typing import Any

import msgspec
import pytest

from jsmemory.errors import InvalidRecordError, JournalCorruptError
from jsmemory.journal import records
from jsmemory.journal.records import MAX_RECORD_BYTES, Record
from jsmemory.journal.replay import Line, Replay, RunState, replay, status_in
from jsmemory.scope import Scope

OLD = {"version": 1, "realms": {"realm": {"k": "1"}}}
NEW = {"version": 1, "realms": {"realm": {"k": "2"}}}
NOTHING: dict[str, Any] = {"version": 1, "realms": {}}


def lines_of(written: Iterable[Record | bytes]) -> Iterable[Line]:
    """As they would lie in a file."""
    at = 0
    for each in written:
        text = each if isinstance(each, bytes) else records.encode(each)
        yield Line(at, text)
        at += len(text) + 1


def fold(*written: Record | bytes) -> RunState:
    state = replay("night", lines_of((records.meta("night"), *written)))
    assert state is not None
    return state


def raw(**fields: object) -> bytes:
    return json.dumps({"at": 1.5, "data": {}, "id": "x"} | fields).encode()


def test_a_run_is_where_its_records_leave_it() -> None:
    """A host would go on with a run that is over, or not with one that waits for it."""
    state = fold(
        records.host("message", {"role": "user"}),
        records.terminal("failed", "backend_unavailable"),
        records.memory_revisions(OLD, "failed"),
    )
    assert (state.status, state.reason, state.records, state.claims) == ("failed", "backend_unavailable", 4, 0)
    assert state.snapshot == OLD
    assert state.updated >= state.started > 0
    assert fold().status == "running"
    assert fold(records.terminal("completed")).status == "completed"


def test_a_claim_makes_it_run_again() -> None:
    """A third process would find the run suspended, and take it from the second."""
    state = fold(records.terminal("suspended"), records.memory_revisions(OLD, "suspended"), records.claim())
    assert (state.status, state.claims, state.reason) == ("running", 1, "")
    assert state.snapshot == OLD


def test_the_newest_snapshot_wins_and_one_of_nothing_too() -> None:
    """Fault 6: a run that dropped its last revision would be given an older one again."""
    assert fold(records.memory_revisions(OLD, "running"), records.memory_revisions(NEW, "running")).snapshot == NEW
    assert (
        fold(records.memory_revisions(OLD, "running"), records.memory_revisions(NOTHING, "running")).snapshot == NOTHING
    )
    assert fold().snapshot is None


def test_a_snapshot_counts_before_the_terminal_record_and_after_it() -> None:
    """Journals of both orders are about; half of them would be resumed without authority."""
    terminal, snapshot = records.terminal("suspended"), records.memory_revisions(NEW, "suspended")
    older = records.memory_revisions(OLD, "running")
    for order in itertools.permutations((terminal, snapshot)):
        state = fold(older, *order)
        assert (state.status, state.snapshot) == ("suspended", NEW)


def test_where_the_newest_snapshot_is_lost_no_older_one_counts() -> None:
    """Torn off with the end of a file it would bring back what the run had given up since."""
    old, left = records.memory_revisions(OLD, "suspended"), records.terminal("suspended")
    for lost in (fold(left, old, records.claim(), left), fold(left, old, records.claim(), left, records.claim())):
        scope = Scope()
        assert "must read" in (scope.restore(lost.snapshot) or "")
        assert scope.revision_of("realm", "k") is None
    again = records.memory_revisions(NEW, "suspended")
    assert fold(left, old, records.claim(), left, records.claim(), left, again).snapshot == NEW
    assert fold(left, old, records.claim(), records.terminal("completed")).snapshot == OLD
    assert fold(left, records.claim(), left).snapshot is None


@pytest.mark.parametrize(
    "data",
    [
        '"text"',
        "null",
        "[]",
        "{}",
        "0",
        '{"scope":null,"status":"suspended"}',
        '{"scope":{"version":2,"realms":{}},"status":"suspended"}',
        '{"scope":{"version":1,"realms":{"realm":{"k":7}}}}',
        '{"scope":{"version":1,"realms":{"realm":{"../k":"1"}}},"status":"asleep"}',
    ],
)
def test_a_newest_snapshot_that_cannot_be_read_grants_nothing(data: str) -> None:
    """One from the future, or garbage, would make an older one count again: authority out of the past."""
    line = raw(kind="memory_revisions", optional=True).replace(b'"data": {}', b'"data": ' + data.encode())
    state = fold(records.memory_revisions(OLD, "running"), line)
    assert state.snapshot is not None, "taken for a run that never had one"
    scope = Scope()
    reason = scope.restore(state.snapshot)
    assert reason is not None
    assert "must read" in reason
    assert scope.revision_of("realm", "k") is None


def test_an_unknown_record_that_is_optional_is_passed_over() -> None:
    """A journal of a newer version would lock an older one out although nothing it needs has changed."""
    state = fold(raw(kind="weather", optional=True), records.terminal("suspended"))
    assert (state.status, state.records) == ("suspended", 3)


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (raw(kind="weather"), "does not know"),
        (raw(kind="weather", optional=False), "does not know"),
        (b"", "is no record"),
        (b"{", "is no record"),
        (b"\0\0\0", "is no record"),
        (b"\xff\xfe", "is no record"),
        (b"[" * 100_000, "is no record"),
        (b'"text"', "is no record"),
        (raw(), "is no record"),
        (raw(kind=7), "is no record"),
        (raw(kind="claim", at="soon"), "is no record"),
        (raw(kind="claim", id=None), "is no record"),
        (raw(kind="terminal"), "does not hold"),
        (raw(kind="terminal", data={"outcome": "running"}), "does not hold"),
        (raw(kind="terminal", data={"outcome": 1}), "does not hold"),
        (records.encode(records.meta("night")), "not in its place"),
    ],
)
def test_what_no_run_writes_is_reported_with_its_place(line: bytes, problem: str) -> None:
    """A journal that was edited by hand would be resumed as if nothing were missing."""
    before = (records.meta("night"), records.host("message", 1))
    with pytest.raises(JournalCorruptError, match=problem) as refused:
        replay("night", lines_of((*before, line, records.terminal("suspended"))))
    assert refused.value.record == 3
    assert refused.value.position == sum(len(records.encode(each)) + 1 for each in before)
    assert refused.value.__cause__ is None
    assert refused.value.__suppress_context__


@pytest.mark.parametrize(
    ("first", "problem"),
    [
        (records.encode(records.claim()), "not in its place"),
        (records.encode(records.meta("day")), "of another name"),
        (raw(kind="meta", data={"run_id": "night", "version": 2}), "version 2"),
        (raw(kind="meta", data={"run_id": "night"}), "does not hold"),
    ],
    ids=["a claim", "another run", "another version", "no version"],
)
def test_a_run_begins_with_its_own_first_record(first: bytes, problem: str) -> None:
    """The file of another run, copied or renamed, would hand its authority to a run that never earned it."""
    with pytest.raises(JournalCorruptError, match=problem) as refused:
        replay("night", [Line(0, first)])
    assert (refused.value.record, refused.value.position) == (1, 0)


def test_no_records_are_no_run() -> None:
    assert replay("night", []) is None


def test_replay_is_pure() -> None:
    """The second reader of one journal would see another run than the first."""
    lines = list(lines_of([records.meta("night"), records.claim(), records.memory_revisions(OLD, "running")]))
    assert replay("night", lines) == replay("night", lines)
    step = Replay("night")
    for count, line in enumerate(lines, 1):
        step.add(line)
        assert step.state == replay("night", lines[:count])


def test_what_the_last_record_tells_is_what_a_replay_tells() -> None:
    """A claim looks at the last record alone: it would take a run that is not free."""
    for last in (
        records.meta("night"),
        records.claim(),
        records.terminal("suspended"),
        records.terminal("completed"),
        records.memory_revisions(OLD, "suspended"),
        records.memory_revisions(OLD, "running"),
    ):
        told = status_in(last)
        before = [records.meta("night")] if last.kind != records.META else []
        if last.kind == records.MEMORY_REVISIONS and told != "running":
            before.append(records.terminal("suspended"))
        state = replay("night", lines_of([*before, last]))
        assert state is not None
        assert state.status == told
    assert status_in(records.host("message", 1)) is None
    assert status_in(records.decode(raw(kind="terminal"))) is None
    assert status_in(records.decode(raw(kind="memory_revisions", data=[]))) is None


@pytest.mark.parametrize("data", [{"text": "\n\u2028é\0"}, [1, 2.5, None, True], "", None, {"a": {"b": ["c"]}}])
def test_a_record_of_the_hosts_is_one_line_and_comes_back(data: object) -> None:
    """A conversation that holds an end of line would break the journal in two."""
    line = records.encode(records.host("message", data))
    assert b"\n" not in line
    assert msgspec.json.decode(records.decode(line).data) == data


@pytest.mark.parametrize("data", [object(), {1, 2, object()}, "\ud800", {"k": lambda: 1}, 1j])
def test_what_is_no_plain_data_is_refused(data: object) -> None:
    """The error of a library would end the run, with the host's text in it."""
    with pytest.raises(InvalidRecordError, match="plain data") as refused:
        records.encode(records.host("message", data))
    assert refused.value.__cause__ is None


@pytest.mark.parametrize("data", [float("nan"), {"loss": [1.5, float("inf")]}, (None, -float("inf"))])
def test_a_number_that_json_has_no_word_for_is_refused(data: object) -> None:
    """It would come back as null, and nobody would have been told."""
    with pytest.raises(InvalidRecordError):
        records.host("message", data)
    with pytest.raises(InvalidRecordError):
        records.meta("night", data)
    assert records.host("message", [None, 1.5]).data == msgspec.Raw(b"[null,1.5]")


@pytest.mark.parametrize("text", [b'{"a":\n1}', b"[1", b"", b'"\xff"', b"1e999"])
def test_what_says_that_it_is_json_is_not_taken_at_its_word(text: bytes) -> None:
    """A line that ends too early, or cannot be read back, would make a run corrupt for ever."""
    with pytest.raises(InvalidRecordError):
        records.host("message", msgspec.Raw(text))
    assert records.host("message", [msgspec.Raw(b'{"a": 1}')]).data == msgspec.Raw(b'[{"a": 1}]')


def test_what_can_be_written_can_be_read_also_by_who_is_deeper_in_its_stack() -> None:
    """How deep a parser goes depends on who calls it: a run would be corrupt in one place and whole in another."""

    def deeper(by: int, line: bytes) -> object:
        return deeper(by - 1, line) if by else msgspec.json.decode(records.decode(line).data)

    data: list[object] = []
    written = b""
    while True:
        data = [data]
        try:
            written = records.encode(records.host("message", data))
        except InvalidRecordError:
            break
    assert deeper(300, written)


def test_a_record_that_contains_itself_is_refused() -> None:
    endless: list[object] = []
    endless.append(endless)
    with pytest.raises(InvalidRecordError):
        records.host("message", endless)


@pytest.mark.parametrize("name", ["", "n" * 201])
def test_a_record_of_the_hosts_has_a_name(name: str) -> None:
    with pytest.raises(InvalidRecordError, match="name"):
        records.host(name, {})


def test_a_record_has_its_limit() -> None:
    """A record that the server cannot take would close the connection under a whole fleet."""
    frame = len(records.encode(records.host("message", "")))
    assert len(records.encode(records.host("message", "x" * (MAX_RECORD_BYTES - frame - 3)))) <= MAX_RECORD_BYTES
    with pytest.raises(InvalidRecordError, match="bytes"):
        records.encode(records.host("message", "x" * MAX_RECORD_BYTES))


def test_ids_are_never_the_same() -> None:
    """A lost acknowledgement would be settled by another process's record."""
    assert len({records.claim().id for _ in range(100)}) == 100
