"""
One process of a race: waits for the word, creates entries, and prints what came of each.

Arguments: server URL, bucket, prefix, name of the racer, how many entries.
"""

import asyncio
import sys

import nats

from jsmemory.backends.jetstream import JetStreamStore
from jsmemory.errors import JsMemoryError


async def race(url: str, bucket: str, prefix: str, name: str, entries: int) -> None:
    nc = await nats.connect(url)
    store = await JetStreamStore.bind(nc, bucket, prefix, write_budget=60)
    print("ready", flush=True)
    await asyncio.to_thread(sys.stdin.readline)
    for number in range(entries):
        try:
            await store.create(f"{name}-{number}", "raced", "c", scope=None)
            print("created", flush=True)
        except JsMemoryError as error:
            print(error.code, flush=True)
    await nc.close()


asyncio.run(race(*sys.argv[1:5], int(sys.argv[5])))
