"""The compaction of a bucket, or of one prefix of it."""

from datetime import datetime
from typing import Final

from jsmemory.backends.jetstream.deadline import Deadline
from jsmemory.backends.jetstream.options import bind_seconds
from jsmemory.backends.jetstream.recipe import BucketRecipe, advised, successor_cure
from jsmemory.backends.jetstream.wire import Connection, Wire
from jsmemory.compacting.compaction import Compaction, Progressed, unheeded
from jsmemory.compacting.removing import AGAIN, Removing
from jsmemory.errors import AccessDeniedError, BackendUnavailableError, BucketUnfitError, InvalidOptionsError
from jsmemory.examining.answers import Described
from jsmemory.examining.questions import Silence
from jsmemory.examining.walking import Seen, walk
from jsmemory.findings import Finding
from jsmemory.keys import Prefix

OLD_S: Final = 1800.0
"""Seconds after which a marker protects nothing any more."""

_OLDEST_S: Final = 1_000_000_000
_PATIENCE: Final = 5.0
_MANY_MEANINGS: Final = frozenset({"*", ">", ""})
# Tokens that make a filter of a subject. A server stores such subjects, if somebody publishes to one.


async def compact_bucket(
    nc: Connection,
    bucket: str,
    prefix: str | None = None,
    *,
    older_than: float = OLD_S,
    limit: int | None = None,
    at_most: float | None = None,
    dry_run: bool = False,
    api_prefix: str | None = None,
    on_progress: Progressed = unheeded,
) -> Compaction:
    """
    Remove what is left of keys that were deleted some time ago, and of creates that were given up; never an entry.

    Takes the right to ``STREAM.PURGE`` of the bucket, with which everything in it could be
    removed: an operator's. The bucket may be in use. Cut short at any point it leaves a whole
    bucket, and done again it goes on. Takes no more memory for a million markers than for a thousand.

    Args:
        nc: A connection of the host's; never closed here.
        bucket: Its name.
        prefix: The namespace of one agent; ``""`` or None for the whole bucket.
        older_than: Seconds that a marker must be old, by the servers' clock. Below 300 a create
            that was given up can land where its key has been deleted since, and a worker may
            be shown by a replica that lags what was deleted.
        limit: How many markers to remove at most; None for no bound.
        at_most: Seconds after which no further marker is removed; None for no bound.
        dry_run: Count only.
        api_prefix: The subject of the JetStream API; left out, the connection's own or ``$JS.API``.
        on_progress: Told after each batch.

    Raises:
        BucketNotFoundError: there is no such bucket; with the command that makes it.
        BucketUnfitError: it lets nobody remove anything, for good; with the command that replaces it.
        InvalidOptionsError: no bucket can be called so, or a number is out of range.
        InvalidKeyError: `prefix` is no single token.
        AccessDeniedError: the credentials lack the right to describe, to list or to purge.
        BackendUnavailableError: the bucket stopped answering, or was made anew meanwhile.
    """
    _check(bucket, older_than, limit, at_most)
    token = Prefix(prefix or "").token
    wire = Wire(nc, api_prefix or getattr(nc, "jetstream_api_prefix", None) or "$JS.API")
    until = None if at_most is None else Deadline(at_most)
    removing = Removing(wire, bucket)
    described = await removing.begin(Deadline(bind_seconds(None, is_clustered=wire.is_clustered)))
    if not dry_run:
        _refuse_unfit(bucket, described)
    course = _Course(removing, _cutoff(described, older_than), limit, until, dry_run, on_progress)
    ended = await walk(wire, bucket, token, course.meet, patience=_PATIENCE, between=course.remove)
    if ended is Silence.DENIED:
        raise AccessDeniedError(f"list $KV.{bucket}.>: publish to CONSUMER.CREATE, MSG.NEXT and DELETE")
    if isinstance(ended, Silence):
        raise BackendUnavailableError("The bucket stopped naming what it holds.", AGAIN)
    return course.compaction()


class _Course:
    """What was met and not yet removed, and how far it is."""

    def __init__(
        self,
        removing: Removing,
        cutoff: int,
        limit: int | None,
        until: Deadline | None,
        dry_run: bool,
        on_progress: Progressed,
    ) -> None:
        self._removing = removing
        self._cutoff = cutoff
        self._limit = limit
        self._until = until
        self._dry_run = dry_run
        self._on_progress = on_progress
        self._old: list[Seen] = []
        self._seen = self._left = self._removed = self._young = self._odd = 0
        self._is_cut = False

    def meet(self, seen: Seen) -> None:
        """Take in the last message of a name."""
        self._seen += 1
        self._left = seen.left
        if seen.is_value:
            return
        if seen.stored_at > self._cutoff:
            self._young += 1
        elif not _MANY_MEANINGS.isdisjoint(seen.name.split(".")):
            # A purge of this subject would be one of many, values among them.
            self._odd += 1
        else:
            self._old.append(seen)

    async def remove(self) -> bool:
        """Remove what was met; whether to go on."""
        room = None if self._limit is None else self._limit - self._removed
        markers = self._old[:room]
        self._is_cut = len(markers) < len(self._old)
        self._old.clear()
        try:
            if self._dry_run:
                self._removed += len(markers)
            elif markers:
                await self._removing.remove(markers, self._count, self._until)
            if self._until is not None and self._until.has_passed:
                self._is_cut = True
        except BaseException:
            self._is_cut = True
            raise
        finally:
            # Also to whoever stops it on the way: what has been removed is told.
            self._on_progress(self.compaction())
        return not self._is_cut

    def _count(self) -> None:
        self._removed += 1

    def compaction(self) -> Compaction:
        """How far it is."""
        return Compaction(
            seen=self._seen,
            total=self._seen + self._left,
            removed=self._removed,
            young=self._young,
            odd=self._odd,
            is_whole=not self._is_cut and self._left == 0,
            is_dry_run=self._dry_run,
        )


def _check(bucket: str, older_than: float, limit: int | None, at_most: float | None) -> None:
    try:
        BucketRecipe(bucket=bucket)
    except ValueError as fault:
        raise InvalidOptionsError("bucket", "is no name of a bucket", str(fault)) from None
    if not 0 <= older_than <= _OLDEST_S:
        raise InvalidOptionsError("older_than", "is out of range", f"Give 0 to {_OLDEST_S} seconds.")
    if limit is not None and limit < 1:
        raise InvalidOptionsError("limit", "is below 1", "Leave it out for no bound.")
    if at_most is not None and not at_most > 0:
        raise InvalidOptionsError("at_most", "is no time", "Give seconds above 0, or leave it out for no bound.")


def _refuse_unfit(bucket: str, described: Described) -> None:
    config = described.config
    if not (config.deny_purge or config.sealed):
        return
    why = "is sealed" if config.sealed else "denies every purge"
    finding = Finding(
        "bucket_sealed" if config.sealed else "bucket_deny_purge",
        f"The bucket {why}, for good: markers stay in it.",
        successor_cure(advised(bucket, is_clustered=bool(described.cluster.name))),
    )
    raise BucketUnfitError(bucket, [finding])


def _cutoff(described: Described, older_than: float) -> int:
    """The time, in nanoseconds since 1970, up to which a marker is old; by the clock that dates them."""
    try:
        now = datetime.fromisoformat(described.ts)
    except ValueError:
        raise BackendUnavailableError("The server did not tell its time.", "It has to be 2.11 or newer.") from None
    return int((now.timestamp() - older_than) * 1_000_000_000)
