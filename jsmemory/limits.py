"""The numbers of the contract, each with its reason."""

from typing import Final

MAX_KEY_LENGTH: Final = 200
"""Characters of a key: with a suffix it still fits the 255 bytes of a file name."""

MAX_DESCRIPTION_LENGTH: Final = 500
"""Code points of a description: one line of a start-of-run index, not a second body."""

MAX_CONTENT_BYTES: Final = 64 * 1024
"""UTF-8 bytes of a content: what a model can afford to read back."""

MAX_ENTRIES: Final = 1024
"""Entries of one store: an index of them still fits a context window."""

MAX_HEADER_BYTES: Final = 2 * 2000 + 64
"""Bytes of the YAML header, delimiters included: twice the longest description, and the frame."""

MAX_ENTRY_BYTES: Final = MAX_CONTENT_BYTES + MAX_HEADER_BYTES
"""Bytes of a stored value. A bucket that is capped below it would refuse legal entries."""

MAX_READ_BYTES: Final = 64 * 1024 * 1024
"""
Bytes of a stored value that are read, whoever wrote it: the largest message that a nats-server can be
told to take, so that whatever a bucket can hold can be read from a file too. Beyond it lies what was
planted, or a mistake, and a process that read it would be killed for want of memory.
"""
