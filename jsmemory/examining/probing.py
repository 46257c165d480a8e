"""One entry written, read, replaced, listed and deleted, as a worker does it."""

import asyncio
import secrets
from collections.abc import Awaitable
from typing import TypeVar

from jsmemory.errors import AccessDeniedError, BackendError, JsMemoryError
from jsmemory.examining.report import Check, Verdict, found, ok
from jsmemory.scope import Scope
from jsmemory.store import Store

_T = TypeVar("_T")


async def probe(opening: Awaitable[Store]) -> Check:
    """
    Put a store through its paces.

    The entry has a key of its own that nobody else has, and is deleted at the end; on
    JetStream what is left of it is a marker, as of every deleted entry.

    Args:
        opening: Opens the store, in the prefix that is examined.
    """
    loop = asyncio.get_running_loop()
    key, scope, times = f"jsmemory-doctor-{secrets.token_hex(8)}", Scope(), []

    async def timed(step: Awaitable[_T]) -> _T:
        start = loop.time()
        answer = await step
        times.append(loop.time() - start)
        return answer

    try:
        store = await opening
        try:
            await timed(store.create(key, "Written by a check, and deleted at once", "first", scope=scope))
            await timed(store.update(key, "Written by a check, and deleted at once", "second", scope=scope))
            entry = await timed(store.read(key, scope=scope))
            is_listed = any(item.key == key for item in await store.list())
        finally:
            await store.delete(key, scope=scope)
    except JsMemoryError as error:
        return found(
            "write_probe",
            _verdict(error),
            f"probe_{error.code}",
            f"A check's own entry could not be written, read and deleted: {error}",
            "mend that, then run the check again",
        )
    if entry.content != "second" or not is_listed:
        return found(
            "write_probe",
            Verdict.FAULT,
            "probe_lost",
            "A check's own entry was written, and was not found as it was written.",
            "let nobody use this store until the cause is found",
        )
    create, update, read = (f"{seconds * 1000:.1f}" for seconds in times)
    return ok("write_probe", f"create {create} ms, update {update} ms, read {read} ms")


def _verdict(error: JsMemoryError) -> Verdict:
    if isinstance(error, AccessDeniedError):
        return Verdict.DENIED
    return Verdict.UNANSWERED if isinstance(error, BackendError) else Verdict.FAULT
