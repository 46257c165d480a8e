"""Records on disk: one process writes into files of its own, line by line, and anyone reads them all."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec

from jsmemory.errors import InvalidOptionsError
from jsmemory.testing.torture.records import SUFFIX, Record, decode, encode

SEGMENT_BYTES: Final = 24 * 1024
"""No file grows longer, save one of a single line: a process whose files are kept small can still record."""


class Recorder:
    """
    The records of one process.

    Each line is handed to the system before the next thing is done, so that a SIGKILL loses no
    line; a power cut is nobody's business here.

    Args:
        folder: Where the records of all processes are.
        name: Of this process; no other one has it.
    """

    def __init__(self, folder: Path, name: str) -> None:
        self._folder = folder
        self._name = name
        self._segment = 0
        self._written = 0
        self._file = self._open()

    def write(self, record: Record) -> None:
        """Have a record written."""
        line = encode(record) + b"\n"
        if self._written and self._written + len(line) > SEGMENT_BYTES:
            os.close(self._file)
            self._segment += 1
            self._written = 0
            self._file = self._open()
        self._written += len(line)
        while line:
            line = line[os.write(self._file, line) :]

    def close(self) -> None:
        """Write no more."""
        os.close(self._file)

    def _open(self) -> int:
        place = self._folder / f"{self._name}-{self._segment:05}{SUFFIX}"
        return os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)


def load(folder: Path) -> list[Record]:
    """
    Read the records of all processes, those of each in their order.

    A last line that was cut off belongs to a process that was killed, and is left out.

    Raises:
        InvalidOptionsError: there are none, or they are no records, or cannot be read.
    """
    files = files_of(folder)
    if not files:
        raise InvalidOptionsError(
            "records", f"names a folder without any, {folder}", "Name one that --keep has filled."
        )
    return [record for file in files for record in _records(file)]


def files_of(folder: Path) -> list[Path]:
    """Where the records are, those of each process in their order."""
    return sorted(folder.glob(f"*{SUFFIX}"))


def _records(file: Path) -> Iterator[Record]:
    *lines, rest = read(file).split(b"\n")
    try:
        for line in lines:
            yield decode(line)
    except msgspec.DecodeError:
        raise InvalidOptionsError(
            "records", f"in {file.name} cannot be read", "Name a folder that --keep of this version has filled."
        ) from None
    if rest:
        try:
            yield decode(rest)
        except msgspec.DecodeError:
            return


def read(file: Path) -> bytes:
    """
    What is in a file of records.

    Raises:
        InvalidOptionsError: it is none that can be read.
    """
    try:
        # What is no file may have no end, or never begin: a pipe waits for whoever writes into it.
        if file.is_file():
            return file.read_bytes()
    except OSError:
        pass
    raise InvalidOptionsError(
        "records", f"has {file.name}, which is no file that can be read", "Remove it, or name what --keep has filled."
    )
