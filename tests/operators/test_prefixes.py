"""Whose notes there are."""

from pathlib import Path
from typing import Any

import pytest
from nats.aio.client import Client
from nats.aio.msg import Msg

from jsmemory import (
    AccessDeniedError,
    BucketNotFoundError,
    FileStore,
    InvalidOptionsError,
    JetStreamStore,
    PrefixLine,
    Store,
    WorkerPermissions,
    list_directory_prefixes,
    list_prefixes,
)
from jsmemory.backends.jetstream.wire import Wire
from jsmemory.examining.walking import walk
from jsmemory.testing.lagging import LaggingConnection
from jsmemory.testing.lossy import LossyConnection

EXPECTED = (PrefixLine("", 1), PrefixLine("alice", 2), PrefixLine("bob", 1))


async def fill(alice: Store, bob: Store, carol: Store, flat: Store) -> None:
    for store, keys in ((alice, ("a", "b.c", "gone")), (bob, ("a",)), (carol, ("gone",)), (flat, ("flat",))):
        for key in keys:
            await store.create(key, "d", "text", scope=None)
    await alice.delete("gone", scope=None)
    await carol.delete("gone", scope=None)


async def test_the_prefixes_of_a_bucket_are_those_that_hold_values(nc: Client, bucket: str) -> None:
    """Whoever saves every agent's notes by name would leave out those of an agent that is not named."""
    await fill(*[await JetStreamStore.bind(nc, bucket, prefix=prefix) for prefix in ("alice", "bob", "carol", "")])
    await nc.jetstream().publish(f"$KV.{bucket}.not/legal.x", b"of another program")
    assert await list_prefixes(nc, bucket) == EXPECTED


class _KnowsNothingYet(LossyConnection):
    """Whoever holds the first consumer has not got anything yet, as a follower for seconds after a restore."""

    def __init__(self, client: Client) -> None:
        super().__init__(client)
        self.consumers = 0

    async def subscribe(self, subject: str, *, cb: Any) -> Any:
        self.consumers += 1
        is_first = self.consumers == 1

        async def receive(message: Msg) -> None:
            if not is_first or message.subject == subject:
                await cb(message)

        return await super().subscribe(subject, cb=receive)


async def test_a_prefix_is_named_also_where_a_replica_lags(nc: Client, bucket: str) -> None:
    """A loop over the prefixes that saves each, before a bucket is removed, would lose the notes of this one."""
    await fill(*[await JetStreamStore.bind(nc, bucket, prefix=prefix) for prefix in ("alice", "bob", "carol", "")])
    last = await nc.jetstream().get_msg(
        f"KV_{bucket}", (await nc.jetstream().stream_info(f"KV_{bucket}")).state.last_seq
    )
    assert last.subject
    lagging = LaggingConnection(nc)
    lagging.deliver_late(last.subject)
    seen: list[str] = []
    assert await walk(Wire(lagging), bucket, "", lambda each: seen.append(each.name), patience=5.0) is True
    assert seen[-1] == last.subject.removeprefix(f"$KV.{bucket}.")
    nothing = _KnowsNothingYet(nc)
    assert await list_prefixes(nothing, bucket) == EXPECTED
    assert nothing.consumers == 2


async def test_the_prefixes_of_a_directory_are_those_of_its_twin(tmp_path: Path) -> None:
    """The same line of a script is to do for both."""
    await fill(*[await FileStore.open(tmp_path, prefix=prefix) for prefix in ("alice", "bob", "carol", "")])
    (tmp_path / "not legal").mkdir()
    (tmp_path / "a.dot").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "alice")
    (tmp_path / "alice" / "readme.txt").write_text("no entry")
    assert await list_directory_prefixes(tmp_path) == EXPECTED


async def test_what_is_not_there_holds_nobodys_notes(nc: Client, bucket: str, tmp_path: Path) -> None:
    """A wrong name must not look like an empty memory, where it can be told."""
    assert await list_directory_prefixes(tmp_path / "nothing") == ()
    (tmp_path / "file").write_text("")
    with pytest.raises(InvalidOptionsError, match="directory"):
        await list_directory_prefixes(tmp_path / "file")
    with pytest.raises(BucketNotFoundError):
        await list_prefixes(nc, bucket + "x")
    with pytest.raises(InvalidOptionsError, match="bucket"):
        await list_prefixes(nc, "no bucket")


async def test_a_worker_may_not_look_at_the_whole_bucket(grounds: Any) -> None:
    """A refusal that looked like an empty bucket would be taken for a loss."""
    alice = WorkerPermissions(bucket="team", prefix="alice")
    async with grounds.server(alice) as server, grounds.bare(server.url, alice) as client:
        with pytest.raises(AccessDeniedError):
            await list_prefixes(client, "team")
