"""One directory of Markdown files: the twin of the JetStream store."""

from jsmemory.backends.file.backend import FileBackend
from jsmemory.backends.file.store import FileStore

__all__ = ["FileBackend", "FileStore"]
