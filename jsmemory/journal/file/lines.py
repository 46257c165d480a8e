"""
The lines of one file: where they end, adding one, and reading them in pages.

A line counts once its end is there. What lies behind the last end of line is what a writer
left that died in the middle of its record, and that nobody was told of as written. It is
passed over by readers, and cut off before the next line is added: never glued to it.
"""

import os
from collections.abc import Iterator
from contextlib import suppress
from typing import Final

import msgspec

from jsmemory.errors import JournalCorruptError
from jsmemory.journal import records
from jsmemory.journal.journal import Tail
from jsmemory.journal.records import MAX_RECORD_BYTES
from jsmemory.journal.replay import Line

_BLOCK: Final = 256 * 1024
_END: Final = b"\n"
_TOO_LONG: Final = "is longer than a record may be"
_BEGINNING: Final = b'{"kind":"meta",'


def end_of(file: int, run_id: str) -> int:
    """
    The byte behind the last whole line; 0 where there is none.

    Raises:
        JournalCorruptError: what lies behind it is longer than a record may be.
    """
    return _behind_end_before(os.fstat(file).st_size, file, run_id)


def last_line(file: int, run_id: str, end: int) -> Line:
    """
    The whole line that ends before the byte `end`, which is not 0.

    Raises:
        JournalCorruptError: it is longer than a record may be.
    """
    start = _behind_end_before(end - 1, file, run_id)
    return Line(start, os.pread(file, end - 1 - start, start))


def _behind_end_before(limit: int, file: int, run_id: str) -> int:
    """The byte behind the last end of line before the byte `limit`; 0 where there is none."""
    end = limit
    while end:
        if limit - end > MAX_RECORD_BYTES:
            # Planted, and without end perhaps. Which record it is, only reading them tells.
            seen = sum(map(len, pages(file, run_id)))
            raise JournalCorruptError(run_id, seen, end, _TOO_LONG)
        start = max(0, end - _BLOCK)
        found = os.pread(file, end - start, start).rfind(_END)
        if found >= 0:
            return start + found + 1
        end = start
    return 0


def is_begun(file: int) -> bool:
    """Whether a file without a whole line is what a writer left that died in its first one, and no other's file."""
    head = os.pread(file, len(_BEGINNING), 0)
    # After a power cut there may be zeros where the record was to be.
    return _BEGINNING.startswith(head) or not head.strip(b"\0")


def is_at(file: int, run_id: str, end: int, tail: Tail) -> bool:
    """Whether the last whole line of a file, which ends before the byte `end`, is the one that `tail` names."""
    if end != tail.place:
        return False
    # A record ends with its id, so that the line need not be read; but for one written by another hand.
    ending = b'"id":' + msgspec.json.encode(tail.id) + b"}" + _END
    if os.pread(file, len(ending), max(0, end - len(ending))) == ending:
        return True
    with suppress(JournalCorruptError, *records.UNREADABLE):
        return records.decode(last_line(file, run_id, end).text).id == tail.id
    return False


def add(file: int, end: int, line: bytes) -> int:
    """
    Put a line behind the byte `end`, and have it on the disk.

    Returns:
        The byte behind it.

    Raises:
        OSError: nothing was added.
    """
    try:
        os.ftruncate(file, end)
        rest = memoryview(line + _END)
        at = end
        while rest:
            written = os.pwrite(file, rest, at)
            rest, at = rest[written:], at + written
        os.fsync(file)
    except BaseException:
        with suppress(OSError):
            os.ftruncate(file, end)
        raise
    return at


def page_at(file: int, run_id: str, at: int, seen: int, until: int | None) -> list[Line]:
    """
    The whole lines from a byte on, a block of them.

    Args:
        file: The open file.
        run_id: For the error.
        at: Where a line begins.
        seen: How many lines are before it.
        until: Stop at this byte; None reads to the end.

    Returns:
        One line or more; none at the end.

    Raises:
        JournalCorruptError: a line is longer than a record may be, or the file ends before `until`.
    """
    begun = b""
    while True:
        offset = at + len(begun)
        block = os.pread(file, _BLOCK if until is None else min(_BLOCK, until - offset), offset)
        whole, end, _ = (begun + block).rpartition(_END)
        if end:
            page = []
            for text in whole.split(_END):
                if len(text) > MAX_RECORD_BYTES:
                    raise JournalCorruptError(run_id, seen + 1, at, _TOO_LONG)
                page.append(Line(at, text))
                at += len(text) + 1
            return page
        begun += block
        if len(begun) > MAX_RECORD_BYTES:
            raise JournalCorruptError(run_id, seen + 1, at, _TOO_LONG)
        if not block:
            if until is not None and at < until:
                raise JournalCorruptError(run_id, seen + 1, at, "was there, and is missing now")
            return []


def pages(file: int, run_id: str) -> Iterator[list[Line]]:
    """All whole lines of a file; raises as `page_at` does."""
    at = seen = 0
    while page := page_at(file, run_id, at, seen, None):
        yield page
        at, seen = behind(page[-1]), seen + len(page)


def behind(line: Line) -> int:
    """The byte behind a line and its end."""
    return line.position + len(line.text) + len(_END)
