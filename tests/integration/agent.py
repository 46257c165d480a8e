"""
One process of a fleet: ``python agent.py STORE JOURNAL start|resume KEY...``.

Starts or resumes the run "night", says what it could do, suspends the run, and waits to be killed.
A store or a journal is a directory, or ``name@url,url``. As a fleet's runner does, it tries again
for a while what failed without a trace, since servers elect a new leader.
"""

import asyncio
import json
import sys
import time
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from typing import Any, TypeVar

import jsmemory
from jsmemory import (
    BackendUnavailableError,
    FileJournal,
    FileStore,
    JetStreamJournal,
    JetStreamStore,
    Journal,
    Run,
    Store,
)

PATIENCE_S = 60.0
"""Seconds from the first try to the last: some elections, on a machine that has other work too."""

Answer = TypeVar("Answer")


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


async def patiently(attempt: Callable[[], Awaitable[Answer]]) -> Answer:
    """What an attempt comes to, made again for as long as nothing was written."""
    deadline = time.monotonic() + PATIENCE_S
    while True:
        try:
            return await attempt()
        except BackendUnavailableError:
            if time.monotonic() > deadline:
                raise
        await asyncio.sleep(0.2)


async def called(run: Run, tool: str, **arguments: Any) -> str:
    """The code of the answer to a tool call."""

    async def call() -> str:
        answer = await run.tools.call(tool, arguments)
        if answer.code == BackendUnavailableError.code and isinstance(answer.cause, BackendUnavailableError):
            raise answer.cause
        return answer.code

    return await patiently(call)


async def main(store: str, journal: str, act: str, *keys: str) -> None:
    async with AsyncExitStack() as stack:
        places = await patiently(lambda: opened(stack, store, journal))
        beginning: Any = Run.start if act == "start" else Run.resume
        run: Run = await patiently(lambda: stack.enter_async_context(beginning(*places, "night")))
        for key in keys:
            if act == "start":
                code = await called(run, "memory_read", key=key)
            else:
                code = await called(run, "memory_write", key=key, description="d", content=f"by {act}", overwrite=True)
            say(key=key, code=code)
        await patiently(run.suspend)
        say(suspended=True, warning=run.warning)
        await asyncio.sleep(600)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
