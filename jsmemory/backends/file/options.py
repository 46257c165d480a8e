"""What an operator may say about a file store."""

from typing import Annotated

import msgspec


class FileOptions(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """
    The options of the backend ``file``.

    Attributes:
        directory: Where the entries lie, one Markdown file each. Made, parents too, where it is
            missing; a relative one counts from the ``base_dir`` that the store is opened with,
            and one that begins with ``~`` from the home directory.
        require_read_before_update: Whether an update needs a read of the current value first.
        prefix: The sub-directory of one agent: a key without a dot. ``""`` is the directory
            itself; None leaves it to whoever opens the store.
    """

    directory: Annotated[str, msgspec.Meta(min_length=1)] = "./memory"
    require_read_before_update: bool = True
    prefix: str | None = None
