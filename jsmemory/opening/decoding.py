"""
The one strict decoder of options: no unknown key, no wrong type, in the same words for all.

It words its refusals itself. What a parser says of a value may quote the value, and a value
may be a path or a secret.
"""

import difflib
import re
from collections.abc import Iterable, Mapping
from typing import Final, TypeVar

import msgspec
from msgspec import inspect

from jsmemory.errors import InvalidOptionsError

StructT = TypeVar("StructT", bound=msgspec.Struct)

_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")
# What is shown as the name of an unknown option. Anything else may be a value that slipped
# into the place of a key.

_NO_NEWLINE: Final = r"(?!\n)"
# Ends a pattern that lets no newline follow; in a message it would only puzzle.

_ALPHABET: Final = re.compile(r"\^\[([^\]]+)\][*+]\$")
_CHARACTERS: Final = re.compile(r"\w-\w|.")
# A pattern that names characters and nothing else, and those: "A-Z", "_".


def decode(given: object, into: type[StructT], *, at: str) -> StructT:
    """
    Make a struct of plain data.

    Args:
        given: What an operator wrote, a mapping if it is right.
        into: The struct; a key that is no field of it is refused, whatever the struct says.
        at: The dotted name of `given`, ``""`` for the whole configuration.

    Raises:
        InvalidOptionsError: names the option, and what it may be.
    """
    if not isinstance(given, Mapping):
        raise InvalidOptionsError(at or "configuration", "is no mapping", "Give names with their values.")
    fields = {field.encode_name: field for field in msgspec.structs.fields(into)}
    for key in given:
        if key not in fields:
            raise _unknown(key, fields, at)
    values: dict[str, object] = {}
    for name, field in fields.items():
        option = _dotted(at, name)
        if name in given:
            values[field.name] = _value(given[name], field.type, option)
        elif field.required:
            raise InvalidOptionsError(option, "is missing", f"Give {wanted(field.type)}.")
    try:
        return into(**values)
    except (ValueError, TypeError):
        raise InvalidOptionsError(
            at or "configuration", "has values that do not fit together", "Compare them with the documentation."
        ) from None


def _value(given: object, kind: object, option: str) -> object:
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return decode(given, kind, at=option)
    try:
        return msgspec.convert(given, kind)
    except msgspec.ValidationError:
        raise InvalidOptionsError(option, "has a value that it cannot have", f"Give {wanted(kind)}.") from None


def _unknown(key: object, known: Iterable[str], at: str) -> InvalidOptionsError:
    names = list(known)
    remedy = f"Use one of: {', '.join(names)}." if names else "Leave it out."
    if not isinstance(key, str) or not _NAME.fullmatch(key):
        return InvalidOptionsError(at or "configuration", "has a key that is no name of an option", remedy)
    if close := difflib.get_close_matches(key, names, 1):
        remedy = f"Did you mean {close[0]!r}? {remedy}"
    return InvalidOptionsError(_dotted(at, key), "is not known", remedy)


def _dotted(at: str, name: str) -> str:
    return f"{at}.{name}" if at else name


# -- What an option may be, in words --------------------------------------------------------


def wanted(kind: object) -> str:
    """The values of a type, in words that follow "Give"."""
    return _words(inspect.type_info(kind))


def _words(kind: inspect.Type) -> str:
    match kind:
        case inspect.Metadata():
            return _words(kind.type)
        case inspect.UnionType():
            return " or ".join(_words(each) for each in kind.types if not isinstance(each, inspect.NoneType))
        case inspect.BoolType():
            return "true or false"
        case inspect.LiteralType():
            return f"one of: {', '.join(map(str, kind.values))}"
        case inspect.StrType():
            return f"text{_length(kind)}{_form(kind)}"
        case inspect.IntType():
            return f"a whole number{_range(kind)}"
        case inspect.FloatType():
            return f"a number{_range(kind)}"
        case inspect.DictType():
            return "names with their values"
        case inspect.CollectionType():
            return "a list"
        case _:
            return "what the documentation names"


def _length(kind: inspect.StrType) -> str:
    match kind.min_length, kind.max_length:
        case None, None:
            return ""
        case least, None:
            return f" of {least} characters or more"
        case least, most:
            return f" of {least or 0} to {most} characters"


def _form(kind: inspect.StrType) -> str:
    if not kind.pattern:
        return ""
    pattern = kind.pattern.removesuffix(_NO_NEWLINE)
    if alphabet := _ALPHABET.fullmatch(pattern):
        return f" out of {' '.join(_CHARACTERS.findall(alphabet[1]))}"
    return f" of the form {pattern}"


def _range(kind: inspect.IntType | inspect.FloatType) -> str:
    if kind.ge is not None and kind.le is not None:
        return f" from {kind.ge:g} to {kind.le:g}"
    bounds = {"of at least": kind.ge, "above": kind.gt, "of at most": kind.le, "below": kind.lt}
    return "".join(f" {words} {bound:g}" for words, bound in bounds.items() if bound is not None)
