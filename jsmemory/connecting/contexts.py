"""
NATS contexts, as the nats CLI keeps them: who may connect where, under a name.

A context is a JSON file in ``nats/context`` under the user's configuration folder; the name
of the selected one stands in ``nats/context.txt`` beside it. They are only ever read here.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import msgspec

from jsmemory.connecting.files import read_small_file
from jsmemory.errors import InvalidOptionsError

TEXT_FIELDS: Final = (
    "url",
    "user",
    "password",
    "token",
    "creds",
    "nkey",
    "user_jwt",
    "user_seed",
    "ca",
    "cert",
    "key",
    "inbox_prefix",
    "jetstream_domain",
    "jetstream_api_prefix",
)
"""The fields that are honoured. Others are left to the tools that put them there, save those below."""

_UNMET: Final = {
    "socks_proxy": "Tunnel to the server, and name the near end of the tunnel as url.",
    "nsc": "Name the credentials themselves: creds.",
    "windows_cert_store": "Name files: cert, key and ca.",
}
# Fields that say how to connect and are not honoured, each with what to do: whoever left them aside would
# go another way than was asked for, or as somebody else.

_MAX_NAME_LENGTH: Final = 200
_MAX_NAMES_LISTED: Final = 20
_LIKE_A_SERVER: Final = re.compile(r"://|:\d{1,5}$")
_ILLEGAL_IN_A_NAME: Final = re.compile(r"[/\\\x00-\x1f\x7f]|\.\.")


def is_context_name(name: object) -> bool:
    """Whether `name` is one that a context can have: text that cannot climb out of the folder."""
    return isinstance(name, str) and 0 < len(name) <= _MAX_NAME_LENGTH and not _ILLEGAL_IN_A_NAME.search(name)


def selected_context(environment: Mapping[str, str]) -> str | None:
    """
    The name of the context that ``nats context select`` made the default; None where there is none.

    Raises:
        InvalidOptionsError: the file that says so is unreadable, or holds no legal name.
    """
    folder = _folder(environment)
    if folder is None or not _is_there(folder / "context.txt"):
        return None
    name = read_small_file(str(folder / "context.txt"), "context").decode(errors="replace").strip()
    if name and not is_context_name(name):
        raise InvalidOptionsError("context", "is selected under an illegal name", "Select one: nats context select")
    return name or None


def read_context(name: str, environment: Mapping[str, str]) -> dict[str, str]:
    """
    The fields of the context `name` that are honoured and not empty.

    ``tls_first`` comes back as ``"true"`` where it is set.

    Raises:
        InvalidOptionsError: there is no such context (the known ones are listed), its file is
            unreadable or no JSON object, a field has a wrong type, or asks for a way to connect
            that there is not.
    """
    folder = _folder(environment)
    known = known_contexts(environment)
    if name not in known and _LIKE_A_SERVER.search(name):
        # The first argument of a client of NATS is its server nearly everywhere else.
        raise InvalidOptionsError(
            "context", "is a server, and not the name of a context", "Pass it as servers=, or --server."
        )
    if not is_context_name(name):
        raise InvalidOptionsError("context", "is no legal name", "Use a name that nats context ls shows.")
    if folder is None or name not in known:
        listed = ", ".join(known[:_MAX_NAMES_LISTED]) if folder is not None else ""
        remedy = f"Use one of: {listed}." if listed else "There are none; make one with: nats context add"
        raise InvalidOptionsError("context", "names a context that does not exist", remedy)
    return _fields(read_small_file(str(folder / "context" / f"{name}.json"), "context"))


def known_contexts(environment: Mapping[str, str]) -> tuple[str, ...]:
    """The names of all contexts, sorted."""
    folder = _folder(environment)
    if folder is None:
        return ()
    try:
        names = [path.stem for path in (folder / "context").iterdir() if path.suffix == ".json"]
    except OSError:
        return ()
    return tuple(sorted(filter(is_context_name, names)))


def _folder(environment: Mapping[str, str]) -> Path | None:
    if configured := environment.get("XDG_CONFIG_HOME"):
        return Path(configured) / "nats"
    try:
        return Path.home() / ".config" / "nats"
    except RuntimeError:
        # A container's user without a home has no contexts.
        return None


def _is_there(path: Path) -> bool:
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        # It may be there. Whoever reads it is told why it cannot be.
        return True
    return True


def _fields(data: bytes) -> dict[str, str]:
    remedy = "Make it again with: nats context add"
    try:
        raw = msgspec.json.decode(data)
    except (msgspec.DecodeError, RecursionError):
        raise InvalidOptionsError("context", "names a file that is no JSON", remedy) from None
    if not isinstance(raw, dict):
        raise InvalidOptionsError("context", "names a file that is no JSON object", remedy)
    fields: dict[str, str] = {}
    for name in TEXT_FIELDS:
        value = raw.get(name)
        if value is not None and not isinstance(value, str):
            raise InvalidOptionsError(f"context.{name}", "is no text", f"Write it as text, or {remedy.lower()}")
        if value:
            fields[name] = value
    for name, cure in _UNMET.items():
        # The credentials that nsc names stand in the file beside it, once the nats CLI has looked them up.
        if raw.get(name) and not (name == "nsc" and fields.get("creds")):
            raise InvalidOptionsError(f"context.{name}", "is not supported", cure)
    first = raw.get("tls_first")
    if first is not None and not isinstance(first, bool):
        raise InvalidOptionsError("context.tls_first", "is neither true nor false", "Write true or false.")
    if first:
        fields["tls_first"] = "true"
    return fields
