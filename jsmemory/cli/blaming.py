"""From what the library refuses to what was typed: the option, or the variable, and what to type instead."""

import os
from typing import TYPE_CHECKING, Final

from jsmemory import (
    BackendUnavailableError,
    EntryNotFoundError,
    InvalidOptionsError,
    JsMemoryError,
    ReadOnlyStoreError,
    StoreFullError,
)
from jsmemory.cli.exits import Refused, in_words_of_the_command_line

if TYPE_CHECKING:
    from jsmemory.cli.options import Choice

IDENTITY_VARIABLE: Final = "JSMEMORY_IDENTITY"
_CONTEXT_VARIABLE: Final = "NATS_CONTEXT"

_FLAGS: Final = {"servers": "server"}
# Options of the library that have another name on the command line.

_SERVERS_NAMED: Final = ("named by servers.", "named by --server.")
_SERVERS_TO_NAME: Final = ("with servers=,", "with --server,")
_PREFIX_TO_SET: Final = ("set the option prefix", "name a prefix: --prefix NAME")
# What a host is told in the middle of a sentence, and whoever types.


def in_typed_words(error: JsMemoryError, choice: "Choice") -> Refused | None:
    """
    The same refusal in the words of a command line; None where the library's own will do.

    Args:
        error: What a verb has met.
        choice: What was typed.
    """
    match error:
        case InvalidOptionsError():
            called = blamed(error.option, choice)
            words = called and blaming(called, error)
        case ReadOnlyStoreError():
            cure = "Leave out --read-only." if choice.read_only else "Set read_only to false in its configuration."
            words = f"This memory is read-only, nothing was written. {cure}"
        case EntryNotFoundError():
            words = f"There is no entry {error.key}. See which there are: jsmemory list."
        case StoreFullError():
            words = (
                f"The store holds its {error.limit} entries. Remove one: jsmemory delete KEY. "
                "Or replace one: --overwrite."
            )
        case BackendUnavailableError():
            words = str(error).replace(*_SERVERS_NAMED).replace(*_SERVERS_TO_NAME)
        case _:
            words = None
    return in_words_of_the_command_line(error, words) if words else None


def blaming(called: str, error: InvalidOptionsError) -> str:
    """
    The same refusal of what was typed or set.

    Args:
        called: As `blamed` gives it.
        error: The refusal.
    """
    return f"{called} {error.problem}. {error.remedy}".replace(*_PREFIX_TO_SET)


def blamed(option: str, choice: "Choice") -> str | None:
    """
    What was typed or set that the library calls `option`; None where it was neither.

    Args:
        option: As an `InvalidOptionsError` names it.
        choice: What was typed.
    """
    field = option.removeprefix("options.")
    flag = _FLAGS.get(field, field)
    if getattr(choice, flag, None) not in (None, False):
        return f"--{flag.replace('_', '-')}"
    if option in ("identity", "prefix"):
        # Without a prefix the identity is the prefix.
        if choice.identity is not None:
            return "--identity"
        return f"The variable {IDENTITY_VARIABLE}" if os.environ.get(IDENTITY_VARIABLE) else None
    if option == "context" and os.environ.get(_CONTEXT_VARIABLE):
        return f"The variable {_CONTEXT_VARIABLE}"
    return f"The variable {option}" if option in os.environ else None
