"""What another program made too long is shown in part, says so, and is replaced by nobody who saw a part."""

import json
from pathlib import Path

import pytest

from jsmemory import MAX_CONTENT_BYTES, FileStore, MemoryTools, Scope

HEADER = b'---\ndescription: "planted"\n---\n\n'


@pytest.fixture
async def store(tmp_path: Path) -> FileStore:
    return await FileStore.open(tmp_path)


def plant(folder: Path, content: str) -> None:
    (folder / "log.md").write_bytes(HEADER + content.encode())


@pytest.mark.parametrize(
    ("content", "shown"),
    [
        ("x" * (MAX_CONTENT_BYTES + 1), MAX_CONTENT_BYTES),
        ("line\n" * 2_000_000, MAX_CONTENT_BYTES),
        ("\N{SNOWMAN}" * 22_000, MAX_CONTENT_BYTES - 1),
        ("\N{PILE OF POO}" * 16_385, MAX_CONTENT_BYTES),
    ],
    ids=["a byte too long", "ten megabytes", "three bytes a character", "four"],
)
async def test_a_model_is_shown_the_beginning_and_told_how_much_there_is(
    tmp_path: Path, store: FileStore, content: str, shown: int
) -> None:
    """A log that somebody put there would fill a model's context many times over."""
    plant(tmp_path, content)
    answer = await MemoryTools(store, Scope()).call("memory_read", {"key": "log"})
    body = json.loads(answer.text)
    assert (body["read"], body["truncated"]) == (True, True)
    assert body["content_bytes"] == len(content.encode())
    assert len(body["content"].encode()) == shown
    assert content.startswith(body["content"])


@pytest.mark.parametrize("content", ["", "x" * MAX_CONTENT_BYTES, "\N{PILE OF POO}" * 16_384], ids=len)
async def test_a_memory_that_can_be_written_is_shown_whole(tmp_path: Path, store: FileStore, content: str) -> None:
    """Nothing says that it is, and nothing needs to."""
    plant(tmp_path, content)
    answer = await MemoryTools(store, Scope()).call("memory_read", {"key": "log"})
    assert answer.body == {"read": True, "key": "log", "description": "planted", "content": content}


async def test_what_was_shown_in_part_is_not_overwritten(tmp_path: Path, store: FileStore) -> None:
    """Nothing is overwritten unread; and a model that is told to read it first would run in a circle."""
    scope = Scope()
    tools = MemoryTools(store, scope)
    written = await tools.call("memory_write", {"key": "log", "description": "ours", "content": "short"})
    assert written.body["written"] is True
    plant(tmp_path, "x" * 100_000)
    await tools.call("memory_read", {"key": "log"})
    assert scope.snapshot()["realms"] == {}
    change = {"key": "log", "description": "d", "content": "c", "overwrite": True}
    refused = (await tools.call("memory_write", change)).body
    assert (refused["written"], refused["code"]) == (False, "stale_entry")
    assert "memory_read with this key" not in refused["reason"]
    assert "memory_delete" in refused["reason"]
    assert (tmp_path / "log.md").stat().st_size > 100_000
    assert (await tools.call("memory_delete", {"key": "log"})).body["deleted"] is True
    assert (await tools.call("memory_write", change | {"overwrite": False})).body["written"] is True


async def test_authority_over_other_keys_stays(tmp_path: Path, store: FileStore) -> None:
    scope = Scope()
    await store.create("other", "d", "c", scope=scope)
    plant(tmp_path, "x" * 100_000)
    await MemoryTools(store, scope).call("memory_read", {"key": "log"})
    await store.update("other", "d", "new", scope=scope)
