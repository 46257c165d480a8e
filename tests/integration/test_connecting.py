"""A connection that outlives servers, clients and credentials, against real servers."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import anyio
import nats.errors
import pytest

from jsmemory.backends.jetstream.store import JetStreamStore
from jsmemory.connecting import Connection, ConnectionEvent, connect
from jsmemory.errors import AccessDeniedError, BackendUnavailableError, InvalidOptionsError
from jsmemory.testing.servers import NatsServer, ServerSettings, embedded_server, make_bucket, plain_client
from jsmemory.testing.servers.ports import draw_port
from jsmemory.testing.torture.links import Link, Weather

USERS = """
authorization { users: [
  { user: alice, password: %(password)s, permissions: {
      publish: ["$KV.team.alice.>", "$JS.API.INFO"], subscribe: ["_INBOX.>", "_INBOX_alice.>"] } }
  { user: deaf, password: pw, permissions: { subscribe: ["news"] } }
] }
"""

LONG_BEFORE_S = 15
"""For what is promised at once, where the alternative takes a minute or has no end."""

GENEROUS_S = 60.0
"""For what is only waited for."""


@pytest.fixture(autouse=True)
def no_settings_of_the_developer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What somebody selected on their own machine must not decide a test."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    for variable in ("NATS_CONTEXT", "NATS_URL", "NATS_USER", "NATS_PASSWORD", "NATS_TOKEN", "NATS_CREDS", "NATS_NKEY"):
        monkeypatch.delenv(variable, raising=False)


@pytest.fixture
async def server_with_users() -> AsyncIterator[NatsServer]:
    async with embedded_server(settings=ServerSettings(extra=USERS % {"password": "pw"})) as server:
        yield server


async def answers(connection: Connection, within: float = GENEROUS_S) -> None:
    """Wait until requests are answered again, as a backend would with its own back-off."""
    deadline = time.monotonic() + within
    while True:
        try:
            await connection.request("$JS.API.INFO", b"", timeout=1)
            return
        except nats.errors.Error:
            assert time.monotonic() < deadline, "the connection did not come back"
            await asyncio.sleep(0.02)


async def until(condition: Callable[[], bool], within: float = GENEROUS_S) -> None:
    """Wait until something is so."""
    deadline = time.monotonic() + within
    while not condition():
        assert time.monotonic() < deadline, "it did not happen"
        await asyncio.sleep(0.01)


async def messages_in(connection: Connection, stream: str) -> int:
    reply = await connection.request(f"$JS.API.STREAM.INFO.{stream}", b"", timeout=GENEROUS_S)
    return int(json.loads(reply.data)["state"]["messages"])


def settle_in(server: NatsServer, **users: str) -> None:
    server.kill()
    server.settings = ServerSettings(extra=USERS % users)
    server.start()


# -- Coming back ----------------------------------------------------------------------------


async def test_the_same_object_works_after_the_server_was_restarted(fresh_server: NatsServer) -> None:
    """A host that opened its store once would otherwise have to be restarted with every server."""
    events: list[ConnectionEvent] = []
    async with connect(servers=fresh_server.url, on_event=events.append) as connection:
        await answers(connection)
        fresh_server.kill()
        fresh_server.start()
        await answers(connection)
    assert [event.kind for event in events] == ["connected", "disconnected", "reconnected", "closed"]


@pytest.mark.parametrize("poison", ["long subject", "large headers"])
async def test_a_client_that_was_closed_for_good_is_replaced(fresh_server: NatsServer, poison: str) -> None:
    """One oversized message would end the memory of every run that shares the connection."""
    events: list[ConnectionEvent] = []
    async with connect(servers=fresh_server.url, on_event=events.append) as connection:
        first = connection.client
        subject = "a" * 5000 if poison == "long subject" else "subject"
        headers = {"Header": "h" * 2_000_000} if poison == "large headers" else None
        # Nothing can answer on a client that is closed: a request need not wait for it.
        async with asyncio.timeout(LONG_BEFORE_S):
            with pytest.raises(nats.errors.TimeoutError):
                await connection.request(subject, b"", timeout=60, headers=headers)
        await answers(connection)
        assert connection.client is not first
        assert first.is_closed
    assert [event.kind for event in events][-2:] == ["replaced", "closed"]


async def test_a_password_that_changed_is_read_again(
    server_with_users: NatsServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Operators rotate passwords by writing the context anew; workers run for weeks."""

    def write_context(password: str) -> None:
        folder = tmp_path / "config" / "nats" / "context"
        folder.mkdir(parents=True, exist_ok=True)
        fields = {"url": server_with_users.url, "user": "alice", "password": password}
        (folder / "team.json").write_text(json.dumps(fields))

    monkeypatch.setenv("NATS_CONTEXT", "team")
    write_context("pw")
    events: list[ConnectionEvent] = []
    async with connect(on_event=events.append) as connection:
        settle_in(server_with_users, password="changed")
        await until(lambda: any(event.kind == "refused" for event in events))
        write_context("changed")
        await answers(connection)
    assert [event.kind for event in events if event.kind != "disconnected"] == [
        "connected",
        "refused",
        "replaced",
        "closed",
    ]


async def test_credentials_that_stay_refused_are_named_and_no_outage(
    server_with_users: NatsServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An operator who is told of an outage looks at the servers and never at the password."""
    monkeypatch.setattr("jsmemory.connecting.connection.REFUSAL_GRACE_S", 0.2)
    async with connect(servers=server_with_users.url, user="alice", password="pw") as connection:
        settle_in(server_with_users, password="changed")
        with pytest.raises(AccessDeniedError, match="connect with these credentials"):
            await answers(connection)
        settle_in(server_with_users, password="pw")
        await until(lambda: connection.is_connected)
        await connection.request("$JS.API.INFO", b"", timeout=GENEROUS_S)


async def test_a_hook_that_raises_stops_nothing(fresh_server: NatsServer, caplog: pytest.LogCaptureFixture) -> None:
    """A typing error in a host's metrics must not end its connection."""

    def hook(event: ConnectionEvent) -> None:
        raise ValueError(event.kind)

    async with connect(servers=fresh_server.url, on_event=hook) as connection:
        fresh_server.kill()
        fresh_server.start()
        await answers(connection)
    assert "hook" in caplog.text


async def test_attempts_that_fail_are_closed_behind(fresh_server: NatsServer) -> None:
    """A proxy whose server is away for a night would cost a worker a descriptor with every attempt."""
    attempts, closed = 0, 0

    async def hang_up(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal attempts, closed
        attempts += 1
        writer.write_eof()
        await reader.read()
        closed += 1
        writer.close()

    async with connect(servers=fresh_server.url) as connection:
        fresh_server.kill()
        async with await asyncio.start_server(hang_up, "127.0.0.1", fresh_server.port):
            await until(lambda: attempts >= 3)
            await until(lambda: closed >= 2, within=10)
        fresh_server.start()
        await answers(connection)


async def test_a_store_goes_on_through_a_restart_and_a_client_that_closed_for_good(fresh_server: NatsServer) -> None:
    """This is what the connection is for: the runs of a host notice nothing."""
    await make_bucket(fresh_server.url, "team")
    async with connect(servers=fresh_server.url) as connection:
        store = await JetStreamStore.bind(connection, "team", "alice")
        stored: list[str] = []

        async def write(worker: int) -> None:
            for number in range(8):
                await store.create(f"note-{worker}-{number}", "a note", "text", scope=None)
                stored.append(f"note-{worker}-{number}")
                await asyncio.sleep(0.02)

        async with asyncio.TaskGroup() as group:
            for worker in range(4):
                group.create_task(write(worker))
            await until(lambda: len(stored) >= 6)
            fresh_server.kill()
            fresh_server.start()
            await until(lambda: len(stored) >= 16)
            await connection.publish("a" * 5000, b"")
        assert len(stored) == 32
        assert [item.key for item in await store.list()] == sorted(stored)


# -- Writing nothing late -------------------------------------------------------------------


async def test_nothing_is_kept_for_later_while_there_is_no_connection(fresh_server: NatsServer) -> None:
    """A note that was reported lost would overwrite what was written since."""
    await make_bucket(fresh_server.url, "team")
    async with connect(servers=fresh_server.url) as connection:
        fresh_server.kill()
        await until(lambda: not connection.is_connected)
        with pytest.raises(nats.errors.OutboundBufferLimitError):
            await connection.request("$KV.team.note", b"late", timeout=5)
        with pytest.raises(nats.errors.OutboundBufferLimitError):
            await connection.publish("$KV.team.note", b"late")
        fresh_server.start()
        await answers(connection)
        assert await messages_in(connection, "KV_team") == 0


async def test_nothing_that_waited_behind_a_server_that_hangs_is_written_later(fresh_server: NatsServer) -> None:
    """A hung server takes what fits its socket; the rest stayed in nats-py and landed after the restart."""
    await make_bucket(fresh_server.url, "team")
    async with connect(servers=fresh_server.url) as connection:
        await answers(connection)

        async def put(key: str) -> None:
            with pytest.raises(nats.errors.TimeoutError):
                await connection.request(f"$KV.team.{key}", b"x" * 900_000, timeout=0.3)

        fresh_server.pause()
        for round_ in ("fills-the-socket", "waits-in-the-client"):
            await asyncio.gather(*(put(f"{round_}{number}") for number in range(10)))
        assert connection.client.pending_data_size > 0
        fresh_server.kill()
        fresh_server.start()
        await answers(connection)
        assert await messages_in(connection, "KV_team") == 0


# -- Connecting the first time --------------------------------------------------------------


async def test_the_first_connection_to_nobody_is_bounded() -> None:
    """A worker with a wrong address would hang at start-up for ever, and say nothing."""
    url = f"nats://127.0.0.1:{draw_port()}"
    with pytest.raises(BackendUnavailableError, match="No NATS server answered in time") as refusal:
        async with asyncio.timeout(LONG_BEFORE_S), connect(servers=url, first_connect_timeout=0.5):
            pytest.fail("nobody is there")
    assert str(refusal.value) == (
        "No NATS server answered in time at what was named by servers. "
        "Check that one runs there, then try again. For trying out, 'jsmemory server' starts one."
    )
    assert len(asyncio.all_tasks()) == 1


@pytest.mark.parametrize("named_by", ["NATS_URL", "context.url"])
async def test_who_named_the_server_that_does_not_answer_is_told(
    named_by: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An operator would mend the variable, and the context is what counts."""
    url = f"nats://127.0.0.1:{draw_port()}"
    context = None
    if named_by == "NATS_URL":
        monkeypatch.setenv("NATS_URL", url)
    else:
        context = "named"
        await anyio.Path(tmp_path / "config" / "nats" / "context").mkdir(parents=True)
        await anyio.Path(tmp_path / "config" / "nats" / "context" / "named.json").write_text(json.dumps({"url": url}))
    with pytest.raises(BackendUnavailableError, match=f"named by {named_by}") as refusal:
        async with connect(context, first_connect_timeout=0.3):
            pytest.fail("nobody is there")
    assert url not in str(refusal.value)


@pytest.mark.parametrize("greeting", [b"", b"HTTP/1.1 400 Bad Request\r\n\r\n", b"INFO {\r\n", b"x" * 100_000])
async def test_what_is_no_nats_server_is_bounded_too(greeting: bytes) -> None:
    """A proxy without a server behind it takes connections and ends them."""

    async def greet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(greeting)
        writer.close()

    listener = await asyncio.start_server(greet, "127.0.0.1", 0)
    async with listener:
        url = f"nats://127.0.0.1:{listener.sockets[0].getsockname()[1]}"
        with pytest.raises(BackendUnavailableError, match="No NATS server answered in time"):
            async with connect(servers=url, first_connect_timeout=0.7):
                pytest.fail("no server is there")


async def test_a_server_that_hangs_up_on_every_client_is_not_taken_for_connected() -> None:
    """To nats-py a connection that ends instead of the last handshake line is an open one."""

    async def hang_up(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b'INFO {"server_id":"x","version":"2.12.0","max_payload":1048576,"headers":true}\r\n')
        await reader.readline()
        await reader.readline()
        writer.close()

    listener = await asyncio.start_server(hang_up, "127.0.0.1", 0)
    async with listener:
        url = f"nats://127.0.0.1:{listener.sockets[0].getsockname()[1]}"
        with pytest.raises(BackendUnavailableError):
            async with connect(servers=url, first_connect_timeout=0.7):
                pytest.fail("no server is there")


async def test_a_wrong_password_is_said_at_once(server_with_users: NatsServer) -> None:
    """nats-py would try it again for ever, two seconds apart."""
    url = server_with_users.url
    with pytest.raises(AccessDeniedError, match="connect with these credentials") as refusal:
        async with (
            asyncio.timeout(LONG_BEFORE_S),
            connect(servers=url, user="alice", password="wrong-word", first_connect_timeout=60),
        ):
            pytest.fail("the password is wrong")
    assert "wrong-word" not in str(refusal.value)


async def test_a_missing_user_is_said_at_once(server_with_users: NatsServer) -> None:
    """Most first attempts against a secured cluster have no credentials at all."""
    with pytest.raises(AccessDeniedError, match="connect with these credentials"):
        async with connect(servers=server_with_users.url):
            pytest.fail("nobody may connect without a password")


async def test_who_may_not_hear_answers_is_told_when_connecting(server_with_users: NatsServer) -> None:
    """Every request of theirs would end in a timeout, and nothing would say why."""
    with pytest.raises(AccessDeniedError, match=r"subscribe to _INBOX\.>"):
        async with connect(servers=server_with_users.url, user="deaf", password="pw"):
            pytest.fail("no answer can arrive")
    with pytest.raises(AccessDeniedError, match=r"subscribe to _INBOX_bob\.>"):
        async with connect(servers=server_with_users.url, user="alice", password="pw", inbox_prefix="_INBOX_bob"):
            pytest.fail("no answer can arrive")


@pytest.mark.parametrize("seconds", [0, -1, float("inf"), float("nan")])
async def test_a_first_connection_without_an_end_is_refused(seconds: float) -> None:
    """Zero means for ever in some libraries and never in others."""
    with pytest.raises(InvalidOptionsError, match="first_connect_timeout"):
        async with connect(first_connect_timeout=seconds):
            pytest.fail("the option is out of range")


async def test_giving_up_while_connecting_leaves_nothing_behind() -> None:
    """A host that stops during start-up must not be held by a client that tries on."""
    url = f"nats://127.0.0.1:{draw_port()}"
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.2), connect(servers=url):
            pytest.fail("nobody is there")
    assert len(asyncio.all_tasks()) == 1


# -- Permissions ----------------------------------------------------------------------------


async def test_a_denied_request_ends_at_once_and_tells_which_permission_is_missing(
    server_with_users: NatsServer,
) -> None:
    """A worker without a permission would wait out every time-out and blame the network."""
    events: list[ConnectionEvent] = []
    async with connect(
        servers=server_with_users.url, user="alice", password="pw", on_event=events.append
    ) as connection:
        started = time.monotonic()
        async with asyncio.timeout(LONG_BEFORE_S):
            with pytest.raises(nats.errors.TimeoutError):
                await connection.request("$KV.team.Bob.Note", b"", timeout=60)
        assert connection.denied(started) == ["publish to $KV.team.Bob.Note"]
        assert connection.denied(started, "$KV.team.Bob.Note") == ["publish to $KV.team.Bob.Note"]
        assert connection.denied(started, "$KV.team.alice.note") == []
        assert connection.denied(time.monotonic()) == []
        assert ConnectionEvent("denied", "publish to $KV.team.Bob.Note") in events


async def test_a_denied_request_ends_no_other(server_with_users: NatsServer) -> None:
    """Runs share one connection: one that is denied something must not cut the others short."""
    async with connect(servers=server_with_users.url, user="alice", password="pw") as connection:
        denied = asyncio.create_task(connection.request("$KV.team.bob.note", b"", timeout=60))
        allowed = await asyncio.gather(*(connection.request("$JS.API.INFO", b"", timeout=60) for _ in range(20)))
        with pytest.raises(nats.errors.TimeoutError):
            await denied
    assert all(json.loads(reply.data)["type"].endswith("account_info_response") for reply in allowed)


async def test_a_denied_subscription_is_told(server_with_users: NatsServer) -> None:
    """Watching a prefix without the right to would be silence for ever."""
    async with connect(servers=server_with_users.url, user="alice", password="pw") as connection:
        started = time.monotonic()
        await connection.subscribe("Somewhere.Else")
        await until(lambda: bool(connection.denied(started)))
        assert connection.denied(started) == ["subscribe to Somewhere.Else"]


# -- Leaving --------------------------------------------------------------------------------


async def test_leaving_ends_everything(fresh_server: NatsServer) -> None:
    """A task that outlives its context keeps programs from ending, and fails their tests."""
    async with connect(servers=fresh_server.url) as connection:
        await answers(connection)
        await connection.subscribe("news")
        waiting = asyncio.create_task(connection.request("nobody.answers", b"", timeout=60))
        assert not connection.is_closed
    with pytest.raises(nats.errors.Error):
        await waiting
    assert connection.is_closed
    assert not connection.is_connected
    with pytest.raises(nats.errors.ConnectionClosedError):
        await connection.request("$JS.API.INFO", b"", timeout=1)
    with pytest.raises(nats.errors.ConnectionClosedError):
        await connection.subscribe("news")
    assert len(asyncio.all_tasks()) == 1


@pytest.mark.parametrize("state", ["down", "hanging"])
async def test_leaving_does_not_wait_for_a_server_that_is_gone(fresh_server: NatsServer, state: str) -> None:
    """A pod that is told to stop has seconds, and the outage may be why it is told."""
    async with connect(servers=fresh_server.url) as connection:
        await answers(connection)
        if state == "down":
            fresh_server.kill()
        else:
            fresh_server.pause()
        for _ in range(12 if state == "hanging" else 0):
            await connection.publish("large", b"x" * 900_000)
        started = time.monotonic()
    assert time.monotonic() - started < LONG_BEFORE_S
    assert len(asyncio.all_tasks()) == 1


async def test_leaving_right_after_the_client_closed_itself_ends_everything(fresh_server: NatsServer) -> None:
    """A program that dies of a bad request is in the middle of closing already."""
    async with connect(servers=fresh_server.url) as connection:
        await answers(connection)
        client = connection.client
        await connection.publish("a" * 5000, b"")
        async with asyncio.timeout(GENEROUS_S):
            while not client.is_closed:
                await asyncio.sleep(0)
    assert len(asyncio.all_tasks()) == 1


async def test_what_was_published_before_leaving_arrives(fresh_server: NatsServer) -> None:
    """A last message, sent and not waited for, must not be lost by a tidy end."""
    async with plain_client(fresh_server.url) as listener:
        subscription = await listener.subscribe("last.words")
        await listener.flush()
        async with connect(servers=fresh_server.url) as connection:
            await connection.publish("last.words", b"bye")
        assert (await subscription.next_msg(timeout=GENEROUS_S)).data == b"bye"


async def test_an_error_inside_the_context_comes_out_as_it_was(fresh_server: NatsServer) -> None:
    """Tidying up must not hide why a host failed."""
    with pytest.raises(LookupError, match="the host's own"):
        async with connect(servers=fresh_server.url):
            raise LookupError("the host's own")
    assert len(asyncio.all_tasks()) == 1


async def test_leaving_by_a_cancelled_scope_ends_everything(fresh_server: NatsServer) -> None:
    """Hosts on anyio cancel again at every await, also while a context tidies up."""
    with anyio.CancelScope() as scope:
        async with connect(servers=fresh_server.url) as connection:
            await answers(connection)
            scope.cancel()
            await anyio.sleep_forever()
    assert scope.cancelled_caught
    assert connection.client.is_closed
    assert len(asyncio.all_tasks()) == 1


async def test_leaving_while_the_client_is_being_replaced_ends_everything(server_with_users: NatsServer) -> None:
    """The moment of an outage is when hosts are stopped."""
    events: list[ConnectionEvent] = []
    async with connect(
        servers=server_with_users.url, user="alice", password="pw", on_event=events.append
    ) as connection:
        settle_in(server_with_users, password="changed")
        await until(lambda: any(event.kind == "refused" for event in events))
        with pytest.raises(nats.errors.Error):
            await connection.request("$JS.API.INFO", b"", timeout=1)
    assert len(asyncio.all_tasks()) == 1


@pytest.mark.parametrize("turns", range(2, 18, 4))
async def test_a_connection_that_breaks_while_it_is_made_is_made_again(nats_server: NatsServer, turns: int) -> None:
    """A worker that starts while a network is bad has time; it must not give up at the first break."""
    link = Link(lambda: nats_server.port)

    async def break_it() -> None:
        while not link.who:
            await asyncio.sleep(0)
        for _ in range(turns):
            await asyncio.sleep(0)
        link.turn(Weather(holds={"down"}))
        await asyncio.sleep(2.5)
        link.cut()
        link.clear()

    async with link.open():
        breaking = asyncio.create_task(break_it())
        async with connect(servers=f"nats://127.0.0.1:{link.port}", first_connect_timeout=30) as connection:
            await breaking
            await answers(connection)
