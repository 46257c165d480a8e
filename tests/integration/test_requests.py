"""Requests and their answers over one inbox, against a real server."""

import asyncio
from collections.abc import AsyncIterator

import nats.errors
import pytest
from nats.aio.client import Client
from nats.aio.msg import Msg

from jsmemory.connecting import Connection, connect
from jsmemory.connecting.requests import Requests
from jsmemory.testing.servers import NatsServer, make_bucket, plain_client

SOON_S = 0.05
LONG_S = 30


@pytest.fixture
async def connection(nats_server: NatsServer) -> AsyncIterator[Connection]:
    async with connect(servers=nats_server.url) as connection:
        yield connection


@pytest.fixture
async def other(nats_server: NatsServer) -> AsyncIterator[Client]:
    """Whoever answers."""
    async with plain_client(nats_server.url) as client:
        yield client


async def test_every_request_has_its_own_answer(connection: Connection, other: Client) -> None:
    """A run would be shown the note of another one."""

    async def echo(message: Msg) -> None:
        await asyncio.sleep(int(message.data) % 3 * SOON_S / 10)
        await message.respond(message.data)

    for _ in range(3):
        await other.subscribe("requests.echo", queue="some", cb=echo)
    await other.flush()
    asked = [b"%d" % number for number in range(200)]
    answers = await asyncio.gather(*(connection.request("requests.echo", data, LONG_S) for data in asked))
    assert [answer.data for answer in answers] == asked


async def test_where_nobody_listens_that_is_said_at_once(connection: Connection) -> None:
    """A store would wait for a bucket that is gone as if it were slow."""
    with pytest.raises(nats.errors.NoRespondersError):
        await connection.request("requests.nobody", b"", LONG_S)


async def test_a_stored_header_is_not_taken_for_the_servers_word(
    connection: Connection, nats_server: NatsServer
) -> None:
    """Whoever may write one key could have it look as if the whole bucket were gone."""
    await make_bucket(nats_server.url, "requests-planted")
    await connection.request("$KV.requests-planted.key", b"", LONG_S, headers={"Status": "503"})
    answer = await connection.request("$JS.API.DIRECT.GET.KV_requests-planted.$KV.requests-planted.key", b"", LONG_S)
    assert answer.headers is not None
    assert answer.headers["Nats-Sequence"] == "1"


async def test_an_answer_that_is_late_or_comes_twice_answers_nothing_else(
    nats_server: NatsServer, other: Client
) -> None:
    """The answer to a write that was given up would be taken for that of the next one."""
    asked: list[Msg] = []
    errors: list[Exception] = []

    async def keep(message: Msg) -> None:
        asked.append(message)

    async def note(error: Exception) -> None:
        errors.append(error)

    await other.subscribe("requests.kept", cb=keep)
    await other.flush()
    async with plain_client(nats_server.url, error_cb=note) as client:
        requests = Requests(client)
        await requests.listen()
        with pytest.raises(nats.errors.TimeoutError):
            await requests.ask("requests.kept", b"first", SOON_S, None)
        second = asyncio.create_task(requests.ask("requests.kept", b"second", LONG_S, None))
        while len(asked) < 2:
            await asyncio.sleep(SOON_S / 10)
        for request, answer in ((0, b"late"), (0, b"late again"), (1, b"in time"), (1, b"twice")):
            await asked[request].respond(answer)
        await other.flush()
        assert (await second).data == b"in time"
        await client.flush()
    assert errors == []


async def test_a_request_that_is_cancelled_with_its_answer_is_cancelled(nats_server: NatsServer, other: Client) -> None:
    """A worker that is told to stop at that moment would go on."""

    class CancelledWithTheAnswer(Requests):
        async def _take(self, message: Msg) -> None:
            await super()._take(message)
            asking.cancel()

    async def answer(message: Msg) -> None:
        await message.respond(b"")

    await other.subscribe("requests.answered", cb=answer)
    await other.flush()
    async with plain_client(nats_server.url) as client:
        requests = CancelledWithTheAnswer(client)
        await requests.listen()
        asking = asyncio.create_task(requests.ask("requests.answered", b"", LONG_S, None))
        with pytest.raises(asyncio.CancelledError):
            await asking


async def test_nothing_is_kept_of_a_request_that_is_over(connection: Connection, other: Client) -> None:
    """A worker that runs for weeks would run out of memory."""

    async def be_silent(message: Msg) -> None:
        return

    await other.subscribe("requests.silent", cb=be_silent)
    await other.flush()
    await connection.request("$JS.API.INFO", b"", LONG_S)
    with pytest.raises(nats.errors.TimeoutError):
        await connection.request("requests.silent", b"", SOON_S)
    with pytest.raises(nats.errors.MaxPayloadError):
        await connection.request("requests.silent", b"x" * (connection.max_payload + 1), LONG_S)
    cancelled = asyncio.create_task(connection.request("requests.silent", b"", LONG_S))
    await asyncio.sleep(SOON_S)
    cancelled.cancel()
    with pytest.raises(asyncio.CancelledError):
        await cancelled
    assert connection.client.requests._waiting == {}
