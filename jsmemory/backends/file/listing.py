"""A complete list of keys, and the description of each without its content."""

from collections.abc import Callable, Iterator
from typing import Final

from jsmemory import frontmatter
from jsmemory.backends.file import regular
from jsmemory.backends.file.directory import census, name_of
from jsmemory.backends.file.locking import LOCK, locked
from jsmemory.backends.file.translate import DENIED
from jsmemory.entries import Item
from jsmemory.errors import AccessDeniedError, IncompleteListingError
from jsmemory.limits import MAX_ENTRY_BYTES

_FIRST_BLOCK: Final = 8 * 1024
# Holds every header that jsmemory writes, twice over.

_UNENDED: Final = b"x"
# Put behind a block that was cut off, so that the cut is not taken for the end of the value.


def keys(directory: int, *, waiting: Callable[[], None]) -> tuple[str, ...]:
    """
    The keys of all entries of an open directory.

    A file system may leave out a name that is given to another file while the directory is
    read, and every update does that; so writers are kept out for the moment that it takes.

    Raises:
        IncompleteListingError: writers held the lock all the time.
    """
    try:
        with locked(directory, waiting=waiting, shared=True):
            return census(directory).keys
    except OSError as refusal:
        if refusal.errno not in DENIED or regular.is_there(directory, LOCK):
            raise
    # For reading only, and no lock file: who writes makes it first, so nobody has begun.
    found = census(directory).keys
    if regular.is_there(directory, LOCK):
        raise IncompleteListingError
    return found


def items(directory: int, keys: tuple[str, ...]) -> Iterator[Item]:
    """The keys with their descriptions; those that were deleted meanwhile are left out."""
    for key in keys:
        try:
            found = description(directory, name_of(key))
        except AccessDeniedError:
            # It is there, counts, and can be deleted: whoever lists must see it.
            found = ""
        if found is not None:
            yield Item(key, found)


def description(directory: int, name: str) -> str | None:
    """
    The description in a file, of which no more is read than that takes; None where there is no file.

    Raises:
        AccessDeniedError: there is a file, and this process may not read it.
    """
    block = regular.read(directory, name, at_most=_FIRST_BLOCK)
    if block is None:
        return None
    if len(block.value) < _FIRST_BLOCK:
        return frontmatter.read_description(block.value)
    if found := frontmatter.read_description(block.value + _UNENDED):
        return found
    whole = regular.read(directory, name, at_most=MAX_ENTRY_BYTES)
    return None if whole is None else frontmatter.read_description(whole.value)
