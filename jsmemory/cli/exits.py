"""What the exit codes mean, and which one an error gets. The one place that says so."""

from enum import IntEnum
from typing import Final

from jsmemory import (
    BackendError,
    JournalCorruptError,
    JsMemoryError,
    OutcomeUnknownError,
    RequestError,
    SetupError,
    TooManyEntriesError,
)


class ExitCode(IntEnum):
    """The codes that a command ends with."""

    OK = 0
    REFUSED = 1
    USAGE = 2
    BACKEND = 3
    OUTCOME_UNKNOWN = 4
    SETUP = 5
    FINDINGS = 6
    DEFECT = 70
    INTERRUPTED = 130
    OUTPUT_LOST = 141
    TERMINATED = 143


MEANINGS: Final = {
    ExitCode.OK: "done",
    ExitCode.REFUSED: "refused, and nothing was written; or an entry was not moved, or lost, or a guarantee was broken",
    ExitCode.USAGE: "the command line is wrong",
    ExitCode.BACKEND: "the backend did not answer, or denied access",
    ExitCode.OUTCOME_UNKNOWN: "a write was sent and its answer lost: read before you decide",
    ExitCode.SETUP: "the store cannot be opened as configured, or a part is not installed",
    ExitCode.FINDINGS: "a check found something to mend; the store can be used",
    ExitCode.DEFECT: "a defect of jsmemory",
    ExitCode.INTERRUPTED: "interrupted with Ctrl-C",
    ExitCode.OUTPUT_LOST: "the output could not be written to its end",
    ExitCode.TERMINATED: "terminated",
}
"""Each code in words, for the help."""


class Refused(Exception):
    """
    A command cannot do what it was asked for.

    Args:
        message: One line that ends with the remedy. It may name a file that the user typed.
        exit_code: What the command ends with.
        code: What a program is told.
        retryable: Whether the same command may succeed later.
    """

    def __init__(self, message: str, exit_code: ExitCode, code: str, *, retryable: bool = False) -> None:
        super().__init__(message)
        self.exit_code = exit_code
        self.code = code
        self.retryable = retryable


class UsageRefused(Refused):
    """
    The command line asks for what cannot be.

    Args:
        message: One line that ends with the remedy. It may name a file that the user typed.
    """

    def __init__(self, message: str) -> None:
        super().__init__(message, ExitCode.USAGE, "usage")


class SetupRefused(Refused):
    """
    What the command needs is not as it must be: a file, a folder, a port, an option in a configuration.

    Args:
        message: One line that ends with the remedy. It may name a file that the user typed.
        code: What a program is told.
    """

    def __init__(self, message: str, code: str = "setup") -> None:
        super().__init__(message, ExitCode.SETUP, code)


def in_words_of_the_command_line(error: JsMemoryError, message: str) -> Refused:
    """The same refusal, with a remedy that names what is typed."""
    return Refused(message, code_of(error), error.code, retryable=error.retryable)


def code_of(error: JsMemoryError) -> ExitCode:
    """The exit code of an error of the contract: one for each reaction that it calls for."""
    match error:
        case RequestError() | TooManyEntriesError() | JournalCorruptError():
            # The last two are the world's fault; but it did answer, and the same command will meet the same again.
            return ExitCode.REFUSED
        case OutcomeUnknownError():
            return ExitCode.OUTCOME_UNKNOWN
        case BackendError():
            return ExitCode.BACKEND
        case SetupError():
            return ExitCode.SETUP
    return ExitCode.DEFECT
