"""Whose notes lie in a bucket, or under a directory."""

import asyncio
import os
from collections import Counter
from dataclasses import dataclass
from typing import Final

from jsmemory.backends.file.directory import Directory, census
from jsmemory.backends.file.translate import DENIED
from jsmemory.backends.jetstream import translate
from jsmemory.backends.jetstream.facts import STREAM_PREFIX
from jsmemory.backends.jetstream.recipe import BucketRecipe, missing_bucket_cure
from jsmemory.backends.jetstream.wire import Connection, Wire
from jsmemory.errors import AccessDeniedError, BackendUnavailableError, BucketNotFoundError, InvalidOptionsError
from jsmemory.examining.answers import Described
from jsmemory.examining.questions import Questions, Silence
from jsmemory.examining.walking import Seen, walk
from jsmemory.keys import is_legal_key

_PATIENCE: Final = 5.0
# Seconds for one answer.


@dataclass(frozen=True, slots=True)
class PrefixLine:
    """
    One namespace, and how much is in it.

    Attributes:
        prefix: As a store takes it; ``""`` for keys that stand in no namespace.
        entries: How many keys hold a value.
    """

    prefix: str
    entries: int


async def list_prefixes(nc: Connection, bucket: str, *, api_prefix: str | None = None) -> tuple[PrefixLine, ...]:
    """
    Name every prefix of a bucket that holds notes, sorted, with their number.

    An operator's question: it takes the right to describe the bucket and to read all of its
    names. Moves no contents, and takes as much memory as there are prefixes. What other
    programs keep there under names that no store can have is left out.

    Args:
        nc: A connection of the host's; never closed here.
        bucket: Its name.
        api_prefix: The subject of the JetStream API; left out, the connection's own or ``$JS.API``.

    Raises:
        InvalidOptionsError: no bucket can be called so.
        BucketNotFoundError: there is none.
        AccessDeniedError: the credentials may not look at the whole bucket.
        BackendUnavailableError: nobody answered, or the answer broke off.
    """
    try:
        BucketRecipe(bucket=bucket)
    except ValueError as fault:
        raise InvalidOptionsError("bucket", "is no name of a bucket", str(fault)) from None
    wire = Wire(nc, api_prefix or getattr(nc, "jetstream_api_prefix", None) or "$JS.API")
    operation = f"STREAM.INFO.{STREAM_PREFIX}{bucket}"
    described = await Questions(wire, _PATIENCE).ask(operation, Described)
    if isinstance(described, translate.ApiError) and described.err_code == translate.STREAM_NOT_FOUND:
        raise BucketNotFoundError(bucket, missing_bucket_cure(bucket, is_clustered=wire.is_clustered))
    if described is Silence.DENIED:
        raise AccessDeniedError(f"publish to {wire.api_subject(operation)}")
    if not isinstance(described, Described):
        raise BackendUnavailableError("JetStream did not describe the bucket.", "Check that the server is reachable.")
    counted: Counter[str] = Counter()

    def count(seen: Seen) -> None:
        token, dot, key = seen.name.partition(".")
        if seen.is_value and is_legal_key(token) and (not dot or is_legal_key(key)):
            counted[token if dot else ""] += 1

    walked = await walk(wire, bucket, "", count, at_most=None, patience=_PATIENCE)
    if walked is Silence.DENIED:
        raise AccessDeniedError(f"publish to {wire.api_subject(f'CONSUMER.CREATE.{STREAM_PREFIX}{bucket}.>')}")
    if isinstance(walked, Silence):
        raise BackendUnavailableError("The server stopped naming what the bucket holds.")
    return _lines(counted)


async def list_directory_prefixes(directory: str | os.PathLike[str]) -> tuple[PrefixLine, ...]:
    """
    As `list_prefixes`, for a directory that file stores share: each prefix is a directory in it.

    Raises:
        InvalidOptionsError: no directory can be called so, or it is none.
        AccessDeniedError: this account may not read it, or one of those in it.
        BackendUnavailableError: its disk does not answer.
    """
    return await asyncio.to_thread(_lines_of, Directory.of(directory, ""))


def _lines_of(place: Directory) -> tuple[PrefixLine, ...]:
    place.refuse_too_long()
    root = place.path
    counted: Counter[str] = Counter()
    try:
        for name in ("", *(each.name for each in root.iterdir() if each.is_dir() and not each.is_symlink())):
            if name == "" or (is_legal_key(name) and "." not in name):
                with Directory(root, name).opened() as directory:
                    counted[name] = len(census(directory).keys)
    except FileNotFoundError:
        return ()
    except NotADirectoryError:
        raise InvalidOptionsError("directory", "is no directory", "Name one.") from None
    except OSError as refusal:
        if refusal.errno in DENIED:
            raise AccessDeniedError("read the directory, and the directories in it") from None
        raise BackendUnavailableError("The disk of the directory does not answer.") from None
    return _lines(counted)


def _lines(counted: Counter[str]) -> tuple[PrefixLine, ...]:
    return tuple(PrefixLine(prefix, count) for prefix, count in sorted(counted.items()) if count)
