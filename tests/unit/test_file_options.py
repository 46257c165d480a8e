"""What an operator may say about a file store."""

import msgspec
import pytest

from jsmemory.backends.file.options import FileOptions


def test_nothing_has_to_be_named_and_the_guard_is_on():
    """An operator who names no more must not get an unguarded store."""
    options = msgspec.convert({}, FileOptions)
    assert options == FileOptions(directory="./memory", require_read_before_update=True, prefix=None)


@pytest.mark.parametrize(
    "wrong",
    [
        {"directory": 7},
        {"directory": "notes", "guard": False},
        {"directory": "notes", "require_read_before_update": "no"},
        {"directory": "notes", "prefix": 1},
    ],
)
def test_an_option_that_is_unknown_or_of_a_wrong_type_is_refused(wrong):
    """A misspelt option that is ignored leaves an operator with a store that they did not ask for."""
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(wrong, FileOptions)
