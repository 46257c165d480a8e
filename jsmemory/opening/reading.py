"""YAML of an operator's hand, or of a hostile one, as plain data: safe, bounded, no key twice."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, Protocol

import yaml

from jsmemory.errors import InvalidOptionsError

MAX_CONFIGURATION_LENGTH: Final = 64 * 1024
"""Characters: a hundred times what there is to say. It bounds the time that reading takes."""

_MAX_DEPTH: Final = 16
# Mappings and lists inside one another; what constructs them calls itself for each.


def read_yaml(text: str) -> object:
    """
    The plain data that a YAML text means.

    Anchors, aliases and merges are refused: with them a few lines can stand for millions of
    values. So is a key that stands twice in a mapping, of which one would be lost silently.

    Raises:
        InvalidOptionsError: it is not one document of such YAML; tells the line.
    """
    if len(text) > MAX_CONFIGURATION_LENGTH:
        raise _refusal("is too long", f"Keep it within {MAX_CONFIGURATION_LENGTH} characters.")
    try:
        _inspect(yaml.parse(text, Loader=yaml.SafeLoader))
        return yaml.safe_load(text)
    except InvalidOptionsError:
        raise
    except yaml.MarkedYAMLError as error:
        raise _refusal(f"is no YAML{_line(error.problem_mark)}", "Mend it.") from None
    except Exception:  # a number of 5,000 digits, a thirteenth month: the parser raises all sorts of things
        raise _refusal("has a value that YAML cannot make sense of", "Mend it.") from None


@dataclass(slots=True)
class _Collection:
    """
    A mapping or a list that has begun.

    Attributes:
        keys: The keys so far; None for a list.
        is_key_next: Whether the next node in it is a key.
    """

    keys: set[str] | None
    is_key_next: bool = field(default=True)


def _inspect(events: Iterator[yaml.Event]) -> None:
    """Follow the parser, which takes no more than the text is long, before anything is built."""
    documents = 0
    open_ones: list[_Collection] = []
    for event in events:
        if isinstance(event, yaml.DocumentStartEvent):
            documents += 1
            if documents > 1:
                raise _refusal(f"has a second document{_line(event.start_mark)}", "Keep one.")
        elif isinstance(event, yaml.CollectionEndEvent):
            open_ones.pop()
        elif isinstance(event, yaml.NodeEvent):
            if event.anchor is not None:
                raise _refusal(f"has an anchor or an alias{_line(event.start_mark)}", "Write the value out.")
            if open_ones:
                _take(event, open_ones[-1])
            if isinstance(event, yaml.CollectionStartEvent):
                if len(open_ones) == _MAX_DEPTH:
                    raise _refusal(f"is nested too deeply{_line(event.start_mark)}", "Make it flatter.")
                open_ones.append(_Collection(set() if isinstance(event, yaml.MappingStartEvent) else None))


def _take(event: yaml.NodeEvent, collection: _Collection) -> None:
    if collection.keys is None:
        return
    if collection.is_key_next:
        line = _line(event.start_mark)
        if not isinstance(event, yaml.ScalarEvent):
            raise _refusal(f"has a key that is no name{line}", "Use words for keys.")
        if event.value == "<<":
            raise _refusal(f"has a merge{line}", "Write the values out.")
        if event.value in collection.keys:
            raise _refusal(f"has a key twice in one place{line}", "Keep one of the two.")
        collection.keys.add(event.value)
    collection.is_key_next = not collection.is_key_next


class _Mark(Protocol):
    """A place in the text; the parser in C and the one in Python have a class each."""

    @property
    def line(self) -> int: ...


def _line(mark: _Mark | None) -> str:
    return f" in line {mark.line + 1}" if mark else ""


def _refusal(problem: str, remedy: str) -> InvalidOptionsError:
    return InvalidOptionsError("configuration", problem, remedy)
