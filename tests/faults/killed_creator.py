"""
A process that counts, waits for the word, and is killed when its create is stored and before it hears of it.

Arguments: server URL, bucket, prefix, key of the create.
"""

import asyncio
import os
import signal
import sys

import nats

from jsmemory.backends.jetstream import JetStreamStore
from jsmemory.testing.lossy import LossyConnection


async def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


async def create(url: str, bucket: str, prefix: str, key: str) -> None:
    lossy = LossyConnection(await nats.connect(url))
    store = await JetStreamStore.bind(lossy, bucket, prefix)
    await store.create(f"before-{key}", "d", "c", scope=None)
    print("ready", flush=True)
    await asyncio.to_thread(sys.stdin.readline)
    lossy.lose("answer", f"$KV.{bucket}.{prefix}.{key}", then=die)
    await store.create(key, "d", "nobody was told", scope=None)


asyncio.run(create(*sys.argv[1:5]))
