"""One directory of Markdown files: the twin of the JetStream store."""

from pathlib import Path

from jsmemory.backends.file.backend import FileBackend
from jsmemory.backends.file.options import FileOptions
from jsmemory.backends.file.store import FileStore
from jsmemory.errors import InvalidOptionsError
from jsmemory.registration import Registration, Surroundings

__all__ = ["FileBackend", "FileStore", "registration"]


async def _open(options: FileOptions, surroundings: Surroundings) -> FileStore:
    return await FileStore.open(
        surroundings.base_dir / _at_home(options.directory),
        require_read_before_update=options.require_read_before_update,
        prefix=surroundings.prefix,
    )


def _at_home(directory: str) -> Path:
    # No shell has seen this text. Left as it is, it would name a directory "~", which somebody
    # then removes without quotes.
    try:
        return Path(directory).expanduser()
    except RuntimeError:
        raise InvalidOptionsError("directory", "begins with the home of nobody", "Write it out.") from None


registration = Registration(name="file", options=FileOptions, open=_open)
