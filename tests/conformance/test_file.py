"""The contract on a directory: code that was tried on the twin meets nothing new on JetStream."""

from pathlib import Path

from jsmemory.testing.harnesses.file import FileHarness
from jsmemory.testing.pytest_cases import backend_cases, store_cases


class WholeDirectory(FileHarness):
    def __init__(self, tmp_path: Path) -> None:
        super().__init__(tmp_path, prefix="")


test_store = store_cases(FileHarness)
test_store_without_a_prefix = store_cases(WholeDirectory)
test_driver = backend_cases(FileHarness)
