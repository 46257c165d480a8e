"""Running a command to its exit code: an error is one line with its remedy, never a traceback."""

import logging
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, TextIO

from jsmemory import JsMemoryError
from jsmemory.cli import screen
from jsmemory.cli.exits import ExitCode, Refused, code_of
from jsmemory.cli.waiting import CutShort, Terminated, ignore_further_stops

PROGRAM: Final = "jsmemory"
_TRACEBACK_VARIABLE: Final = "JSMEMORY_TRACEBACK"


def run(arguments: Sequence[str]) -> int:
    """Run a command line; the exit code."""
    arguments = arguments or ["--help"]
    as_json = _wants_json(arguments)
    # Where standard error was closed, there is nobody to tell.
    sys.stdout = sys.stdout or _closed_output()
    sys.stderr = sys.stderr or Path(os.devnull).open("w")  # noqa: SIM115
    if not os.environ.get(_TRACEBACK_VARIABLE):
        # What libraries log is for the authors of programs.
        logging.getLogger().addHandler(logging.NullHandler())
    try:
        code = _run(arguments, as_json=as_json)
        sys.stdout.flush()
    except screen.OutputLost as lost:
        if not lost.is_closed:
            screen.talk(f"{PROGRAM}: The output could not be written. Make room where it goes, or send it elsewhere.")
        code = ExitCode.OUTPUT_LOST
    except OSError:
        code = ExitCode.OUTPUT_LOST
    if code == ExitCode.OUTPUT_LOST:
        # At its end Python flushes once more, and would complain.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return code


def _closed_output() -> TextIO:
    # It takes the place of what was closed, so that no other file gets its number; and it
    # refuses what is written, so that no lost answer looks like an empty one.
    return os.fdopen(os.open(os.devnull, os.O_RDONLY), "w")


def _run(arguments: Sequence[str], *, as_json: bool) -> int:
    try:
        from jsmemory.cli.application import command

        answer = command(arguments)(args=list(arguments), prog_name=PROGRAM, standalone_mode=False)
    except JsMemoryError as error:
        _report(error.code, str(error), retryable=error.retryable, as_json=as_json)
        return code_of(error)
    except Refused as refusal:
        _report(refusal.code, str(refusal), retryable=refusal.retryable, as_json=as_json)
        return refusal.exit_code
    except CutShort as cut:
        _report_stop("terminated" if cut.is_terminated else "interrupted", str(cut), as_json=as_json)
        return ExitCode.TERMINATED if cut.is_terminated else ExitCode.INTERRUPTED
    except KeyboardInterrupt:
        return _interrupted(as_json=as_json)
    except Terminated:
        _report_stop("terminated", "Terminated. Where it was writing, read before you decide.", as_json=as_json)
        return ExitCode.TERMINATED
    except screen.OutputLost:
        raise
    except Exception as failure:
        if type(failure).__name__ == "Abort":
            return _interrupted(as_json=as_json)
        if hasattr(failure, "format_message"):
            # Typer's own refusal of a command line, whose class moves between its releases.
            _report("usage", _with_remedy(failure), as_json=as_json)
            return ExitCode.USAGE
        if os.environ.get(_TRACEBACK_VARIABLE):
            raise
        if isinstance(failure, OSError) and isinstance(failure.filename, str | bytes):
            # A look at a path that was typed, as a rule; the library words its own.
            _report("setup", _refused_by_the_system(failure), as_json=as_json)
            return ExitCode.SETUP
        _report(
            "defect",
            f"This should not happen ({type(failure).__name__}). "
            f"Set {_TRACEBACK_VARIABLE}=1, run it again, and report what it prints.",
            as_json=as_json,
        )
        return ExitCode.DEFECT
    if answer == ExitCode.INTERRUPTED:
        # Some releases of typer make a code of Ctrl-C themselves.
        return _interrupted(as_json=as_json)
    return int(answer) if isinstance(answer, int) else ExitCode.OK


def _interrupted(*, as_json: bool) -> int:
    _report_stop("interrupted", "Interrupted. Where it was writing, read before you decide.", as_json=as_json)
    return ExitCode.INTERRUPTED


def _with_remedy(refusal: Any) -> str:
    path = refusal.ctx.command_path if getattr(refusal, "ctx", None) is not None else PROGRAM
    message = str(refusal.format_message()).strip().rstrip(".")
    stop = "" if message.endswith(("?", "!")) else "."
    return f"{message}{stop} See: {path} --help"


def _refused_by_the_system(refusal: OSError) -> str:
    path = screen.one_line(os.fsencode(refusal.filename).decode(errors="replace"))
    reason = os.strerror(refusal.errno) if refusal.errno else "the system gives no reason"
    return f"The path {path} cannot be used: {reason}. Name another one, or mend that."


def _wants_json(arguments: Sequence[str]) -> bool:
    options = arguments[: list(arguments).index("--")] if "--" in arguments else arguments
    return "--json" in options


def _report_stop(code: str, message: str, *, as_json: bool) -> None:
    ignore_further_stops()
    # Whoever was told to stop does not wait for a reader who hangs.
    if not as_json or screen.takes_more():
        _report(code, message, as_json=as_json)


def _report(code: str, message: str, *, retryable: bool = False, as_json: bool) -> None:
    if as_json:
        with suppress(screen.OutputLost):
            screen.put_json({"error": {"code": code, "message": message, "retryable": retryable}})
    else:
        screen.talk(f"{PROGRAM}: {message}")
