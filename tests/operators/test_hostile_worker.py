"""
A hostile worker with the credentials that were printed for it: what it can do to the others.

In a bucket that they share, a great deal. That is documented here, attack by attack, so that
nobody takes a prefix for a wall. Where the victim has an account of its own: nothing.
"""

import asyncio
import base64
import json
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Final

import nats.errors
import pytest
from nats.aio.client import Client
from nats.aio.msg import Msg

from jsmemory import JetStreamStore, JsMemoryError, WorkerPermissions

KNOWN_CONSUMER: Final = "theirs"
"""A consumer of the victim whose name has become known; a store draws names that nobody can guess."""

SERVICE: Final = "deploy.now"
"""A subject that a program listens to in the account where the victim's notes are."""

KNOWN_ID: Final = "an-id-that-was-guessed"

RUNS: Final = "jsmemory.journal.runs"
"""What the subjects of the journal begin with that hostile workers and victims record their runs in."""

LIMITS: Final = {"max_bytes": 2_000_000, "max_consumers": 100}
"""Of a bucket: small, so that it is soon full."""

_ANSWER_S: Final = 5.0
_TAKES_EFFECT_S: Final = 0.15
_LONGEST_S: Final = 30.0


@dataclass
class Hostile:
    """
    A worker that is up to no good.

    Attributes:
        nats: A connection with its credentials, which tells a denial at once.
        worker: What it was given.
        victim: The prefix that it is after.
        seen: Everything that it got to see.
    """

    nats: Any
    worker: WorkerPermissions
    victim: str
    seen: list[bytes] = field(default_factory=list)

    @property
    def own(self) -> str:
        """The subject that the own notes begin with."""
        return f"$KV.team.{self.worker.prefix}"

    @property
    def theirs(self) -> str:
        """The subject that the victim's notes begin with."""
        return f"$KV.team.{self.victim}"

    @property
    def their_run(self) -> str:
        """The subject of a run of the victim's."""
        return f"{RUNS}.{self.victim}"

    def api(self, operation: str) -> str:
        return f"{self.worker.api_prefix}.{operation}"

    async def ask(
        self,
        subject: str,
        body: bytes | dict[str, Any] = b"",
        headers: dict[str, str] | None = None,
        within: float = _ANSWER_S,
    ) -> Msg | None:
        """Send a request; None where it was refused, or nobody answered."""
        body = body if isinstance(body, bytes) else json.dumps(body).encode()
        try:
            answer: Msg = await self.nats.request(subject, body, within, headers=headers)
        except (nats.errors.Error, OSError):
            return None
        self._see(answer)
        return answer

    async def listen(self, subject: str) -> None:
        async def receive(message: Msg) -> None:
            self._see(message)

        await self.nats.subscribe(subject, cb=receive)

    async def consumer(self, called: str, listens_to: str, **config: Any) -> Msg | None:
        """Make a consumer, or change one that is there."""
        made = {"name": called, "filter_subject": listens_to, "ack_policy": "none", "mem_storage": True} | config
        return await self.ask(
            self.api(f"CONSUMER.CREATE.KV_team.{called}.{listens_to}"), {"stream_name": "KV_team", "config": made}
        )

    async def pull(self, consumer: str, reply: str | None = None) -> None:
        """Have a consumer deliver, to oneself or to whom one likes."""
        if reply is None:
            reply = self.nats.new_inbox()
            await self.listen(reply)
        await self.nats.publish(self.api(f"CONSUMER.MSG.NEXT.KV_team.{consumer}"), b'{"batch":9,"no_wait":true}', reply)
        await self.takes_effect()

    async def forge_by_pull(self, subject: str, body: bytes) -> None:
        """Have JetStream publish where one may not: the answer to a pull, which is an own note."""
        consumer = secrets.token_hex(4)
        await self.ask(f"{self.own}.k", body)
        await self.consumer(consumer, f"{self.own}.k", deliver_policy="last_per_subject")
        await self.pull(consumer, subject)

    async def forge(self, subject: str, body: bytes | dict[str, Any]) -> None:
        """The same with the answer to a direct get."""
        await self.ask(f"{self.own}.k", body)
        await self.nats.publish(self.api(f"DIRECT.GET.KV_team.{self.own}.k"), b"", subject)
        await self.takes_effect()

    async def takes_effect(self) -> None:
        await self.nats.client.flush()
        await asyncio.sleep(_TAKES_EFFECT_S)

    def _see(self, message: Msg) -> None:
        self.seen.append(message.subject.encode() + repr(message.headers).encode() + message.data)


@dataclass(frozen=True)
class Attack:
    """
    One thing to try.

    Attributes:
        name: What it is.
        carry_out: How.
        in_one_bucket: What it does to a victim in the same bucket; nothing where it fails there too.
        in_one_memory: What it does to those who write the memory that an isolated worker may read.
    """

    name: str
    carry_out: Callable[[Hostile], Awaitable[None]]
    in_one_bucket: frozenset[str]
    in_one_memory: frozenset[str]


ATTACKS: Final[list[Attack]] = []


def attack(
    name: str, *in_one_bucket: str, in_one_memory: str = ""
) -> Callable[[Callable[[Hostile], Awaitable[None]]], Callable[[Hostile], Awaitable[None]]]:
    def note(carry_out: Callable[[Hostile], Awaitable[None]]) -> Callable[[Hostile], Awaitable[None]]:
        ATTACKS.append(Attack(name, carry_out, frozenset(in_one_bucket), frozenset(in_one_memory.split())))
        return carry_out

    return note


@attack("a roll-up of everything on an own key wipes the bucket", "changed")
async def roll_up(hostile: Hostile) -> None:
    await hostile.ask(f"{hostile.own}.k", b"", {"Nats-Rollup": "all"})


@attack("the answer to a direct get is sent to a foreign key", "changed")
async def answer_to_a_foreign_key(hostile: Hostile) -> None:
    await hostile.forge(f"{hostile.theirs}.forged", b"forged")


@attack("the answer to a pull is sent to a foreign key", "changed")
async def pull_to_a_foreign_key(hostile: Hostile) -> None:
    await hostile.forge_by_pull(f"{hostile.theirs}.forged", b"forged")


@attack("the answer to a pull is sent to a service of the account", "abused")
async def pull_to_a_service(hostile: Hostile) -> None:
    await hostile.forge_by_pull(SERVICE, b"everything")


@attack("the answer to a pull is an order to purge the bucket", "changed")
async def pull_to_purge(hostile: Hostile) -> None:
    for api in ("$JS.API", hostile.worker.api_prefix):
        await hostile.forge_by_pull(f"{api}.STREAM.PURGE.KV_team", b"{}")


@attack("the answer to a direct get is an order to delete the bucket", "gone")
async def answer_to_delete(hostile: Hostile) -> None:
    await hostile.forge("$JS.API.STREAM.DELETE.KV_team", b"")


@attack("the answer to a direct get is an order to let every note expire", "reconfigured")
async def answer_to_reconfigure(hostile: Hostile) -> None:
    config = {"name": "KV_team", "subjects": ["$KV.team.>"], "max_age": 3600 * 10**9, "allow_direct": True}
    config |= {"max_msgs_per_subject": 1, "discard": "new", "deny_delete": True, "allow_rollup_hdrs": True}
    await hostile.forge("$JS.API.STREAM.UPDATE.KV_team", config | LIMITS)


@attack("the answer to a direct get is an order for a copy of the bucket", "reconfigured")
async def answer_to_mirror(hostile: Hostile) -> None:
    await hostile.forge("$JS.API.STREAM.CREATE.COPY", {"name": "COPY", "mirror": {"name": "KV_team"}})


@attack("the answer to a direct get is an order for a consumer of everything", "leaked")
async def answer_to_read(hostile: Hostile) -> None:
    everything = {"name": "spy", "filter_subject": "$KV.team.>", "ack_policy": "none", "deliver_policy": "all"}
    order = {"stream_name": "KV_team", "config": everything}
    await hostile.forge("$JS.API.CONSUMER.CREATE.KV_team.spy.$KV.team.>", order)
    await hostile.pull("spy")


@attack("a consumer whose name is known is read", "leaked")
async def read_a_known_consumer(hostile: Hostile) -> None:
    await hostile.pull(KNOWN_CONSUMER)


@attack("a consumer whose name is known is turned to something else", "misled", in_one_memory="misled")
async def retarget_a_known_consumer(hostile: Hostile) -> None:
    await hostile.consumer(KNOWN_CONSUMER, f"{hostile.own}.>", deliver_policy="all", mem_storage=False)


@attack("a consumer whose name is known is deleted", "misled", in_one_memory="misled")
async def delete_a_known_consumer(hostile: Hostile) -> None:
    await hostile.ask(hostile.api(f"CONSUMER.DELETE.KV_team.{KNOWN_CONSUMER}"))


@attack("a consumer whose name is known is paused")
async def pause_a_known_consumer(hostile: Hostile) -> None:
    until = "2099-01-01T00:00:00Z"
    await hostile.ask(hostile.api(f"CONSUMER.PAUSE.KV_team.{KNOWN_CONSUMER}"), {"pause_until": until})


@attack("so many consumers that nobody else gets one", "blocked", in_one_memory="blocked")
async def take_every_consumer(hostile: Hostile) -> None:
    for number in range(120):
        await hostile.consumer(f"hoard{number}", f"{hostile.own}.>", durable_name=f"hoard{number}")


@attack("so many notes that nobody else gets one stored", "blocked")
async def take_every_byte(hostile: Hostile) -> None:
    for size in (60_000, 6_000, 600, 1):
        for number in range(60):
            stored = await hostile.ask(f"{hostile.own}.hoard{size}-{number}", b"x" * size)
            if stored is None or b"error" in stored.data:
                break


@attack("a foreign message id is used first", "vanished")
async def use_an_id_first(hostile: Hostile) -> None:
    await hostile.ask(f"{hostile.own}.k", b"mine", {"Nats-Msg-Id": KNOWN_ID})


@attack("a push consumer delivers to a service of the account", "abused", in_one_memory="abused")
async def push_to_a_service(hostile: Hostile) -> None:
    await hostile.ask(f"{hostile.own}.k", b"everything")
    await hostile.consumer("pusher", f"{hostile.own}.k", deliver_subject=SERVICE)
    await hostile.takes_effect()


@attack("a push consumer delivers to a foreign key, or orders a purge")
async def push_to_a_key(hostile: Hostile) -> None:
    await hostile.ask(f"{hostile.own}.k", b"{}")
    for number, target in enumerate((f"{hostile.theirs}.k", "$KV.team.x", "$JS.API.STREAM.PURGE.KV_team")):
        await hostile.consumer(f"pusher{number}", f"{hostile.own}.k", deliver_subject=target)
    await hostile.takes_effect()


@attack("a consumer is asked for with the filter of another")
async def ask_for_a_foreign_filter(hostile: Hostile) -> None:
    own, theirs = f"{hostile.own}.>", f"{hostile.theirs}.>"
    for name, config in (
        ("a", {"filter_subject": theirs}),
        ("b", {"filter_subject": own, "filter_subjects": [theirs]}),
        ("c", {"filter_subject": "", "filter_subjects": [theirs]}),
        ("d", {"filter_subject": ""}),
        ("e", {"name": "d", "filter_subject": theirs}),
    ):
        await hostile.consumer(name, own, **config)
        await hostile.pull(name)
    for operation in ("CONSUMER.CREATE.KV_team", "CONSUMER.DURABLE.CREATE.KV_team.f", "CONSUMER.CREATE.KV_team.f"):
        config = {"name": "f", "durable_name": "f", "filter_subject": theirs, "ack_policy": "none"}
        await hostile.ask(hostile.api(operation), {"stream_name": "KV_team", "config": config})
    await hostile.pull("f")


@attack("wildcards in place of names")
async def use_wildcards(hostile: Hostile) -> None:
    for keys in ("$KV.team.*.k", "$KV.team.>", "$KV.*.*.k", f"{hostile.own}.>"):
        await hostile.ask(hostile.api(f"DIRECT.GET.KV_team.{keys}"))
        await hostile.ask(keys, b"forged")
    await hostile.ask(hostile.api("CONSUMER.DELETE.KV_team.*"))
    await hostile.pull("*")
    await hostile.pull(">")


@attack("the trace of a message is sent to a foreign key")
async def trace_to_a_foreign_key(hostile: Hostile) -> None:
    destinations = (f"{hostile.theirs}.k", SERVICE, "$JS.API.STREAM.PURGE.KV_team")
    # What is traced to there is not answered.
    await asyncio.gather(
        *(hostile.ask(f"{hostile.own}.k", b"{}", {"Nats-Trace-Dest": each}, within=1.0) for each in destinations)
    )
    await hostile.takes_effect()


@attack("a message is put off, to a foreign key")
async def schedule_to_a_foreign_key(hostile: Hostile) -> None:
    headers = {"Nats-Schedule": "@at 2020-01-01T00:00:00Z", "Nats-Schedule-Target": f"{hostile.theirs}.k"}
    await hostile.ask(f"{hostile.own}.k", b"forged", headers)
    await hostile.takes_effect()


@attack("markers, a time to live and a roll-up of an own key")
async def use_every_header(hostile: Hostile) -> None:
    for headers in (
        {"KV-Operation": "PURGE", "Nats-Rollup": "sub"},
        {"KV-Operation": "DEL", "Nats-TTL": "1s"},
        {"Nats-Expected-Stream": "KV_team", "Nats-Stream-Source": "KV_team 1 >"},
        {"Nats-Batch-Id": "b", "Nats-Batch-Sequence": "1", "Nats-Batch-Commit": "1"},
        {"Nats-Incr": "1"},
    ):
        await hostile.ask(f"{hostile.own}.k", b"", headers)


@attack("pretending to be of another account", "misled", in_one_memory="misled")
async def pretend_to_be_another(hostile: Hostile) -> None:
    # In one bucket the last request needs no pretence.
    for account in ("MEMORY_team_bob", "bob", "WORK", "$SYS"):
        who = json.dumps({"acc": account, "svc": account, "user": "operator"})
        for operation, body in (
            ("STREAM.MSG.GET.KV_team", {"last_by_subj": f"{hostile.theirs}.k"}),
            ("STREAM.INFO.KV_team", {"subjects_filter": ">"}),
            (f"CONSUMER.DELETE.KV_team.{KNOWN_CONSUMER}", {}),
        ):
            await hostile.ask(hostile.api(operation), body or b"", {"Nats-Request-Info": who})


@attack("listening to everything")
async def listen_to_everything(hostile: Hostile) -> None:
    for subject in (">", "$KV.>", "_INBOX.>", "_INBOX_bob.>", "$JS.>", "$JS.EVENT.>", "$JS.ACK.>", "$SYS.>", "_R_.>"):
        await hostile.listen(subject)
    await hostile.takes_effect()


@attack("the runs of a journal are read", "leaked")
async def read_the_journal(hostile: Hostile) -> None:
    for number, asked in enumerate(({"last_by_subj": hostile.their_run}, {"seq": 1, "next_by_subj": f"{RUNS}.>"})):
        for operation in ("STREAM.MSG.GET.runs", "DIRECT.GET.runs"):
            await hostile.ask(
                hostile.api(operation), asked | ({"batch": 9} if number and "DIRECT" in operation else {})
            )
    await hostile.ask(hostile.api("STREAM.INFO.runs"), {"subjects_filter": ">"})


@attack("a record is put into a run of somebody else", "spoilt", in_one_memory="spoilt")
async def record_in_a_foreign_run(hostile: Hostile) -> None:
    await hostile.ask(hostile.their_run, b"forged")


@attack(
    "the answer to a read of the journal is sent to a foreign key, or is an order to delete",
    *("changed", "spoilt", "reconfigured"),
)
async def journal_to_a_foreign_key(hostile: Hostile) -> None:
    await hostile.ask(f"{RUNS}.mine", b"{}")
    asked = b'{"last_by_subj":"jsmemory.journal.runs.mine"}'
    for subject in (f"{hostile.theirs}.forged", "$JS.API.STREAM.PURGE.KV_team", "$JS.API.STREAM.DELETE.runs"):
        await hostile.nats.publish(hostile.api("DIRECT.GET.runs"), asked, subject)
    await hostile.takes_effect()


@attack("a roll-up, a time to live, and a wildcard in the journal")
async def roll_up_the_journal(hostile: Hostile) -> None:
    for headers in ({"Nats-Rollup": "all"}, {"Nats-Rollup": "sub"}, {"Nats-TTL": "1s"}, {"KV-Operation": "PURGE"}):
        await hostile.ask(f"{RUNS}.mine", b"", headers)
    await hostile.ask(f"{RUNS}.>", b"", {"Nats-Rollup": "sub"})


@attack("asking the API for what is not granted")
async def ask_the_api(hostile: Hostile) -> None:
    requests: tuple[tuple[str, dict[str, Any]], ...] = (
        ("STREAM.INFO.KV_team", {"subjects_filter": ">"}),
        ("STREAM.MSG.GET.KV_team", {"last_by_subj": f"{hostile.theirs}.k"}),
        ("DIRECT.GET.KV_team", {"multi_last": ["$KV.team.>"]}),
        ("DIRECT.GET.KV_team", {"last_by_subj": f"{hostile.theirs}.k"}),
        (f"DIRECT.GET.KV_team.{hostile.theirs}.k", {}),
        (f"DIRECT.GET.KV_team.{hostile.own}.k", {"last_by_subj": f"{hostile.theirs}.k"}),
        ("STREAM.MSG.DELETE.KV_team", {"seq": 1}),
        ("STREAM.PURGE.KV_team", {}),
        ("STREAM.SNAPSHOT.KV_team", {"deliver_subject": hostile.nats.new_inbox()}),
        ("CONSUMER.NAMES.KV_team", {}),
        (f"CONSUMER.INFO.KV_team.{KNOWN_CONSUMER}", {}),
        ("STREAM.CREATE.COPY", {"name": "COPY", "mirror": {"name": "KV_team"}}),
        ("STREAM.DELETE.KV_team", {}),
        ("STREAM.PURGE.runs", {}),
        ("STREAM.MSG.DELETE.runs", {"seq": 1}),
        ("STREAM.DELETE.runs", {}),
    )
    apis = {"$JS.API", hostile.worker.api_prefix}
    await asyncio.gather(
        *(hostile.ask(f"{api}.{operation}", body or b"") for api in apis for operation, body in requests),
        *map(hostile.ask, ("$SYS.REQ.SERVER.PING", "$SYS.REQ.ACCOUNT.PING.SUBSZ", "$SYS.REQ.USER.INFO")),
    )


NOTE: Final = b"---\ndescription: d\n---\n\nthe victim's secret"


class Victim:
    """
    Somebody else's notes, before and after.

    Args:
        operator: Who may do everything where they are.
        worker: Whose they are.
    """

    def __init__(self, operator: Client, worker: WorkerPermissions) -> None:
        self._operator = operator
        self._own = f"$KV.team.{worker.prefix}"
        self._run = f"{RUNS}.{worker.prefix}"
        self._abused = False

    async def settle(self) -> None:
        """Have a note, a run, a consumer whose name is known, and a service nearby."""
        await self._operator.request(f"{self._own}.k", NOTE)
        await self._operator.request(self._run, NOTE)
        config = {"name": KNOWN_CONSUMER, "durable_name": KNOWN_CONSUMER, "filter_subject": f"{self._own}.>"}
        request = {"stream_name": "KV_team", "config": config | {"ack_policy": "none"}}
        await self._api(f"CONSUMER.CREATE.KV_team.{KNOWN_CONSUMER}.{self._own}.>", request)

        async def serve(message: Msg) -> None:
            self._abused = True

        await self._operator.subscribe(SERVICE, cb=serve)
        self._streams = await self._configurations()
        self._notes = await self._read_notes()
        self._records = await self._count_records()
        self._consumer = await self._api(f"CONSUMER.INFO.KV_team.{KNOWN_CONSUMER}")
        assert self._notes == {f"{self._own}.k": NOTE}

    async def harm(self, hostile: Hostile, store: JetStreamStore, expected: frozenset[str] = frozenset()) -> set[str]:
        """What has been done to it; what is expected is waited for, since orders may take their time to arrive."""
        done = await self._seen(hostile)
        with suppress(TimeoutError):
            async with asyncio.timeout(_LONGEST_S):
                while not done >= expected - {"blocked", "vanished"}:
                    await asyncio.sleep(_TAKES_EFFECT_S)
                    done = await self._seen(hostile)
        if "gone" in done:
            return done
        if not await self._can_work(store):
            done.add("blocked")
        # As a program does that trusts in ids of messages; a store gives them none.
        answer = await self._operator.request(f"{self._own}.id", b"x", headers={"Nats-Msg-Id": KNOWN_ID})
        if json.loads(answer.data).get("duplicate"):
            done.add("vanished")
        return done

    async def _seen(self, hostile: Hostile) -> set[str]:
        """What can be seen of it by who only looks."""
        done = set()
        if any(b"the victim's secret" in message for message in hostile.seen):
            done.add("leaked")
        if self._abused:
            done.add("abused")
        streams = await self._configurations()
        if "KV_team" not in streams:
            return done | {"gone"}
        if streams != self._streams:
            done.add("reconfigured")
        if await self._read_notes() != self._notes:
            done.add("changed")
        if await self._count_records() != self._records:
            done.add("spoilt")
        consumer = await self._api(f"CONSUMER.INFO.KV_team.{KNOWN_CONSUMER}")
        if consumer.get("config") != self._consumer["config"]:
            done.add("misled")
        return done

    async def _can_work(self, store: JetStreamStore) -> bool:
        try:
            await store.create("new", "d", "c", scope=None)
            await store.list()
            await store.read("new", scope=None)
            await store.delete("new", scope=None)
        except JsMemoryError:
            return False
        return True

    async def _api(self, operation: str, request: dict[str, Any] | None = None) -> dict[str, Any]:
        body = b"" if request is None else json.dumps(request).encode()
        answer: dict[str, Any] = json.loads((await self._operator.request(f"$JS.API.{operation}", body)).data)
        return answer

    async def _configurations(self) -> dict[str, Any]:
        listed = (await self._api("STREAM.LIST"))["streams"] or []
        return {stream["config"]["name"]: stream["config"] for stream in listed}

    async def _count_records(self) -> dict[str, int]:
        info = await self._api("STREAM.INFO.runs", {"subjects_filter": self._run})
        return info.get("state", {}).get("subjects") or {}

    async def _read_notes(self) -> dict[str, bytes]:
        info = await self._api("STREAM.INFO.KV_team", {"subjects_filter": f"{self._own}.>"})
        notes = {}
        for subject in info.get("state", {}).get("subjects") or {}:
            got = await self._api("STREAM.MSG.GET.KV_team", {"last_by_subj": subject})
            notes[subject] = base64.b64decode(got.get("message", {}).get("data", ""))
        return notes


@asynccontextmanager
async def scene(
    grounds: Any, hostile: WorkerPermissions, victim: WorkerPermissions
) -> AsyncIterator[tuple[Hostile, Victim, JetStreamStore]]:
    """A server on which the two meet."""
    async with AsyncExitStack() as stack:
        server = await stack.enter_async_context(grounds.server(hostile, victim, **LIMITS))
        operator = await stack.enter_async_context(grounds.operator(server.url, victim))
        them = Victim(operator, victim)
        await them.settle()
        store = await stack.enter_async_context(grounds.store(server.url, victim, write_budget=3))
        connection = await stack.enter_async_context(grounds.connection(server.url, hostile))
        yield Hostile(connection, hostile, victim.prefix), them, store


FORGERIES: Final = (answer_to_a_foreign_key, pull_to_purge, answer_to_delete)

each_attack = pytest.mark.parametrize("attack", ATTACKS, ids=[attack.name for attack in ATTACKS])


@each_attack
async def test_in_one_bucket_a_hostile_worker_can(grounds: Any, attack: Attack) -> None:
    """Whoever relies on a prefix as on a wall must be able to read here what goes through it."""
    alice = WorkerPermissions(bucket="team", prefix="alice", journal="runs")
    bob = WorkerPermissions(bucket="team", prefix="bob", journal="runs")
    async with scene(grounds, alice, bob) as (hostile, victim, store):
        await attack.carry_out(hostile)
        assert await victim.harm(hostile, store, attack.in_one_bucket) == attack.in_one_bucket


@each_attack
async def test_with_accounts_of_their_own_a_hostile_worker_can_not(grounds: Any, attack: Attack) -> None:
    """A model that was talked into it, or a stolen password, costs one memory and not all of them."""
    alice = WorkerPermissions(bucket="team", prefix="alice", journal="runs", isolated=True)
    bob = WorkerPermissions(bucket="team", prefix="bob", journal="runs", isolated=True)
    async with scene(grounds, alice, bob) as (hostile, victim, store):
        await attack.carry_out(hostile)
        assert await victim.harm(hostile, store) == set()


@pytest.mark.parametrize("attack", [attack for attack in ATTACKS if attack.carry_out in FORGERIES])
async def test_in_one_bucket_a_hostile_reader_can_write_all_the_same(grounds: Any, attack: Attack) -> None:
    """Who is told that a reader cannot write must be told as well where that holds."""
    reader = WorkerPermissions(bucket="team", prefix="alice", journal="runs", read_only=True)
    bob = WorkerPermissions(bucket="team", prefix="bob", journal="runs")
    async with scene(grounds, reader, bob) as (hostile, victim, store):
        await attack.carry_out(hostile)
        assert await victim.harm(hostile, store, attack.in_one_bucket) == attack.in_one_bucket


@each_attack
async def test_an_isolated_reader_changes_nothing_of_the_memory_that_it_reads(grounds: Any, attack: Attack) -> None:
    """
    A reader may be the least trusted of all. What it reads, it has read; and it can use up
    the consumers of that one memory, which all listings of it need.
    """
    reader = WorkerPermissions(bucket="team", prefix="alice", journal="runs", read_only=True, isolated=True)
    writer = WorkerPermissions(bucket="team", prefix="alice", journal="runs", isolated=True)
    async with scene(grounds, reader, writer) as (hostile, victim, store):
        await attack.carry_out(hostile)
        assert await victim.harm(hostile, store, attack.in_one_memory) - {"leaked"} == attack.in_one_memory
