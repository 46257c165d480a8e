"""What the page for operators says of backups, pasted line after line; and where its program comes from."""

import re
from pathlib import Path
from typing import Any

from jsmemory import JetStreamStore
from jsmemory.testing.servers import NatsServer, make_bucket, plain_client

ROOT = Path(__file__).parents[2]
TITLES = re.findall(r"^##? (.+)$", (ROOT / "ops" / "README.md").read_text(), flags=re.MULTILINE)


async def test_a_bucket_comes_back_by_the_lines_of_the_page_in_their_order(server: NatsServer, reader: Any) -> None:
    """Whoever pastes them has lost a bucket, and no nerves for a line that fails."""
    page = reader.opens("../README", leaves=[title for title in TITLES if title != "Durability"])
    async with plain_client(server.url, user="operator", password="secret") as nc:
        await make_bucket(nc, "team")
        store = await JetStreamStore.bind(nc, "team", prefix="alice")
        await store.create("kept", "d", "text", scope=None)
        # The first block is for the servers.
        said = page.run("Durability", lines=slice(1, None))
        assert "Restored stream" in said
        assert (await store.read("kept", scope=None)).content == "text"


def test_the_pages_say_where_the_program_comes_from() -> None:
    """Every step needs it, and no Python package brings it."""
    link = "https://github.com/nats-io/natscli/releases"
    operators = (ROOT / "ops" / "README.md").read_text()
    assert link in operators
    assert re.search(r"`go install github\.com/nats-io/natscli/nats@v0\.[5-9]\.\d+`", operators)
    readme = (ROOT / "README.md").read_text()
    assert readme.index(f"[`nats`]({link})") < readme.index("nats kv add")
