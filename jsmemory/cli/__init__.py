"""
The command line: one verb a file, through the front door only, like any customer.

`main` is the console script. `application` knows the verbs, `options` what all of them
share, `choosing` opens the store that was chosen, `waiting` waits for the asynchronous part
of a verb, `running` runs a command to its exit code, `exits` says what the codes mean, and
`screen` is the only one that writes.
"""

import sys
from typing import Final, NoReturn

_MISSING: Final = "The command line is not installed. Install it with: pip install 'jsmemory[cli]'"
_SETUP: Final = 5
_INTERRUPTED: Final = 130


def main() -> NoReturn:
    """Run the command that the arguments ask for, and exit with its code."""
    try:
        import rich  # noqa: F401 - both are asked for here, so that nowhere else one can be missing
        import typer  # noqa: F401

        from jsmemory.cli.running import run
        from jsmemory.cli.waiting import ignore_further_stops

        code = run(sys.argv[1:])
        # Python has threads to end, and would complain of being interrupted in it.
        ignore_further_stops()
    except KeyboardInterrupt:
        sys.exit(_INTERRUPTED)
    except ModuleNotFoundError as missing:
        if (missing.name or "").partition(".")[0] not in ("rich", "typer"):
            raise
        _say_that_it_is_missing()
        sys.exit(_SETUP)
    sys.exit(code)


def _say_that_it_is_missing() -> None:
    if "--json" in sys.argv:
        import json

        error = {"code": "cli_missing", "message": _MISSING, "retryable": False}
        sys.stdout.write(json.dumps({"error": error}) + "\n")
    else:
        sys.stderr.write(f"jsmemory: {_MISSING}\n")
