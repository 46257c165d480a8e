"""The file store: the twin of the JetStream one, for one host and for trying things out."""

import os

from jsmemory.backed_store import BackedStore
from jsmemory.backends.file.backend import FileBackend


class FileStore(BackedStore):
    """
    Entries as Markdown files in a directory, made by `open`.

    Keeps every promise of the contract among all processes of one host that share the
    directory. It does not promise them across hosts that mount it over a network.
    """

    @classmethod
    async def open(
        cls, directory: str | os.PathLike[str], *, require_read_before_update: bool = True, prefix: str = ""
    ) -> "FileStore":
        """
        Open a directory, and make it where it is missing.

        Args:
            directory: Where the entries lie, one file each.
            require_read_before_update: Whether an update needs the authority of a scope.
            prefix: The sub-directory of one agent, a key without a dot; ``""`` for the directory itself.

        Raises:
            InvalidOptionsError: one of them cannot be, or something else lies there.
            AccessDeniedError: the directory can be neither made nor opened.
            BackendUnavailableError: the disk is full or failing.
        """
        backend = await FileBackend.open(directory, prefix=prefix)
        return cls(backend, require_read_before_update=require_read_before_update)
