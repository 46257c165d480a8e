"""The operator of a bucket: makes it, changes it, removes it, and reads what is in it past every store."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any, Final

import msgspec
import nats.errors
from nats.aio.client import Client

from jsmemory import frontmatter
from jsmemory.backends.jetstream import messages
from jsmemory.backends.jetstream.heeding import heeded
from jsmemory.errors import BackendUnavailableError
from jsmemory.testing.servers import make_bucket
from jsmemory.testing.torture.records import Stored

BUCKET: Final = "torture"
STREAM: Final = f"KV_{BUCKET}"

PATIENCE_S: Final = 60.0
"""Seconds for one thing that the operator wants, whatever the nemesis is doing meanwhile."""

_ONE_TRY_S: Final = 3.0
_AGAIN_S: Final = 0.2
_NO_STREAM: Final = 10059
_AT_ONCE: Final = 64
_BATCH: Final = 256


class Operator:
    """
    Args:
        client: Connected to the servers themselves, past all links.
        replicas: Of the bucket.
        history: Values kept of a key.
    """

    def __init__(self, client: Client, *, replicas: int, history: int) -> None:
        self._client = client
        self._replicas = replicas
        self._history = history

    # -- The bucket -------------------------------------------------------------------------

    async def make(self) -> None:
        """Make the bucket; nothing where it is there."""
        async with asyncio.timeout(PATIENCE_S):
            while (await self.ask(f"STREAM.INFO.{STREAM}")).get("error", {}).get("err_code") == _NO_STREAM:
                try:
                    await make_bucket(self._client, BUCKET, replicas=self._replicas, max_msgs_per_subject=self._history)
                except (nats.errors.Error, OSError):
                    await asyncio.sleep(_AGAIN_S)

    async def remove(self) -> None:
        """Delete the bucket with all that it holds."""
        while (await self.ask(f"STREAM.DELETE.{STREAM}")).get("error", {}).get("err_code") != _NO_STREAM:
            pass

    async def describe(self) -> dict[str, Any]:
        """The server's description of the stream, once it is there and has a leader."""
        async with asyncio.timeout(PATIENCE_S):
            while True:
                info = await self.ask(f"STREAM.INFO.{STREAM}")
                if "config" in info:
                    return info
                await asyncio.sleep(_AGAIN_S)

    async def leader(self) -> str:
        """The name of the member that leads the stream."""
        return str((await self.describe()).get("cluster", {}).get("leader") or "n1")

    async def last_sequence(self) -> int:
        """Of the last message that the leader of the stream holds."""
        return int((await self.describe())["state"]["last_seq"])

    async def followers(self) -> list[str]:
        """The names of the members that hold the stream and do not lead it."""
        return [str(each["name"]) for each in (await self.describe()).get("cluster", {}).get("replicas") or ()]

    async def wait_current(self) -> None:
        """Wait until all replicas are there, and have caught up."""
        while True:
            cluster = (await self.describe()).get("cluster", {})
            others = cluster.get("replicas") or ()
            if len(others) == self._replicas - 1 and all(other["current"] for other in others):
                return
            await asyncio.sleep(_AGAIN_S)

    async def change(self, **config: object) -> dict[str, Any]:
        """Change fields of the stream's configuration; what the server says."""
        info = await self.describe()
        return await self.ask(f"STREAM.UPDATE.{STREAM}", info["config"] | config)

    async def ask(self, operation: str, asked: dict[str, Any] | None = None) -> dict[str, Any]:
        """
        Ask the JetStream API until somebody answers who can.

        Raises:
            BackendUnavailableError: nobody in a minute.
        """
        payload = b"" if asked is None else json.dumps(asked).encode()
        try:
            async with asyncio.timeout(PATIENCE_S):
                while True:
                    try:
                        reply = await self._client.request(f"$JS.API.{operation}", payload, timeout=_ONE_TRY_S)
                    except (nats.errors.Error, OSError):
                        await asyncio.sleep(_AGAIN_S)
                        continue
                    answer: dict[str, Any] = json.loads(reply.data)
                    if answer.get("error", {}).get("code") != 503:
                        return answer
                    await asyncio.sleep(_AGAIN_S)
        except TimeoutError:
            raise BackendUnavailableError(
                f"No server answered {operation} in a minute.", "Run on a machine with less to do."
            ) from None

    # -- What is in it ----------------------------------------------------------------------

    async def entries(self, space: str) -> dict[str, str]:
        """The value of every key of a keyspace, as the leader of the stream has it."""
        root = f"$KV.{BUCKET}.{space}."
        info = await self.ask(f"STREAM.INFO.{STREAM}", {"subjects_filter": f"{root}>"})
        turns = asyncio.Semaphore(_AT_ONCE)

        async def value_of(subject: str) -> str | None:
            async with turns:
                answer = await self.ask(f"STREAM.MSG.GET.{STREAM}", {"last_by_subj": subject})
            found = messages.Message.from_leader_get(msgspec.convert(answer["message"], messages.StoredMessage))
            return None if found.value is None else _value_in(found.value)

        subjects = sorted(info["state"].get("subjects") or {})
        values = await asyncio.gather(*map(value_of, subjects))
        return {
            subject.removeprefix(root): value
            for subject, value in zip(subjects, values, strict=True)
            if value is not None
        }

    async def history_after(self, sequence: int, era: int) -> list[Stored]:
        """
        The next messages after a sequence, some at a time; none where there are no more, or nobody tells.

        Args:
            sequence: The last one that is known.
            era: The incarnation of the bucket.
        """
        return [_stored(subject, message, era) async for subject, message in self._batch(sequence + 1)]

    async def _batch(self, first: int) -> AsyncIterator[tuple[str, messages.Message]]:
        inbox = self._client.new_inbox()
        subscription = await self._client.subscribe(inbox)
        asked = json.dumps({"seq": first, "batch": _BATCH}).encode()
        try:
            await self._client.publish(f"$JS.API.DIRECT.GET.{STREAM}", asked, inbox)
            while True:
                answer = await heeded(subscription.next_msg(_ONE_TRY_S))
                message = messages.Message.from_direct_get(answer)
                if message is None:
                    return
                yield (answer.headers or {})["Nats-Subject"], message
        except (nats.errors.Error, OSError):
            return
        finally:
            with suppress(nats.errors.Error, OSError):
                await subscription.unsubscribe()


def _value_in(stored: bytes) -> str:
    return frontmatter.parse(stored)[0]


def _stored(subject: str, message: messages.Message, era: int) -> Stored:
    space, _, key = subject.removeprefix(f"$KV.{BUCKET}.").partition(".")
    return Stored(era, message.sequence, space, key, "" if message.value is None else _value_in(message.value))
