"""
The one stored format: a YAML header that holds the description, then the content verbatim.

Writing is strict: a YAML emitter writes the description, always in double quotes, on one
line, so that a colon, a leading dash or ``0x1F`` stays text for every reader. Reading is
lenient: a value that another program wrote or a person edited is never an error, and where
it has no valid header the whole of it is the content.
"""

import math
import re
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Final

import yaml

from jsmemory.entries import Draft

_OPENING: Final = b"---\n"
_CLOSING: Final = b"\n---\n"

_MAX_READ_HEADER_BYTES: Final = 64 * 1024
# Many times what any program writes here; it bounds the time that a hostile value can take.

_MAX_DEPTH: Final = 32
# Collections inside one another: a header is a flat list of fields, with a list of tags at most.

_DUMPER: Final = yaml.CBaseDumper if yaml.__with_libyaml__ else yaml.BaseDumper
_LOADER: Final = yaml.CBaseLoader if yaml.__with_libyaml__ else yaml.BaseLoader

_ONE_LINE: Final = 2**31 - 1
# A width that no description reaches; the C emitter counts in an int.


# -- Writing --------------------------------------------------------------------------------


def serialise(draft: Draft) -> bytes:
    """
    The bytes of an entry, the same in every backend.

    Returns:
        A header of at most `MAX_HEADER_BYTES` (6 bytes a code point at worst, and the
        frame), then the content as it is.
    """
    description = draft.description
    scalar = _emit(description) if _ESCAPED.search(description) else f'"{description}"\n'
    return b"---\ndescription: %b---\n\n%b" % (scalar.encode(), draft.content)


_ESCAPED: Final = re.compile('["\\\\\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]')
# What an emitter does not write as it is. Where there is none of it none need be started: quotes
# are all that it would add, and few descriptions are otherwise.


def _emit(description: str) -> str:
    events = (
        yaml.StreamStartEvent(),
        yaml.DocumentStartEvent(explicit=False),
        yaml.ScalarEvent(None, None, (False, True), description, style='"'),
        yaml.DocumentEndEvent(explicit=False),
        yaml.StreamEndEvent(),
    )
    line: str = yaml.emit(events, Dumper=_DUMPER, allow_unicode=True, width=_ONE_LINE)
    if "\\U" in line:
        line = _ESCAPE.sub(_unescape_long, line)
    return line


_ESCAPE: Final = re.compile(r"\\(?:U([0-9A-F]{8})|.)")
# Takes escapes one after the other, so that the second half of an escaped backslash never
# looks like the beginning of another escape.


def _unescape_long(escape: re.Match[str]) -> str:
    # The emitters escape whatever is beyond the basic plane, at ten bytes a character: 500
    # emoji would burst the header, and stand there unreadable. YAML allows them as they are.
    return chr(int(escape[1], 16)) if escape[1] else escape[0]


# -- Reading --------------------------------------------------------------------------------


def parse(value: bytes) -> tuple[str, str]:
    """
    The description and the content of a stored value. Never raises, whatever the bytes.

    Returns:
        ``("", whole value)`` where there is no valid header. The description is as it
        stands there: only what jsmemory wrote is sure to be one line. A byte that is not
        UTF-8 becomes U+FFFD.
    """
    header, start = _split(value)
    description = None if header is None else _description_in(header)
    if description is None:
        return "", _decode(value)
    return description, _decode(value[start:])


def read_description(value: bytes) -> str:
    """What `parse` gives as the description, without a look at the content."""
    header, _ = _split(value)
    return (header is not None and _description_in(header)) or ""


def _split(value: bytes) -> tuple[bytes | None, int]:
    """The bytes between the delimiters, None without them, and where the content starts."""
    if not value.startswith(_OPENING):
        return None, 0
    end = value.find(_CLOSING, len(_OPENING))
    if end >= 0:
        start = end + len(_CLOSING)
        start += value.startswith(b"\n", start)
    else:
        end = len(value) - len(_CLOSING) + 1
        start = len(value)
        if end < len(_OPENING) or not value.endswith(_CLOSING[:-1]):
            return None, 0
    if end - len(_OPENING) > _MAX_READ_HEADER_BYTES:
        return None, 0
    return value[len(_OPENING) : end], start


_WRITTEN_HERE: Final = re.compile(rb'description: "([^"\\\x00-\x1f]*)"')
# What `serialise` writes where nothing needs an escape. Such a scalar is its own meaning,
# so that a listing need not start a YAML parser for every entry.


def _description_in(header: bytes) -> str | None:
    if written := _WRITTEN_HERE.fullmatch(header):
        return _decode(written[1])
    try:
        return _parse_header(_decode(header))
    except Exception:  # whatever a parser trips over: the value is there and must be readable
        return None


def _parse_header(header: str) -> str | None:
    """
    The description that a header names, ``""`` where it names none.

    Follows the parser's events instead of building a tree: neither depth nor aliases
    that multiply can cost more than the header's length.

    Returns:
        None where this is no header: no mapping, a key twice, an alias of nothing, a
        description that is no scalar, or more than one document.

    Raises:
        yaml.YAMLError: it is no YAML.
    """
    tame, meaning_of = _tame(header)
    description = ""
    anchors: dict[str, str | None] = {}
    keys: set[str] = set()
    key: str | None = None
    documents = depth = 0
    for event in yaml.parse(f"{tame}\n", Loader=_LOADER):
        if isinstance(event, yaml.DocumentStartEvent):
            documents += 1
            if documents > 1:
                return None
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        elif isinstance(event, yaml.NodeEvent):
            text = None  # a collection has no text
            if isinstance(event, yaml.AliasEvent):
                if event.anchor not in anchors:
                    return None
                text = anchors[event.anchor]
            else:
                if isinstance(event, yaml.ScalarEvent):
                    text = meaning_of(event)
                if event.anchor is not None:
                    anchors[event.anchor] = text
            if depth == 0:
                if not isinstance(event, yaml.MappingStartEvent):
                    return None
            elif depth == 1 and key is None:
                if text is None or text in keys:
                    return None
                keys.add(text)
                key = text
            elif depth == 1:
                if key == "description":
                    if text is None:
                        return None
                    description = text
                key = None
            depth += isinstance(event, yaml.CollectionStartEvent)
            if depth > _MAX_DEPTH:
                return None
    return description


def _decode(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return _HALF_A_PAIR.sub("\ufffd", value.decode(errors="surrogateescape"))


_HALF_A_PAIR: Final = re.compile("[\ud800-\udfff]")


# -- What the parsers cannot read, but other programs write ---------------------------------

# Characters that PyYAML refuses or takes for the end of a line (today's YAML does neither), and
# a question mark as the first word, which goccy/go-yaml leaves without quotes.
_UNREADABLE: Final = (
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]"
    r"|(?<=^description: )\?(?=[ \n]|\Z)"
)

# A character that JSON escapes in two halves, or one half alone.
_HEX: Final = "[0-9a-fA-F]{2}"
_HALF: Final = rf"u[dD][89abAB]{_HEX}(?:\\u[dD][c-fC-F]{_HEX})?|u[dD][c-fC-F]{_HEX}|U0000[dD][89a-fA-F]{_HEX}"

_SUSPECT: Final = re.compile(rf"{_UNREADABLE}|\\(?:{_HALF})", re.MULTILINE)
_AWKWARD: Final = re.compile(rf"{_UNREADABLE}|\\(?:(?P<half>{_HALF})|.)", re.MULTILINE | re.DOTALL)
# The second takes every escape in turn, so that a backslash which is itself escaped begins none;
# the first is quick, and may raise a false alarm.


def _tame(header: str) -> tuple[str, Callable[[yaml.ScalarEvent], str]]:
    """The header with stand-ins for what is awkward, and what tells a scalar's true text."""
    if not _SUSPECT.search(header):
        return header, lambda event: _resolve(event, event.value)
    used = set(header)
    spare: Iterator[str] = (stand_in for stand_in in map(chr, range(0xF0000, 0xFFFFE)) if stand_in not in used)
    stand_ins: dict[str, str] = {}

    def replace(found: re.Match[str]) -> str:
        if found[0][0] == "\\" and not found["half"]:
            return found[0]
        if found[0] not in stand_ins:
            stand_ins[found[0]] = next(spare)
        return stand_ins[found[0]]

    tame = _AWKWARD.sub(replace, header)
    as_it_stands = {ord(stand_in): text for text, stand_in in stand_ins.items()}
    in_double_quotes = {code: _join_halves(text) for code, text in as_it_stands.items()}

    def meaning_of(event: yaml.ScalarEvent) -> str:
        return _resolve(event, event.value.translate(in_double_quotes if event.style == '"' else as_it_stands))

    return tame, meaning_of


def _join_halves(text: str) -> str:
    halves = text.replace("\\U0000", "\\u").split("\\u")[1:]
    return bytes.fromhex("".join(halves)).decode("utf-16-be", errors="replace") if halves else text


# -- Plain scalars --------------------------------------------------------------------------
# A description that somebody wrote without quotes may be a number to YAML. It reads as the
# Go harness reads it, the number in decimal: two readers of one bucket agree.

_NULLS: Final = frozenset({"", "~", "null", "Null", "NULL"})
_BOOLEANS: Final = frozenset({"true", "True", "TRUE", "false", "False", "FALSE"})
_INTEGER: Final = re.compile(
    "([-+]?)(?:0x(?P<hex>[0-9A-Fa-f]{1,64})|0b(?P<binary>[01]{1,64})|0o?(?P<octal>[0-7]{1,64})|(?P<decimal>0|[1-9][0-9]{0,19}))"
)
_BASES: Final = {"hex": 16, "binary": 2, "octal": 8, "decimal": 10}
_FLOAT: Final = re.compile(r"[-+]?(?:[0-9]+\.[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?")


def _resolve(event: yaml.ScalarEvent, text: str) -> str:
    if not event.implicit[0]:  # quoted, a block, or tagged: text
        return text
    if text in _NULLS:
        return ""
    if text in _BOOLEANS:
        return text.lower()
    if text[0] == "_":
        return text
    digits = text.replace("_", "")
    if (integer := _INTEGER.fullmatch(digits)) and (base := integer.lastgroup):
        number = int(integer[1] + integer[base], _BASES[base])
        return str(number) if -(2**63) <= number < 2**64 else text
    if _FLOAT.fullmatch(digits) and math.isfinite(value := float(digits)):
        return _shortest(value)
    return text


def _shortest(value: float) -> str:
    if value == 0 or 1e-4 <= abs(value) < 1e6:
        return repr(value).removesuffix(".0")
    digits = Decimal(repr(value)).normalize().as_tuple().digits
    return f"{value:.{len(digits) - 1}e}"
