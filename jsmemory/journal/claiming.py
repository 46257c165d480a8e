"""
Whose run it is: starting one, and taking up one that was left.

A claim is itself a record that lands behind the last one or not at all. So of two processes
that resume one run, one has it, and the other is told. The records are folded up to the very
one that the claim has to follow: nobody can have added anything unseen, or the claim does not
land. And it comes last, when nothing can fail any more: a run that cannot be read, or not just
now, stays as it was left, for whoever can.

A claim holds until its process leaves the run. One that died without leaving it cannot be
told from one that is slow, so its run is taken over only by who says so. Whatever the
earlier holder still appends after that is refused.
"""

from dataclasses import dataclass

from jsmemory.errors import RunClaimedError, RunEndedError, RunNotFoundError
from jsmemory.journal import records
from jsmemory.journal.journal import Journal, Tail
from jsmemory.journal.records import Status
from jsmemory.journal.replay import RunState, status_in
from jsmemory.keys import validate_key


@dataclass(frozen=True, slots=True)
class Claimed:
    """
    A run that belongs to this process now.

    Attributes:
        tail: Where its next record goes.
        state: Where it stood when it was claimed.
    """

    tail: Tail
    state: RunState


async def start(journal: Journal, run_id: str, about: object = None) -> Tail:
    """
    Begin a run; it belongs to this process.

    Args:
        journal: Where it is recorded.
        run_id: Its name, of the grammar of keys.
        about: What the host wants kept of the start: plain data.

    Raises:
        RunExistsError: there is one of that name.
        InvalidKeyError: the name is outside the grammar.
        InvalidRecordError: `about` cannot be kept.
        OutcomeUnknownError: sent, answer lost. List the runs before deciding anything.
    """
    validate_key(run_id)
    return await journal.begin(run_id, records.meta(run_id, about))


async def claim(journal: Journal, run_id: str, *, take_over: bool = False) -> Claimed:
    """
    Take up a run that was left.

    Args:
        journal: Where it is recorded.
        run_id: Its name.
        take_over: Take it from a process that has not left it. For one that is known to be
            dead: a process that still lives learns of it only when it writes its next record.

    Raises:
        RunNotFoundError: there is none of that name.
        RunClaimedError: it belongs to another process, which may have been quicker just now.
        RunEndedError: it was completed.
        JournalCorruptError: its records are not what a run writes; nothing was claimed.
        BackendUnavailableError: they could not be read in time; nothing was claimed.
        OutcomeUnknownError: sent, answer lost. List the runs before deciding anything.
    """
    validate_key(run_id)
    found = await journal.last(run_id)
    if found is None:
        raise RunNotFoundError(run_id)
    tail, newest = found
    _refuse_if_not_left(run_id, status_in(newest), take_over=take_over)
    state = await journal.state(run_id, until=tail)
    # Where the last record does not tell, all of them do.
    _refuse_if_not_left(run_id, state.status, take_over=take_over)
    record = records.claim()
    return Claimed(await journal.append(run_id, record, after=tail), state.claimed(record.at))


def _refuse_if_not_left(run_id: str, status: Status | None, *, take_over: bool) -> None:
    if status == "completed":
        raise RunEndedError(run_id)
    if status == "running" and not take_over:
        raise RunClaimedError(run_id)
