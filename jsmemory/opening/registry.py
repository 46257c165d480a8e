"""Which backends there are: the built-in ones, and those of other distributions."""

import re
from collections.abc import Mapping
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Final

from jsmemory.errors import InvalidOptionsError, UnknownBackendError
from jsmemory.registration import ENTRY_POINT_GROUP, Registration

_BUILT_IN: Final[Mapping[str, str]] = {
    "file": "jsmemory.backends.file:registration",
    "in_process": "jsmemory.backends.in_process:registration",
    "jetstream": "jsmemory.backends.jetstream:registration",
}
# Known without any metadata, so that a checkout works that was never installed; and no other
# distribution can take one of these names.

_NAME: Final = re.compile(r"[A-Za-z0-9_.-]{1,64}")
# What is repeated to the operator. Anything else may be a value that slipped into this place.


def known_backends() -> tuple[str, ...]:
    """The names of all backends, sorted. Loads none of them."""
    return tuple(sorted({*_BUILT_IN, *entry_points(group=ENTRY_POINT_GROUP).names}))


def find_backend(name: str) -> Registration[Any]:
    """
    Load one backend, and no other.

    Raises:
        UnknownBackendError: nobody registered it; lists the names that are registered.
        InvalidOptionsError: somebody did, and it cannot be used.
    """
    if name in _BUILT_IN:
        return _load(EntryPoint(name, _BUILT_IN[name], ENTRY_POINT_GROUP))
    registered = {each.value: each for each in entry_points(group=ENTRY_POINT_GROUP, name=name)}
    if not registered:
        raise UnknownBackendError(name if _NAME.fullmatch(name) else "?", known_backends())
    if len(registered) > 1:
        raise _unusable(name, "which several distributions register", "Uninstall all of them but one.")
    return _load(*registered.values())


_MEND: Final = "Ask its makers to mend it."


def _load(entry_point: EntryPoint) -> Registration[Any]:
    name = entry_point.name
    try:
        module = entry_point.module
    except Exception as error:  # depends on the release of importlib.metadata
        raise _unusable(name, "whose entry point is not written as module:attribute", _MEND) from error
    try:
        import_module(module)
    except ModuleNotFoundError as error:
        is_its_own = error.name is not None and f"{module}.".startswith(f"{error.name}.")
        missing = "whose own module is missing" if is_its_own else "which needs a module that is missing"
        raise _unusable(name, missing, "Install it anew, with all that it needs.") from error
    except Exception as error:  # whatever somebody else's module does when it is imported
        raise _unusable(name, "whose module raised an error when it was imported", _MEND) from error
    try:
        registration = entry_point.load()
    except Exception as error:
        raise _unusable(name, "whose module has no attribute of the name in its entry point", _MEND) from error
    if not isinstance(registration, Registration):
        raise _unusable(name, "whose entry point is no Registration", _MEND)
    if registration.name != name:
        raise _unusable(name, "which calls itself by another name", _MEND)
    return registration


def _unusable(name: str, problem: str, remedy: str) -> InvalidOptionsError:
    return InvalidOptionsError("backend", f"names {name!r}, {problem}", remedy)
