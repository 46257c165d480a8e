"""The store that most code opens: the contract over a JetStream bucket."""

from collections.abc import Hashable

import msgspec

from jsmemory.backed_store import BackedStore
from jsmemory.backends.jetstream.backend import JetStreamBackend
from jsmemory.backends.jetstream.options import (
    MAX_BUCKET_LENGTH,
    WRITE_BUDGET,
    BucketName,
    bind_seconds,
    check_seconds,
)
from jsmemory.backends.jetstream.wire import Connection, Wire
from jsmemory.errors import InvalidOptionsError


class JetStreamStore(BackedStore):
    """Notes in one prefix of a JetStream key-value bucket. Made by `bind`."""

    _bound_as: frozenset[Hashable] = frozenset()
    # What the keyspace has gone by since `bind`, whatever becomes of the bucket.

    @classmethod
    async def bind(
        cls,
        nc: Connection,
        bucket: str,
        prefix: str = "",
        require_read_before_update: bool = True,
        preflight: bool = True,
        *,
        write_budget: float = WRITE_BUDGET,
        bind_timeout: float | None = None,
        api_prefix: str | None = None,
    ) -> "JetStreamStore":
        """
        Bind to a bucket that its operator has made; never makes or changes one.

        Args:
            nc: A connection of the host's, of nats-py or of `jsmemory.connect`; never closed here.
            bucket: Its name.
            prefix: The namespace in it, one token; ``""`` is the flat keyspace of the whole bucket.
            require_read_before_update: Whether an update needs the authority of a scope.
            preflight: Whether to examine the bucket, now and every few seconds of use. Off, the
                store asks for nothing outside its prefix, and authority ends with this object.
            write_budget: Seconds, 0.1 to 300, for one call and the settling of its outcome.
            bind_timeout: Seconds, 0.1 to 300, for finding and examining the bucket. Left out, 10;
                and 20 on a cluster, which outlasts an election in which votes split.
            api_prefix: The subject of the JetStream API; left out, the connection's own or ``$JS.API``.

        Raises:
            BucketNotFoundError: there is no such bucket; with the command that makes it.
            BucketUnfitError: it would lose or refuse entries; every finding with its cure.
            InvalidKeyError: `prefix` is no single token.
            InvalidOptionsError: another argument is out of range.
            BackendUnavailableError: no answer within `bind_timeout`.
            AccessDeniedError: the credentials may not examine the bucket.
        """
        try:
            msgspec.convert(bucket, BucketName)
        except msgspec.ValidationError:
            raise InvalidOptionsError(
                "bucket",
                "is no name of a bucket",
                f"Use 1 to {MAX_BUCKET_LENGTH} characters out of A-Z a-z 0-9 _ and -.",
            ) from None
        wire = Wire(nc, api_prefix or getattr(nc, "jetstream_api_prefix", None) or "$JS.API")
        seconds = bind_seconds(bind_timeout, is_clustered=wire.is_clustered)
        check_seconds(write_budget=write_budget, bind_timeout=seconds)
        backend = await JetStreamBackend.bind(
            wire, bucket, prefix, preflight=preflight, bind_timeout=seconds, budget=write_budget
        )
        store = cls(backend, require_read_before_update=require_read_before_update)
        # The connection is told from others of its kind by being the same: it need not be hashable.
        store._bound_as = frozenset({backend.describe().realm, (id(nc), api_prefix, bucket, prefix)})
        return store

    def keyspace_names(self) -> frozenset[Hashable]:
        # The realm is another one once the bucket was made anew, which two stores do not notice
        # at the same moment; and without a preflight each store has one of its own.
        return super().keyspace_names() | self._bound_as
