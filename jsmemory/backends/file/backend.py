"""The driver: six verbs on a directory of files, each one call in a worker thread."""

import os
from collections.abc import Hashable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from typing import Final

from jsmemory.backend import Backend, Keyspace, Record, Stored
from jsmemory.backends.file import listing, regular
from jsmemory.backends.file.atomic import discard, put_new, put_over, settle_write
from jsmemory.backends.file.directory import Directory, census, has_twin, name_of
from jsmemory.backends.file.locking import locked
from jsmemory.backends.file.looking import LOOKED_EVERY, Sights, look
from jsmemory.backends.file.realm import Identity, recognise
from jsmemory.backends.file.revision import revision_of
from jsmemory.backends.file.threads import Waiting, in_thread
from jsmemory.backends.file.translate import MEMORY, OPENING, READING, WRITING
from jsmemory.entries import Item
from jsmemory.errors import (
    BackendError,
    EntryExistsError,
    InvalidKeyError,
    InvalidOptionsError,
    StaleEntryError,
    StoreFullError,
)
from jsmemory.live import Feed, Known, LookingFeed, Picture

NAME: Final = "file"

_OBSTACLE: Final = (
    "The name of this key is taken in the memory directory by something that is no entry",
    "Choose another key, or ask its operator to move it away.",
)
_TWIN: Final = (
    "The key differs only in case from one that is there, and this file system cannot tell the two apart",
    "Choose another key.",
)


class FileBackend(Backend):
    """
    One Markdown file an entry, in one directory, shared by any number of processes.

    Made by `open`. Holds nothing open between two calls, so there is nothing to close, and
    may be used from several event loops and threads.
    """

    def __init__(self, directory: Directory, *, ignores_case: bool | None = None) -> None:
        self._directory = directory
        self._case = ignores_case
        self._place = directory.path / directory.prefix
        self._identity = Identity("", ignores_case=True, mark=())

    @classmethod
    async def open(
        cls, directory: str | os.PathLike[str], *, prefix: str = "", ignores_case: bool | None = None
    ) -> "FileBackend":
        """
        Make the directory where it is missing, and clear away what dead writers left in it.

        Args:
            directory: The operator's directory. It may be a link.
            prefix: A sub-directory of it, a key without a dot; ``""`` for the directory itself.
            ignores_case: Whether its file system takes two names for one that differ in case
                only. None asks the file system.

        Raises:
            InvalidOptionsError: one of them cannot be, or something else lies there.
            AccessDeniedError: the directory can be neither made nor opened.
            BackendUnavailableError: the disk is full or failing.
        """
        backend = cls(Directory.of(directory, prefix), ignores_case=ignores_case)
        await in_thread(MEMORY, OPENING, backend._open)
        return backend

    def describe(self) -> Keyspace:
        return Keyspace(NAME, "", self._identity.realm, self._directory.prefix)

    async def scan(self) -> Sequence[Item]:
        return await in_thread(MEMORY, READING, self._scan)

    async def load(self, key: str) -> Stored | None:
        return await in_thread(MEMORY, READING, partial(self._load, key))

    async def insert(self, key: str, record: Record, *, capacity: int) -> str:
        return await in_thread(MEMORY, WRITING, partial(self._insert, key, record.value, capacity))

    async def replace(self, key: str, record: Record, *, expected: str) -> str:
        return await in_thread(MEMORY, WRITING, partial(self._replace, key, record.value, expected))

    async def remove(self, key: str) -> bool:
        return await in_thread(MEMORY, WRITING, partial(self._remove, key))

    def feed(self, picture: Picture) -> Feed:
        seen = Sights()

        async def see() -> list[Known]:
            nonlocal seen
            seen = await in_thread(MEMORY, READING, partial(self._look, seen))
            return seen.known()

        return LookingFeed(picture, see, every=LOOKED_EVERY)

    def keyspace_names(self) -> frozenset[Hashable]:
        # Not by its realm: who copies a directory copies that.
        return frozenset({(NAME, self._place)})

    # -- In the worker thread ---------------------------------------------------------------

    def _open(self, waiting: Waiting) -> None:
        self._directory.make()
        self._place = self._place.resolve()
        with self._opened(waiting) as directory:
            if self._folds_case and self._directory.twin_of_prefix():
                raise InvalidOptionsError(
                    "prefix",
                    "differs only in case from another one, and this file system cannot tell the two apart",
                    "Choose another one.",
                )
            if census(directory).staged:
                with suppress(OSError, BackendError), locked(directory, waiting=waiting):
                    discard(directory, census(directory).staged)

    def _scan(self, waiting: Waiting) -> list[Item]:
        with self._opened(waiting) as directory:
            return list(listing.items(directory, listing.keys(directory, waiting=waiting)))

    def _look(self, before: Sights, waiting: Waiting) -> Sights:
        with self._opened(waiting) as directory:
            return look(directory, before, self._identity.realm, waiting=waiting)

    def _load(self, key: str, waiting: Waiting) -> Stored | None:
        with self._opened(waiting) as directory:
            content = self._read(directory, key)
        return None if content is None else Stored(content.value, revision_of(content.value))

    def _insert(self, key: str, value: bytes, capacity: int, waiting: Waiting) -> str:
        with self._writing(waiting) as directory:
            found = census(directory)
            discard(directory, found.staged)
            if key in found.keys:
                raise EntryExistsError(key)
            if self._folds_case and has_twin(key, found.keys + found.obstacles):
                raise InvalidKeyError(*_TWIN)
            if len(found.keys) >= capacity:
                raise StoreFullError(capacity)
            if not put_new(directory, name_of(key), value):
                # What lies there is no entry, or a program that takes no lock was quicker.
                raise EntryExistsError(key) if self._holds(directory, key) else InvalidKeyError(*_OBSTACLE)
            settle_write(directory, key)
        return revision_of(value)

    def _replace(self, key: str, value: bytes, expected: str, waiting: Waiting) -> str:
        with self._writing(waiting) as directory:
            content = self._read(directory, key)
            if content is None or revision_of(content.value) != expected:
                raise StaleEntryError(key, "changed")
            put_over(directory, name_of(key), value, mode=content.mode)
            settle_write(directory, key)
        return revision_of(value)

    def _remove(self, key: str, waiting: Waiting) -> bool:
        with self._writing(waiting) as directory:
            if not self._holds(directory, key):
                return False
            os.unlink(name_of(key), dir_fd=directory)
            settle_write(directory, key)
        return True

    @contextmanager
    def _opened(self, waiting: Waiting) -> Iterator[int]:
        with self._directory.opened() as directory:
            self._identity = recognise(directory, self._identity, waiting=waiting)
            yield directory

    @contextmanager
    def _writing(self, waiting: Waiting) -> Iterator[int]:
        with self._opened(waiting) as directory, locked(directory, waiting=waiting):
            yield directory

    @property
    def _folds_case(self) -> bool:
        return self._identity.ignores_case if self._case is None else self._case

    def _holds(self, directory: int, key: str) -> bool:
        return self._is_exact(directory, name_of(key)) and regular.is_regular(directory, name_of(key))

    def _read(self, directory: int, key: str) -> regular.Content | None:
        name = name_of(key)
        return regular.read(directory, name) if self._is_exact(directory, name) else None

    def _is_exact(self, directory: int, name: str) -> bool:
        # Such a file system opens `Build.md` when asked for `build.md`; its list of names tells.
        return not self._folds_case or name in os.listdir(directory)
