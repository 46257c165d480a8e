"""
What a model may pass to each tool: strict structs, and the JSON schemas that come of them.

Decoding answers whatever a model sends, in its own words and in bounded time. It does not
repeat what a parser says: that may quote the value.
"""

import json
import re
from collections.abc import Mapping
from typing import Annotated, Any, Final, TypeVar, get_args

import msgspec
from msgspec import Meta

from jsmemory.errors import EntryTooLargeError, InvalidEntryError, InvalidKeyError
from jsmemory.keys import validate_key
from jsmemory.limits import MAX_CONTENT_BYTES, MAX_DESCRIPTION_LENGTH, MAX_KEY_LENGTH

MAX_ARGUMENTS_LENGTH: Final = 6 * (MAX_CONTENT_BYTES + 2 * MAX_DESCRIPTION_LENGTH + MAX_KEY_LENGTH) + 1024
"""Characters of arguments that come as JSON text. An escape takes six for a byte: no legal call is longer."""

_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,39}")
# What is shown as the name of an unknown argument. Anything else may be a value in the wrong place.

# The pattern is told and not enforced here: whether a key is legal, `validate_key` says in its own
# words, and knows that no newline may follow, which in some languages a pattern lets pass.
Key = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=MAX_KEY_LENGTH,
        extra_json_schema={"pattern": r"^[A-Za-z0-9_=-]+(\.[A-Za-z0-9_=-]+)*$"},
        description=(
            f"The name of the memory: 1 to {MAX_KEY_LENGTH} characters out of A-Z a-z 0-9 . _ = - "
            "with no dot at either end and no two dots in a row."
        ),
    ),
]
Description = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=MAX_DESCRIPTION_LENGTH,
        description=(
            f"One line that says what the memory is about, 1 to {MAX_DESCRIPTION_LENGTH} characters. "
            "It is what later runs see of the memory before they read it."
        ),
    ),
]
Content = Annotated[
    str,
    Meta(
        max_length=MAX_CONTENT_BYTES,
        description=f"The text to keep, at most {MAX_CONTENT_BYTES} bytes of UTF-8. It comes back exactly as given.",
    ),
]
Overwrite = Annotated[
    bool,
    Meta(
        description=(
            "false: store a new memory, and change nothing where the key is taken. true: replace the memory under "
            "the key, which this run must have read with memory_read, or written itself, since it last changed."
        ),
    ),
]


class ListArguments(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Those of ``memory_list``: none."""


class ReadArguments(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Those of ``memory_read``."""

    key: Key


class WriteArguments(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Those of ``memory_write``."""

    key: Key
    description: Description
    content: Content
    overwrite: Overwrite = False


class DeleteArguments(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Those of ``memory_delete``."""

    key: Key


StructT = TypeVar("StructT", bound=msgspec.Struct)


class UnfitArguments(Exception):
    """
    A tool cannot be called with what came.

    Attributes:
        code: A stable word.
        reason: What is wrong and what to do, for the model.
    """

    def __init__(self, code: str, reason: str) -> None:
        super().__init__(code, reason)
        self.code = code
        self.reason = reason


def schema_of(arguments: type[msgspec.Struct]) -> dict[str, Any]:
    """The JSON schema of a tool's arguments; a fresh one on each call."""
    _, definitions = msgspec.json.schema_components([arguments], ref_template="{name}")
    schema = definitions[arguments.__name__]
    # What the tool does is said by the tool; the name of a class says nothing to a model.
    return {name: value for name, value in schema.items() if name not in ("title", "description")}


def decode(given: object, into: type[StructT]) -> StructT:
    """
    Make arguments of what a model sent.

    Args:
        given: A mapping; or JSON text of one, as some providers pass it on. Empty text is no arguments.
        into: The struct.

    Raises:
        UnfitArguments: names what is missing, unknown or wrong. Nothing else, whatever comes.
    """
    try:
        if isinstance(given, (str, bytes)):
            decoded = msgspec.json.decode(_bounded(given), type=into)
        else:
            decoded = msgspec.convert(given, into)
    except (msgspec.DecodeError, UnicodeError):
        decoded = _explain(given, into)
    key = getattr(decoded, "key", None)
    if key is not None:
        try:
            validate_key(key)
        except InvalidKeyError as error:
            raise UnfitArguments(error.code, str(error)) from None
    return decoded


def _bounded(text: str | bytes) -> str | bytes:
    if len(text) > MAX_ARGUMENTS_LENGTH:
        raise UnfitArguments(
            EntryTooLargeError.code,
            f"The arguments are longer than those of any legal call. A content has at most {MAX_CONTENT_BYTES} bytes "
            "of UTF-8. Shorten it, or split it over several keys.",
        )
    return "{}" if not text or text.isspace() else text


def _explain(given: object, into: type[StructT]) -> StructT:
    """Say what is wrong; in the rare case that nothing is, decode after all."""
    if isinstance(given, (str, bytes)):
        given = _parsed(given)
    if not isinstance(given, Mapping):
        raise UnfitArguments(
            "invalid_arguments", f"The arguments are no JSON object. Pass an object. {_takes(into)}"
        ) from None
    fields = {field.encode_name: field for field in msgspec.structs.fields(into)}
    problems: list[tuple[str, str]] = []
    for name in given:
        if name not in fields:
            shown = f" {name}" if isinstance(name, str) and _NAME.fullmatch(name) else ""
            problems.append(("invalid_arguments", f"There is no argument{shown}. {_takes(into)}"))
            break  # one is enough, however many there are
    for name, field in fields.items():
        if name in given:
            problems += _problems_of(name, given[name], field.type)
        elif field.required:
            problems.append(("invalid_arguments", f"The argument {name} is missing. {_meaning(field.type)}"))
    if problems:
        codes = {code for code, _ in problems}
        code = codes.pop() if len(codes) == 1 else "invalid_arguments"
        raise UnfitArguments(code, " ".join(reason for _, reason in problems)) from None
    return into(**given)


def _parsed(text: str | bytes) -> object:
    # Takes halves of surrogate pairs, which the first parser does not: they are told as what they are.
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise UnfitArguments(
            "invalid_arguments", "The arguments are no valid JSON. Pass a JSON object, with quotes in texts escaped."
        ) from None


def _problems_of(name: str, value: object, kind: Any) -> list[tuple[str, str]]:
    try:
        if isinstance(msgspec.convert(value, kind), str) and name == "key":
            validate_key(value)
    except (msgspec.ValidationError, InvalidKeyError, UnicodeError):
        if not isinstance(value, str):
            return [("invalid_arguments", f"The argument {name} has a wrong type. {_meaning(kind)}")]
    else:
        return []
    match name:
        case "key":
            return [(InvalidKeyError.code, f"The key is malformed. {_meaning(kind)}")]
        case "content":
            size = len(value.encode(errors="surrogatepass"))
            return [(EntryTooLargeError.code, str(EntryTooLargeError(size, MAX_CONTENT_BYTES)))]
        case "description":
            return [(InvalidEntryError.code, f"The description has {len(value)} characters. {_meaning(kind)}")]
        case _:
            return [("invalid_arguments", f"The argument {name} has a wrong type. {_meaning(kind)}")]


def _meaning(kind: Any) -> str:
    return next((meta.description or "" for meta in get_args(kind) if isinstance(meta, Meta)), "")


def _takes(into: type[msgspec.Struct]) -> str:
    names = [field.encode_name for field in msgspec.structs.fields(into)]
    return f"The tool takes: {', '.join(names)}." if names else "The tool takes no arguments."
