"""
One process of a fleet: ``python agent.py STORE JOURNAL start|resume KEY...``.

Starts or resumes the run "night", says what it could do, suspends the run, and waits to be killed.
A store or a journal is a directory, or ``name@url,url``.
"""

import asyncio
import json
import sys
from contextlib import AsyncExitStack
from typing import Any

import jsmemory
from jsmemory import FileJournal, FileStore, JetStreamJournal, JetStreamStore, Journal, Run, Store


def say(**what: Any) -> None:
    print(json.dumps(what), flush=True)


async def connected(stack: AsyncExitStack, place: str) -> tuple[Any, str]:
    name, _, urls = place.partition("@")
    return await stack.enter_async_context(jsmemory.connect(servers=urls)), name


async def opened(stack: AsyncExitStack, store: str, journal: str) -> tuple[Store, Journal]:
    return (
        await JetStreamStore.bind(*await connected(stack, store)) if "@" in store else await FileStore.open(store),
        await JetStreamJournal.bind(*await connected(stack, journal))
        if "@" in journal
        else await FileJournal.open(journal),
    )


async def main(store: str, journal: str, act: str, *keys: str) -> None:
    async with AsyncExitStack() as stack:
        places = await opened(stack, store, journal)
        beginning: Any = Run.start if act == "start" else Run.resume
        run: Run = await stack.enter_async_context(beginning(*places, "night"))
        for key in keys:
            if act == "start":
                answer = await run.tools.call("memory_read", {"key": key})
            else:
                arguments = {"key": key, "description": "d", "content": f"by {act}", "overwrite": True}
                answer = await run.tools.call("memory_write", arguments)
            say(key=key, code=answer.code)
        await run.suspend()
        say(suspended=True, warning=run.warning)
        await asyncio.sleep(600)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
