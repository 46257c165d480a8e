"""Calls that are made at the same time, and what came of each."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager, suppress
from typing import TypeVar

from jsmemory.errors import JsMemoryError, StaleEntryError
from jsmemory.scope import Scope
from jsmemory.store import Store
from jsmemory.testing.expecting import PromiseBroken

T = TypeVar("T")

_ROUNDS = 400
# Of a loop that reads and then updates. Somebody always gets on, so no one loses that often.


async def race(calls: Iterable[Awaitable[T]]) -> tuple[list[T], list[JsMemoryError]]:
    """
    Make all calls at once.

    Returns:
        What those gave that came through, and how the others were refused.

    Raises:
        Exception: one of them failed with an error that is not the contract's.
    """
    through: list[T] = []
    refusals: list[JsMemoryError] = []
    for came in await asyncio.gather(*calls, return_exceptions=True):
        if isinstance(came, JsMemoryError):
            refusals.append(came)
        elif isinstance(came, BaseException):
            raise came
        else:
            through.append(came)
    return through, refusals


async def change(store: Store, key: str, scope: Scope, edit: Callable[[str], str]) -> None:
    """
    Read, edit and update until nobody came in between.

    Args:
        store: The store.
        key: A key that holds an entry all the time.
        scope: The run's scope.
        edit: Makes the new content out of the old one.
    """
    for _ in range(_ROUNDS):
        description, content = await store.read(key, scope=scope)
        try:
            await store.update(key, description, edit(content), scope=scope)
        except StaleEntryError:
            continue
        return
    raise PromiseBroken("an update came too late again and again, although it was read right before")


@asynccontextmanager
async def meanwhile(*steps: Callable[[], Awaitable[object]]) -> AsyncIterator[None]:
    """
    Repeat each step, all of them side by side, for as long as the block lasts.

    Raises:
        ExceptionGroup: a step failed, or the block did while steps were running.
    """
    is_over = False

    async def repeat(step: Callable[[], Awaitable[object]]) -> None:
        while not is_over:
            await step()
            # A step that does not wait for anything would keep the others from running.
            await asyncio.sleep(0)

    async with asyncio.TaskGroup() as tasks:
        for step in steps:
            tasks.create_task(repeat(step))
        try:
            yield
        finally:
            is_over = True


async def cut_short(call: Callable[..., Awaitable[object]], *arguments: object, after: int, **named: object) -> None:
    """
    Begin a call and give it up, as a host that is stopped does.

    Args:
        call: What to call, with `arguments` and those that are `named`.
        after: Turns of the event loop after which it is cancelled; 0 is before it begins.

    Raises:
        Exception: it failed with an error that is not the contract's, before or when it was cancelled.
    """

    async def make() -> None:
        with suppress(JsMemoryError):
            await call(*arguments, **named)

    task = asyncio.create_task(make())
    for _ in range(after):
        await asyncio.sleep(0)
    task.cancel()
    await asyncio.wait([task])
    if not task.cancelled():
        task.result()
