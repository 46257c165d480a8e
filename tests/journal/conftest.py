"""Journals on files and on a real server, each opened twice: two hosts that know nothing of each other."""

import secrets
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from nats.aio.client import Client

from jsmemory.journal.file import FileJournal
from jsmemory.journal.jetstream import JetStreamJournal
from jsmemory.journal.journal import Journal
from jsmemory.testing.servers import NatsServer, plain_client
from jsmemory.testing.streams import make_stream


@pytest.fixture
async def stream(nc: Client) -> str:
    """A fresh stream on the shared server."""
    name = f"runs-{secrets.token_hex(6)}"
    await make_stream(nc, name)
    return name


@pytest.fixture(params=["file", "jetstream"])
async def journals(
    request: pytest.FixtureRequest, tmp_path: Path, nats_server: NatsServer
) -> AsyncIterator[tuple[Journal, Journal]]:
    """One journal twice: in two objects, and on JetStream over two connections."""
    if request.param == "file":
        yield await FileJournal.open(tmp_path / "runs"), await FileJournal.open(tmp_path / "runs")
        return
    async with plain_client(nats_server.url) as one, plain_client(nats_server.url) as two:
        name = f"runs-{secrets.token_hex(6)}"
        await make_stream(one, name)
        yield await JetStreamJournal.bind(one, name), await JetStreamJournal.bind(two, name)


@pytest.fixture
def journal(journals: tuple[Journal, Journal]) -> Journal:
    return journals[0]


@pytest.fixture
def other(journals: tuple[Journal, Journal]) -> Journal:
    return journals[1]
