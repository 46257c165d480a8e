"""
One script on every twin: what a run meets on the one it meets on the others, step by step.

Who tries an agent on files and then runs it on JetStream must not find a second set of rules.
"""

import asyncio
import tempfile
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Final, NamedTuple

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from jsmemory import JsMemoryError, LiveView, Scope, StaleEntryError, Store
from jsmemory.backed_store import BackedStore
from jsmemory.live import Changes
from jsmemory.testing import BackendHarness
from jsmemory.testing.corpora import DESCRIPTIONS
from jsmemory.testing.harnesses.file import FileHarness
from jsmemory.testing.harnesses.in_process import InProcessHarness
from jsmemory.testing.harnesses.jetstream import JetStreamHarness
from jsmemory.testing.mirroring import LONGEST_S, Mirror
from jsmemory.testing.servers import NatsCluster, NatsServer

KEYS: Final = ("a", "a.b", "b", "a/b")
VERBS: Final = ("read", "create", "update", "delete", "list", "plant", "suspend", "recreate")


class Step(NamedTuple):
    verb: str
    key: str
    run: int | None
    loose: bool
    description: str


STEPS = st.builds(
    Step,
    # The verbs that a run uses all the time, and now and then what others do to its keyspace.
    verb=st.sampled_from(("read", "create", "update", "update", "delete") * 6 + VERBS),
    key=st.sampled_from(KEYS[:2] * 4 + KEYS),
    run=st.sampled_from((0, 0, 1, None)),
    loose=st.sampled_from((False, False, False, True)),
    description=st.sampled_from([given for given, _ in DESCRIPTIONS] + [""]),
)
SCRIPTS = st.lists(STEPS, min_size=30, max_size=60)

SCRIPTED: Final = settings(
    derandomize=True,
    database=None,
    deadline=None,
    phases=[Phase.generate, Phase.shrink],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


class Stage:
    """One twin: its keyspace, a store with the guard and one without, two runs, and a view that lasts."""

    _guarded: Store
    _loose: Store
    _view: LiveView
    _changes: Changes

    def __init__(self, harness: BackendHarness, *, one_driver: bool) -> None:
        self.harness = harness
        self._one_driver = one_driver
        self._scopes = [Scope(), Scope()]
        self._mirror = Mirror()

    async def look_on(self, stack: AsyncExitStack) -> None:
        """Open the view, on a store that nobody else uses."""
        self._view = await stack.enter_async_context(BackedStore(await self.harness.drive()).live())
        self._changes = self._view.changes(initial=True)

    async def seen(self) -> object:
        """What the view shows, whatever has become of the keyspace since it was opened."""
        return await self._view.list()

    async def expect_all_told(self) -> None:
        """What changes have told, applied one after the other, is what is there."""
        listed = {item.key: item.description for item in await self._guarded.list()}
        async with asyncio.timeout(LONGEST_S):
            while self._mirror.entries != listed:
                self._mirror.apply(await anext(self._changes))

    async def open(self) -> None:
        """Open the stores, as processes do that begin."""
        driver = await self.harness.drive()
        other = driver if self._one_driver else await self.harness.drive()
        self._guarded = BackedStore(driver)
        self._loose = BackedStore(other, require_read_before_update=False)

    async def play(self, number: int, step: Step) -> object:
        """What a step comes to, without what may differ: revisions, and the words of a refusal."""
        store = self._loose if step.loose else self._guarded
        scope = None if step.run is None else self._scopes[step.run]
        # No content twice: a file's revision is derived from its bytes.
        text = f"text of step {number}"
        match step.verb:
            case "read":
                return await _told(lambda: _read(store, step.key, scope))
            case "create":
                return await _told(lambda: store.create(step.key, step.description, text, scope=scope))
            case "update":
                return await _told(lambda: store.update(step.key, step.description, text, scope=scope))
            case "delete":
                return await _told(lambda: store.delete(step.key, scope=scope))
            case "plant":
                if step.key in KEYS[:3]:
                    await self.harness.plant(step.key, f"---\nby: hand\n---\n\n{text}".encode())
            case "suspend":
                if step.run is not None:
                    snapshot = self._scopes[step.run].snapshot()
                    self._scopes[step.run] = Scope()
                    return self._scopes[step.run].restore(snapshot)
            case "recreate":
                # With new processes: a store that lives on may say `changed` where it learns of it late.
                await self.harness.recreate()
                await self.open()
        return await _told(store.list)


async def _read(store: Store, key: str, scope: Scope | None) -> tuple[str, str, str]:
    entry = await store.read(key, scope=scope)
    return entry.key, entry.description, entry.content


async def _told(call: Callable[[], Awaitable[object]]) -> object:
    try:
        return await call()
    except StaleEntryError as refusal:
        return refusal.code, refusal.reason
    except JsMemoryError as refusal:
        return refusal.code


async def _compare(script: list[Step], *harnesses: BackendHarness, one_driver: bool = False) -> None:
    async with AsyncExitStack() as stack:
        stages = []
        for harness in harnesses:
            stages.append(Stage(await stack.enter_async_context(harness), one_driver=one_driver))
            await stages[-1].open()
            await stages[-1].look_on(stack)
        for number, step in enumerate(script):
            oracle, *others = [(await stage.play(number, step), await stage.seen()) for stage in stages]
            assert step.verb != "list" or oracle[0] == oracle[1]
            for stage, outcome in zip(stages[1:], others, strict=True):
                assert outcome == oracle, f"step {number} on {type(stage.harness).__name__}"
        for stage in stages:
            await stage.expect_all_told()


@settings(SCRIPTED, max_examples=60)
@given(script=SCRIPTS)
def test_a_script_comes_to_the_same_on_every_twin(nats_server: NatsServer, script: list[Step]) -> None:
    """In this process, in files, and in a bucket of one server, with a second store that has the guard off."""
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(_compare(script, InProcessHarness(), FileHarness(Path(folder)), JetStreamHarness(nats_server.url)))


@settings(SCRIPTED, max_examples=15)
@given(script=SCRIPTS)
def test_a_script_comes_to_the_same_on_replicas(nats_cluster: NatsCluster, script: list[Step]) -> None:
    """Followers lag: within one driver nobody is to notice."""
    replicated = JetStreamHarness(*nats_cluster.urls, replicas=3)
    asyncio.run(_compare(script, InProcessHarness(), replicated, one_driver=True))
