"""What is left of every file at the end: its note, and its line in the index."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from jsmemory import EntryNotFoundError, Store
from jsmemory.cli.demo import index
from jsmemory.cli.demo.gathering import File
from jsmemory.cli.demo.notes import NotReadable, NotText, digest_in, note_of


@dataclass(frozen=True, slots=True)
class Verified:
    """
    What was found.

    Attributes:
        entries: Entries in the store, the index among them.
        lost: The keys of files whose note or line is missing, or is not that of the file.
        changed: How many files changed while the demo ran; only note and line are compared there.
    """

    entries: int
    lost: tuple[str, ...]
    changed: int


async def verify(store: Store, folder: Path, files: Iterable[File], unreadable: frozenset[str]) -> Verified:
    """
    Hold the store against the files on the disk.

    Args:
        store: Opened for this, so that it knows nothing yet.
        folder: Where the files are.
        files: Those that notes were to be kept on.
        unreadable: The keys of those that the workers could not read any more.
    """
    stored = {item.key for item in await store.list()}
    try:
        lines = index.lines_of((await store.read(index.KEY, scope=None)).content)
    except EntryNotFoundError:
        lines = {}
    lost: list[str] = []
    changed = 0
    for file in files:
        if file.key in unreadable:
            continue
        digest = _digest_now(folder, file)
        if digest != file.digest:
            changed += 1
            digest = None
        kept = digest_in((await store.read(file.key, scope=None)).content) if file.key in stored else None
        if kept is None or (digest or kept) != kept or lines.get(file.key) != kept[: index.DIGITS]:
            lost.append(file.key)
    return Verified(len(stored), tuple(lost), changed)


def _digest_now(folder: Path, file: File) -> str | None:
    try:
        return note_of(folder, file.name).digest
    except (NotReadable, NotText):
        return None
