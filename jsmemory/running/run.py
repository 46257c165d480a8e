"""The run: what a host holds from its start, or its resumption, until it leaves it."""

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from typing import Any, Final, TypeVar

from jsmemory.backed_store import BackedStore
from jsmemory.errors import JsMemoryError, OutcomeUnknownError, RunClaimedError, RunEndedError
from jsmemory.journal import claiming, records
from jsmemory.journal.journal import Journal, Tail
from jsmemory.journal.records import Outcome
from jsmemory.journal.replay import RunState
from jsmemory.layers.live import LiveStore
from jsmemory.layers.read_only import ReadOnlyStore
from jsmemory.layers.wrapping import WrappingStore
from jsmemory.live import LiveView
from jsmemory.running.gate import Gate
from jsmemory.running.shielding import see_through
from jsmemory.running.writing import Writer
from jsmemory.scope import Scope
from jsmemory.store import Store
from jsmemory.tools import MemoryTools
from jsmemory.tools.tracing import Hook, log

T = TypeVar("T")

LAST_WORDS_S: Final = 40.0
"""Seconds that leaving a run may take at most: two records, each within a journal's own budget, and a margin."""

CALLS_UNDER_WAY_S: Final = 5.0
"""Seconds to wait for tool calls that are under way when a run is left."""


class Run:
    """
    One agent's work on a store: its scope, its tools, and its journal.

        async with Run.start(store, journal, "night-shift") as run:
            system = f"{run.system_note()}\\n\\n{await run.index()}"
            result = await run.tools.dispatch(tool_call)
            await run.record("message", message)
            await run.suspend()

        async with Run.resume(store, journal, "night-shift") as run:
            ...

    However the block is left, the journal says so: suspended if `suspend` was called, failed
    after an error, cancelled after a Ctrl-C or a cancellation, else completed. All but a
    completed run can be resumed, with the authority that it had. A process that is killed
    leaves no word: its run goes on from the newest snapshot, by who takes it over.

    After the run is left, or rotated, its old tools refuse every call.
    """

    def __init__(
        self,
        store: Store,
        writer: Writer,
        run_id: str,
        *,
        state: RunState | None,
        read_only: bool,
        no_index: bool | None,
        hook: Hook,
    ) -> None:
        self._store = ReadOnlyStore(store) if read_only else store
        self._writer = writer
        self._run_id = run_id
        self._state = state
        self._warning: str | None = None
        self._options: dict[str, Any] = {"no_index": no_index, "hook": hook}
        self._left: Outcome | None = None
        self._is_to_stay = False
        self._turn = asyncio.Lock()
        self._converse()
        if state is not None and state.snapshot is not None:
            self._warning = self._scope.restore(state.snapshot) or _foreign(store, self._scope)

    # -- Beginning --------------------------------------------------------------------------

    @classmethod
    @asynccontextmanager
    async def start(
        cls,
        store: Store,
        journal: Journal,
        run_id: str,
        *,
        about: object = None,
        read_only: bool = False,
        no_index: bool | None = None,
        live: LiveView | None = None,
        hook: Hook = log,
    ) -> "AsyncIterator[Run]":
        """
        Begin a run, and leave it with the block.

        Args:
            store: Where its memories are; many runs may share it.
            journal: Where it is recorded.
            run_id: Its name, of the grammar of keys.
            about: What to keep of the start, as plain data.
            read_only: Offer no tools that write, and refuse writes from any other path; so it is
                in any case on a store whose terms say that it is read-only.
            no_index: Begin without an index of what is stored; None is as the store's terms say.
            live: A view of the store's keyspace, to list from: one serves all runs of a process.
            hook: Told of each tool call; by default a line goes to a logger.

        Raises:
            RunExistsError: the journal holds a run of that name.
            InvalidKeyError: the name is outside the grammar.
            InvalidOptionsError: `live` is a view of another keyspace; nothing was begun.
            InvalidRecordError: `about` cannot be kept.
            BackendUnavailableError: the journal did not answer in time; nothing was begun.
            OutcomeUnknownError: sent, answer lost. List the runs before deciding anything.
        """

        store = store if live is None else LiveStore(store, live)

        async def begin() -> "Run":
            tail = await claiming.start(journal, run_id, about)
            return made(tail)

        def made(tail: Tail) -> "Run":
            writer = Writer(journal, run_id, tail)
            return cls(store, writer, run_id, state=None, read_only=read_only, no_index=no_index, hook=hook)

        async with _lived(begin, run_id) as run:
            yield run

    @classmethod
    @asynccontextmanager
    async def resume(
        cls,
        store: Store,
        journal: Journal,
        run_id: str,
        *,
        take_over: bool = False,
        read_only: bool = False,
        no_index: bool | None = None,
        live: LiveView | None = None,
        hook: Hook = log,
    ) -> "AsyncIterator[Run]":
        """
        Go on with a run that was left, with the authority that it had, and leave it with the block.

        What it had read it may overwrite where nobody has changed it since. A snapshot that
        cannot be read, or that belongs to another store, grants nothing: see `warning`.

        Args:
            store: Where its memories are.
            journal: Where it is recorded.
            run_id: Its name.
            take_over: Take it from a process that has not left it, and is known to be dead.
            read_only: Offer no tools that write, and refuse writes from any other path; so it is
                in any case on a store whose terms say that it is read-only.
            no_index: Go on without an index of what is stored; None is as the store's terms say.
            live: A view of the store's keyspace, to list from: one serves all runs of a process.
            hook: Told of each tool call; by default a line goes to a logger.

        Raises:
            RunNotFoundError: the journal holds no such run.
            RunClaimedError: it belongs to another process, which may have been quicker just now.
            RunEndedError: it was completed.
            InvalidOptionsError: `live` is a view of another keyspace; nothing was claimed.
            JournalCorruptError: its records are not what a run writes.
            BackendUnavailableError: the journal did not answer in time.
            OutcomeUnknownError: sent, answer lost. List the runs before deciding anything.
        """

        store = store if live is None else LiveStore(store, live)

        async def begin() -> "Run":
            claimed = await claiming.claim(journal, run_id, take_over=take_over)
            writer = Writer(journal, run_id, claimed.tail)
            return cls(store, writer, run_id, state=claimed.state, read_only=read_only, no_index=no_index, hook=hook)

        async with _lived(begin, run_id) as run:
            yield run

    # -- What a host uses -------------------------------------------------------------------

    @property
    def run_id(self) -> str:
        """Its name."""
        return self._run_id

    @property
    def state(self) -> RunState | None:
        """Where the run stood when it was resumed; None for one that was started."""
        return self._state

    @property
    def warning(self) -> str | None:
        """Why the run has less authority than its journal might suggest; None where it has all of it."""
        return self._warning

    @property
    def store(self) -> Store:
        """The store, for as long as the conversation lasts; for calls of the host's own, with `scope`."""
        return self._gate

    @property
    def scope(self) -> Scope:
        """The authority of the conversation at hand."""
        return self._scope

    @property
    def tools(self) -> MemoryTools:
        """The tools of the conversation at hand."""
        return self._tools

    def system_note(self) -> str:
        """What to tell the model about its memory; the same text each time."""
        return self._tools.system_note()

    async def index(self) -> str:
        """The index to begin with, newly listed; raises nothing but a cancellation."""
        return await self._tools.index()

    async def record(self, name: str, data: object) -> None:
        """
        Keep a record of the host's own, such as a message; `Journal.history` gives it back.

        Args:
            name: The host's word for it, 1 to 200 characters.
            data: Plain data, at most 1,000,000 bytes as JSON.

        Raises:
            InvalidRecordError: it cannot be kept.
            RunEndedError: the run has been left.
            RunClaimedError: another process has taken the run over.
            OutcomeUnknownError: sent, answer lost.
        """
        self._check()
        await self._finish(self._writer.write(records.host(name, data)))

    async def rotate(self) -> MemoryTools:
        """
        Begin a new conversation: with a new scope, which has read nothing, and new tools.

        The old tools refuse every further call. The journal is told, so that no resumption
        brings the old conversation's authority back.

        Returns:
            The tools of the new conversation; also in `tools`.

        Raises:
            RunEndedError: the run has been left.
            RunClaimedError: another process has taken the run over.
            BackendError: the journal could not be told. The old authority is gone all the same.
        """
        self._check()
        await self._finish(self._rotate())
        return self._tools

    async def suspend(self) -> None:
        """
        Leave the run, so that any process can go on with it.

        Done to its end even if the caller is cancelled meanwhile. Tool calls under way are
        waited for, further ones refused. Once asked for, it is what the end of the block does
        as well, and no longer a completion.

        Raises:
            RunEndedError: the run has been left already.
            RunClaimedError: another process has taken the run over; it is no longer this one's.
            BackendError: the journal could not be told; try again, or leave the block.
        """
        self._check()
        self._is_to_stay = True
        await self._leave("suspended")
        if self._left != "suspended":
            raise RunEndedError(self._run_id, "left")

    def __repr__(self) -> str:
        return f"<Run {self._run_id!r}{f' {self._left}' if self._left else ''}>"

    # -- Inside -----------------------------------------------------------------------------

    def _converse(self) -> None:
        self._scope = Scope()
        self._gate = Gate(self._store, self._run_id)
        self._tools = MemoryTools(self._gate, self._scope, **self._options)

    def _check(self) -> None:
        if self._left is not None:
            raise RunEndedError(self._run_id, "left")

    async def _finish(self, work: Coroutine[Any, Any, T]) -> T:
        try:
            return await see_through(work, seconds=LAST_WORDS_S)
        except TimeoutError:
            raise OutcomeUnknownError(self._run_id) from None
        except RunClaimedError:
            # The authority is another process's now.
            self._end("cancelled")
            raise

    async def _rotate(self) -> None:
        async with self._turn:
            self._check()
            gate, scope = self._gate, self._scope
            self._converse()
            self._warning = None
            gate.shut("rotated")
            await gate.quiet(CALLS_UNDER_WAY_S)
            _empty(scope)
            await self._writer.write_revisions(self._scope, "running")

    async def _leave(self, outcome: Outcome, reason: str = "") -> None:
        await self._finish(self._say_last(outcome, reason))

    async def _say_last(self, outcome: Outcome, reason: str) -> None:
        # Two tasks may leave at once, or one while another rotates. What came first counts, and
        # is done to its end: the records of two would be mixed, and the last would win.
        async with self._turn:
            if self._left is not None:
                return
            self._gate.shut("left")
            await self._gate.quiet(CALLS_UNDER_WAY_S)
            await self._writer.write(records.terminal(outcome, reason))
            if outcome != "completed":
                self._warning = await self._writer.write_revisions(self._scope, outcome) or self._warning
            self._end(outcome)

    async def _leave_well(self) -> None:
        if self._left is None:
            await self._leave("suspended" if self._is_to_stay else "completed")

    def _end(self, outcome: Outcome) -> None:
        self._left = self._left or outcome
        self._gate.shut("left")
        _empty(self._scope)

    async def _leave_after(self, error: BaseException) -> None:
        """Say how the run ended, and let nothing that goes wrong meanwhile hide why."""
        outcome: Outcome = "failed" if isinstance(error, Exception) else "cancelled"
        reason = error.code if isinstance(error, JsMemoryError) else ""
        try:
            await self._leave(outcome, reason)
        except JsMemoryError as failure:
            error.add_note(f"The journal does not know that the run {self._run_id!r} was left: {failure}")
        finally:
            self._end(outcome)


@asynccontextmanager
async def _lived(begin: Any, run_id: str) -> AsyncIterator[Run]:
    """A run from its beginning to its last words, on every way out."""
    begun: list[Run] = []

    async def enter() -> None:
        begun.append(await begin())

    try:
        try:
            await see_through(enter(), seconds=LAST_WORDS_S)
        except TimeoutError:
            raise OutcomeUnknownError(run_id) from None
        yield begun[0]
    except BaseException as error:
        # Also where the host was cancelled while the run was being claimed: the claim is given back.
        if begun and begun[0]._left is None:
            await begun[0]._leave_after(error)
        raise
    await begun[0]._leave_well()


def _foreign(store: Store, scope: Scope) -> str | None:
    """Why a snapshot that was read grants nothing here; None where it may, or where it held nothing."""
    while isinstance(store, WrappingStore):
        store = store.inner
    held = scope.snapshot()["realms"]
    if not held or not isinstance(store, BackedStore) or store.realm in held:
        return None
    return (
        "The scope snapshot belongs to another store, or to this one before it was made anew; "
        "the run must read keys again."
    )


def _empty(scope: Scope) -> None:
    """Take all authority back, also from whoever still holds the scope."""
    for realm, known in scope.snapshot()["realms"].items():
        for key in known:
            scope.forget(realm, key)
