"""
Removing markers, and never a value.

A purge of one subject below a sequence removes the marker and what was there before it. A
value that is created over the marker has a higher sequence, however early it comes, and
stays; so the same purge can be asked for twice, and can arrive late.

Only a bucket that was deleted and made anew counts from 1 again. So before a purge is asked
for again, and before each batch, the bucket is asked whether it is still the same.
"""

from collections.abc import Callable, Iterable
from typing import Final

import anyio
import msgspec

from jsmemory.backends.jetstream import translate
from jsmemory.backends.jetstream.asking import ask
from jsmemory.backends.jetstream.deadline import Deadline
from jsmemory.backends.jetstream.facts import STREAM_PREFIX
from jsmemory.backends.jetstream.options import WRITE_BUDGET
from jsmemory.backends.jetstream.recipe import missing_bucket_cure
from jsmemory.backends.jetstream.wire import Denied, NotAnswered, NotDelivered, Wire
from jsmemory.errors import AccessDeniedError, BackendError, BackendUnavailableError, BucketNotFoundError
from jsmemory.examining.answers import Described
from jsmemory.examining.walking import Seen

_AT_ONCE: Final = 32
# Purges under way at a time: more are not faster.
_ONE_TRY: Final = 5.0

AGAIN: Final = "What was removed is removed. Run it again, and it goes on."


class _Purged(msgspec.Struct, frozen=True):
    purged: int = 0


class Removing:
    """
    Removals from one bucket.

    Args:
        wire: The connection.
        bucket: Its name.
    """

    def __init__(self, wire: Wire, bucket: str) -> None:
        self._wire = wire
        self._bucket = bucket
        self._purge = wire.api_subject(f"STREAM.PURGE.{STREAM_PREFIX}{bucket}")
        self._info = wire.api_subject(f"STREAM.INFO.{STREAM_PREFIX}{bucket}")
        self._created = ""

    async def begin(self, deadline: Deadline) -> Described:
        """
        Find the bucket; from here on it must stay the same.

        Raises:
            BucketNotFoundError: there is none.
            AccessDeniedError: the credentials may not ask for it.
            BackendUnavailableError: no answer in time.
        """
        described = await self._describe(deadline)
        if described is None:
            cure = missing_bucket_cure(self._bucket, is_clustered=self._wire.is_clustered)
            raise BucketNotFoundError(self._bucket, cure)
        self._created = described.created
        return described

    async def remove(self, markers: Iterable[Seen], removed: Callable[[], None], until: Deadline | None = None) -> None:
        """
        Remove some markers, side by side.

        Args:
            markers: As a walk has met them.
            removed: Called for each that was still there, so that whoever stops it knows how many were.
            until: When to begin no further one.

        Raises:
            AccessDeniedError: the credentials may not purge.
            BackendUnavailableError: the bucket did not answer in time, or is another one now.
        """
        await self._make_sure(Deadline(WRITE_BUDGET))
        left = iter(markers)

        async def work() -> None:
            for marker in left:
                if until is not None and until.has_passed:
                    return
                if await self._remove(marker):
                    removed()

        try:
            async with anyio.create_task_group() as tasks:
                for _ in range(_AT_ONCE):
                    tasks.start_soon(work)
        except* BackendError as failures:
            raise failures.exceptions[0] from None

    async def _remove(self, marker: Seen) -> bool:
        """Whether the marker was there, and is not any more."""
        asked = msgspec.json.encode({"filter": f"$KV.{self._bucket}.{marker.name}", "seq": marker.sequence + 1})
        deadline = Deadline(WRITE_BUDGET)
        while True:
            try:
                answer = await self._wire.request(self._purge, asked, timeout=deadline.at_most(_ONE_TRY))
            except Denied:
                raise AccessDeniedError(f"publish to {self._purge}") from None
            except (NotAnswered, NotDelivered):
                pass
            else:
                error = translate.decode(answer.data).error
                if error is None:
                    return msgspec.json.decode(answer.data, type=_Purged).purged > 0
                if not error.is_passing:
                    raise translate.refusal(error)
            if deadline.has_passed:
                raise BackendUnavailableError("The bucket stopped answering.", AGAIN)
            await deadline.pause()
            await self._make_sure(deadline)

    async def _make_sure(self, deadline: Deadline) -> None:
        described = await self._describe(deadline)
        if described is None or described.created != self._created:
            raise BackendUnavailableError("The bucket was deleted, or made anew, meanwhile.", AGAIN)

    async def _describe(self, deadline: Deadline) -> Described | None:
        try:
            raw = await ask(self._wire, self._info, b"", deadline)
        except Denied:
            raise AccessDeniedError(f"publish to {self._info}") from None
        error = translate.decode(raw).error
        if error is None:
            return msgspec.json.decode(raw, type=Described)
        if error.err_code == translate.STREAM_NOT_FOUND:
            return None
        raise translate.refusal(error)
