"""
Binding to a bucket: find it, examine it, and keep an eye on it.

A backend binds and never makes: the operator owns the durability policy. What was found fit
is examined again every few seconds of use, since an operator can set a TTL, and can delete
a bucket and make it anew, long after the bind.
"""

import asyncio
import math
import secrets
import time
from dataclasses import dataclass
from typing import Final

import msgspec

from jsmemory.backends.jetstream import translate
from jsmemory.backends.jetstream.asking import ask
from jsmemory.backends.jetstream.deadline import Deadline
from jsmemory.backends.jetstream.facts import StreamFacts, api_level_of
from jsmemory.backends.jetstream.preflight import examine
from jsmemory.backends.jetstream.recipe import missing_bucket_cure
from jsmemory.backends.jetstream.wire import Denied, Wire
from jsmemory.errors import AccessDeniedError, BackendUnavailableError, BucketNotFoundError, BucketUnfitError
from jsmemory.limits import MAX_ENTRY_BYTES

_EXAMINED_FOR: Final = 5.0
# Seconds for which the configuration counts as examined: one small request then is not felt.
_SURE_FOR: Final = 0.001
# Seconds for which a sequence that was seen, or an examination, proves that the bucket is
# still the same: to delete it, make it and fill it to the same sequence takes longer. A
# model thinks for seconds between a read and a write, and never notices the question.


@dataclass(frozen=True, slots=True)
class Bound:
    """
    What is known of the bucket.

    Attributes:
        incarnation: Tells it from one that is made later under the same name.
        is_replicated: Whether a read may be answered by a replica that lags.
        allows_direct: Whether it serves direct gets.
        allows_ttl: Whether a delete marker may expire by itself.
        value_cap: Bytes of headers and value that it takes in one message.
    """

    incarnation: str
    is_replicated: bool
    allows_direct: bool
    allows_ttl: bool
    value_cap: int


class MadeAnew(Exception):
    """The bucket is not the one that the verb began in; what was known of it is worth nothing."""


class Binding:
    """
    The tie to one bucket.

    Args:
        wire: The connection.
        bucket: Its name.
        preflight: Whether the credentials may examine it. Without, it is taken to be fit and
            replicated, and authority does not outlive this binding: a bucket that was made
            anew cannot be told from the old one.

    Attributes:
        in_touch_at: The latest monotonic time at which its leader is known to have been in touch
            with a majority of its replicas.
        position: The last sequence of the whole stream when it was examined; 0 where it was not.
    """

    def __init__(self, wire: Wire, bucket: str, *, preflight: bool) -> None:
        self._wire = wire
        self._bucket = bucket
        self._preflight = preflight
        self.in_touch_at = -math.inf
        self.position = 0
        self._examined_at = 0.0
        self._examining: asyncio.Event | None = None
        self._found: Bound | None = None
        self._api_level: int | None = None

    async def bind(self, deadline: Deadline) -> Bound:
        """
        Find and examine the bucket.

        Raises:
            BucketNotFoundError: there is none; with the command that makes it.
            BucketUnfitError: it would lose or refuse entries; every finding with its cure.
            BackendUnavailableError: no answer in time.
            AccessDeniedError: the credentials may not ask for the stream's configuration.
        """
        if not self._preflight:
            return Bound(
                f"unexamined-{secrets.token_hex(16)}",
                is_replicated=True,
                allows_direct=True,
                allows_ttl=False,
                value_cap=min(MAX_ENTRY_BYTES, self._wire.connection.max_payload),
            )
        self._api_level = api_level_of(await self._ask("INFO", deadline))
        return await self.examine(deadline)

    @property
    def is_due(self) -> bool:
        """Whether the last examination is too old to rely on."""
        return self._preflight and time.monotonic() - self._examined_at > _EXAMINED_FOR

    def is_sure(self, seen_at: float) -> bool:
        """
        Whether a sequence seen at a monotonic time can only be one of this bucket.

        The server checks a sequence, and a bucket that was made anew counts from 1 again: an
        old number could match a value that nobody has seen.
        """
        earliest = time.monotonic() - _SURE_FOR
        return seen_at >= earliest or self._examined_at >= earliest

    def suspect(self) -> None:
        """Something did not fit: examine before the next use."""
        self._examined_at = 0.0

    async def examine(self, deadline: Deadline) -> Bound:
        """Examine the bucket as it is now, once for all who ask for that at a time; raises what `bind` does."""
        asked_at = time.monotonic()
        while self._found is None or self._examined_at < asked_at:
            if self._examining is None:
                # Those who wait go on at the same time; a lock would be handed from one to the next.
                self._examining = asyncio.Event()
                try:
                    return await self._examine(deadline)
                finally:
                    self._examining.set()
                    self._examining = None
            await self._examining.wait()
        return self._found

    async def _examine(self, deadline: Deadline) -> Bound:
        asked_at = time.monotonic()
        raw = await self._ask(f"STREAM.INFO.KV_{self._bucket}", deadline)
        try:
            facts = StreamFacts.of(raw)
        except msgspec.DecodeError:
            error = translate.decode(raw).error
            if error is not None and error.err_code == translate.STREAM_NOT_FOUND:
                cure = missing_bucket_cure(self._bucket, is_clustered=self._wire.is_clustered)
                raise BucketNotFoundError(self._bucket, cure) from None
            raise BackendUnavailableError("The server could not describe the bucket.") from None
        max_payload = self._wire.connection.max_payload
        if findings := examine(facts, max_payload=max_payload, api_level=self._api_level):
            raise BucketUnfitError(self._bucket, findings)
        self._examined_at, self.position = asked_at, facts.state.last_seq
        self.in_touch_at = max(self.in_touch_at, asked_at - facts.unheard_for)
        self._found = Bound(
            facts.created,
            facts.replicas > 1,
            facts.allow_direct,
            facts.allow_ttl,
            min(facts.max_message_size or max_payload, max_payload),
        )
        return self._found

    async def _ask(self, operation: str, deadline: Deadline) -> bytes:
        subject = self._wire.api_subject(operation)
        try:
            return await ask(self._wire, subject, b"", deadline)
        except Denied:
            raise AccessDeniedError(
                f"publish to {subject}, if {self._bucket} is what the bucket is called; "
                "or open the store with preflight off (on the command line: --no-preflight)"
            ) from None
