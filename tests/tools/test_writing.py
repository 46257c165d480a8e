"""memory_read, memory_write and memory_delete on every backend: who may overwrite what."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from jsmemory import Entry, FileStore, InProcessStore, MemoryTools, Scope, Store
from jsmemory.layers.wrapping import WrappingStore
from jsmemory.limits import MAX_ENTRIES
from jsmemory.tools import Answer


async def write(tools: MemoryTools, key: str = "build", *, content: str = "new", **more: Any) -> Answer:
    return await tools.call("memory_write", {"key": key, "description": "ours", "content": content, **more})


async def test_a_new_memory_is_written_and_read_back(tools: MemoryTools) -> None:
    """The whole point."""
    assert (await write(tools)).body == {"written": True, "key": "build"}
    read = await tools.call("memory_read", {"key": "build"})
    assert read.body == {"read": True, "key": "build", "description": "ours", "content": "new"}
    assert (await tools.call("memory_list", {})).body == {
        "listed": True,
        "memories": [{"key": "build", "description": "ours"}],
    }


async def test_what_the_run_has_written_it_may_replace(tools: MemoryTools) -> None:
    """A model that has to read its own words before it corrects them spends a call for nothing."""
    await write(tools)
    assert (await write(tools, content="newer", overwrite=True)).body == {"written": True, "key": "build"}


async def test_a_miss_is_an_answer_that_says_where_to_look(tools: MemoryTools) -> None:
    """A run that fails over an absent note fails on its first day."""
    answer = await tools.call("memory_read", {"key": "absent"})
    assert answer.body["read"] is False
    assert answer.body["code"] == "entry_not_found"
    assert "memory_list" in answer.body["reason"]
    assert "content" not in answer.body
    assert not answer.is_error


async def test_an_existing_key_is_named_by_its_description_and_stays_as_it_was(
    tools: MemoryTools, store: Store
) -> None:
    """A model that is told what is there decides at once; one that is not overwrites to be sure."""
    await store.create("build", "theirs: how to build", "secret body", scope=None)
    answer = await write(tools)
    assert answer.body["written"] is False
    assert answer.body["code"] == "entry_exists"
    assert answer.body["existing_description"] == "theirs: how to build"
    assert "overwrite true" in answer.body["reason"]
    assert "secret body" not in answer.text
    assert not answer.is_error
    assert tuple(await store.read("build", scope=None)) == ("theirs: how to build", "secret body")


async def test_no_description_of_somebody_else_fills_the_context_of_a_model(tmp_path: Path) -> None:
    """A thousand entries whose header is all there is to them would be sixty megabytes of an answer."""
    tools = MemoryTools(await FileStore.open(tmp_path), Scope())
    (tmp_path / "build.md").write_text(f"---\ndescription: {'x' * 60_000}\n---\n\nbody")
    (memory,) = (await tools.call("memory_list", {})).body["memories"]
    refused = await write(tools)
    assert memory["description"] == refused.body["existing_description"] == "x" * 500
    assert (await tools.call("memory_read", {"key": "build"})).body["description"] == "x" * 60_000


async def test_the_refusal_that_names_a_memory_does_not_authorise_to_replace_it(
    tools: MemoryTools, store: Store
) -> None:
    """Fault 1: the read behind the wording let the next call destroy a memory that nobody had seen."""
    await store.create("build", "theirs", "precious", scope=None)
    await write(tools)
    answer = await write(tools, overwrite=True)
    assert answer.body["written"] is False
    assert answer.body["code"] == "stale_entry"
    assert (await store.read("build", scope=None)).content == "precious"


async def test_neither_a_listing_nor_an_index_nor_a_stale_answer_authorises_to_replace(
    tools: MemoryTools, store: Store
) -> None:
    """To have seen a key is not to have seen what would be lost."""
    await store.create("build", "theirs", "precious", scope=None)
    await tools.call("memory_list", {})
    await tools.index()
    for _ in range(3):
        assert (await write(tools, overwrite=True)).code == "stale_entry"
    assert (await store.read("build", scope=None)).content == "precious"


async def test_a_stale_overwrite_says_to_read_and_retry_and_that_succeeds(tools: MemoryTools, store: Store) -> None:
    """An instruction that leads nowhere sends a model round in circles."""
    await store.create("build", "theirs", "precious", scope=None)
    answer = await write(tools, overwrite=True)
    assert "memory_read" in answer.body["reason"]
    assert "overwrite true" in answer.body["reason"]
    assert not answer.is_error
    await tools.call("memory_read", {"key": "build"})
    assert (await write(tools, overwrite=True)).code == "ok"


async def test_a_memory_that_another_run_changed_is_not_overwritten(tools: MemoryTools, store: Store) -> None:
    """Fault 8: of two writers of one memory, the last silently won."""
    await store.create("build", "theirs", "old", scope=None)
    await tools.call("memory_read", {"key": "build"})
    other = Scope()
    await store.read("build", scope=other)
    await store.update("build", "theirs", "newer", scope=other)
    answer = await write(tools, overwrite=True)
    assert answer.body["written"] is False
    assert answer.body["code"] == "stale_entry"
    assert "changed" in answer.body["reason"]
    assert (await store.read("build", scope=None)).content == "newer"


async def test_overwriting_what_is_not_there_says_so_instead_of_asking_for_a_read(
    tools: MemoryTools, store: Store
) -> None:
    """Told to read an absent key first, a model reads, misses, and tries the same again."""
    answer = await write(tools, overwrite=True)
    assert answer.body["written"] is False
    assert answer.body["code"] == "entry_not_found"
    assert "overwrite false" in answer.body["reason"]
    assert not answer.is_error
    assert await store.list() == ()
    assert (await write(tools, overwrite=False)).code == "ok"


async def test_a_memory_deleted_by_another_run_does_not_come_back_by_an_overwrite(
    tools: MemoryTools, store: Store
) -> None:
    """Fault 38: what somebody deleted on purpose was there again, and nobody had decided so."""
    await write(tools)
    await store.delete("build", scope=None)
    assert (await write(tools, overwrite=True)).code == "entry_not_found"
    assert await store.list() == ()
    assert "build" not in await tools.index()


async def test_a_store_without_the_guard_overwrites_and_creates_as_it_was_opened() -> None:
    """An operator who turned the guard off meant it."""
    store = InProcessStore(require_read_before_update=False)
    tools = MemoryTools(store, Scope())
    assert (await write(tools, overwrite=True)).code == "ok"
    assert (await store.read("build", scope=None)).content == "new"


async def test_a_delete_tells_whether_it_was_this_call_that_removed_the_memory(tools: MemoryTools) -> None:
    """A run that claims to have removed what was gone already reports work that another did."""
    await write(tools)
    assert (await tools.call("memory_delete", {"key": "build"})).body == {"deleted": True, "key": "build"}
    again = await tools.call("memory_delete", {"key": "build"})
    assert again.body["deleted"] is False
    assert again.body["code"] == "entry_not_found"
    assert not again.is_error


async def test_calls_of_one_turn_may_overlap(tools: MemoryTools, store: Store) -> None:
    """Models make several calls at once."""
    answers = await asyncio.gather(*[write(tools, f"k{number}") for number in range(20)])
    assert {answer.code for answer in answers} == {"ok"}
    assert len(await store.list()) == 20


async def test_of_many_runs_that_write_one_key_at_once_one_is_told_written(store: Store) -> None:
    """Two runs that both hear "written" both believe that theirs is stored."""
    runs = [MemoryTools(store, Scope()) for _ in range(10)]
    answers = await asyncio.gather(*[write(run, content=str(number)) for number, run in enumerate(runs)])
    assert sorted(answer.code for answer in answers) == ["entry_exists"] * 9 + ["ok"]
    winner = next(number for number, answer in enumerate(answers) if answer.code == "ok")
    assert (await store.read("build", scope=None)).content == str(winner)


async def test_two_runs_with_one_store_do_not_share_authority(store: Store) -> None:
    """What one model has read, another one has not seen."""
    one, other = MemoryTools(store, Scope()), MemoryTools(store, Scope())
    await write(one)
    await one.call("memory_read", {"key": "build"})
    assert (await write(other, overwrite=True)).code == "stale_entry"


async def test_a_full_memory_says_full_for_a_new_key_and_exists_for_a_taken_one() -> None:
    """Fault 12: "full" hides that the memory to be stored is there already."""
    store = InProcessStore()
    for number in range(MAX_ENTRIES):
        await store.create(f"k{number}", "a line", "", scope=None)
    tools = MemoryTools(store, Scope())
    full = await write(tools, "one-more")
    assert full.body["written"] is False
    assert full.body["code"] == "store_full"
    assert not full.is_error
    assert (await write(tools, "k7")).body["existing_description"] == "a line"


# -- The lookup behind an existing key ------------------------------------------------------


class Lookup(WrappingStore):
    """A store whose reads go wrong, and which keeps the scopes they were made with."""

    def __init__(self, inner: Store, error: Exception | None) -> None:
        super().__init__(inner)
        self.error = error
        self.scopes: list[Scope | None] = []

    async def read(self, key: str, *, scope: Scope | None) -> Entry:
        self.scopes.append(scope)
        if self.error is not None:
            raise self.error
        return await super().read(key, scope=scope)


@pytest.mark.parametrize("overwrite", [False, True])
async def test_a_lookup_for_the_wording_is_made_in_nobodys_name(overwrite: bool) -> None:
    """Fault 1, at its root: a lookup that carries the scope is a read of the model's."""
    inner = InProcessStore()
    await inner.create("build", "theirs", "precious", scope=None)
    store, scope = Lookup(inner, None), Scope()
    await write(MemoryTools(store, scope), overwrite=overwrite)
    assert store.scopes == [None]
    assert scope.snapshot() == Scope().snapshot()


@pytest.mark.parametrize(("overwrite", "code"), [(False, "entry_exists"), (True, "stale_entry")])
async def test_a_lookup_that_fails_does_not_hide_the_refusal(overwrite: bool, code: str) -> None:
    """What is known, that nothing was written, would turn into an unknown outcome."""
    inner = InProcessStore()
    await inner.create("build", "theirs", "precious", scope=None)
    traces: list[Any] = []
    error = RuntimeError("/srv/memory: broken")
    answer = await write(MemoryTools(Lookup(inner, error), Scope(), hook=traces.append), overwrite=overwrite)
    assert answer.body["written"] is False
    assert answer.body["code"] == code
    assert "existing_description" not in answer.body
    assert "/srv" not in answer.text
    assert traces[0].error is error
