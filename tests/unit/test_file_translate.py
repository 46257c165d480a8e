"""The operating system's words, and the paths in them, stay inside."""

import errno
import os
import pickle

import pytest

from jsmemory.backends.file.translate import MEMORY, WRITING, translating
from jsmemory.errors import AccessDeniedError, BackendUnavailableError, InvalidKeyError, JsMemoryError

PATH = "/srv/secret-customer/notes"


def refusal_of(code):
    def work():
        raise OSError(code, os.strerror(code), PATH, None, PATH)

    with pytest.raises(JsMemoryError) as refused:
        translating(MEMORY, WRITING, work)
    return refused.value


@pytest.mark.parametrize("code", sorted(errno.errorcode))
def test_no_refusal_of_the_system_shows_a_path_or_the_systems_words(code):
    """A model that is shown where the host keeps its files tells it to whoever asks the model."""
    refusal = refusal_of(code)
    shown = f"{refusal} {refusal!r} {refusal.args}"
    assert "secret-customer" not in shown
    assert os.strerror(code) not in shown
    assert refusal.__cause__ is None
    assert refusal.__context__ is None
    assert str(pickle.loads(pickle.dumps(refusal))) == str(refusal)


@pytest.mark.parametrize("code", [errno.EACCES, errno.EPERM, errno.EROFS])
def test_a_denial_names_the_permission(code):
    """An operator who is not told what is missing grants too much, or nothing."""
    refusal = refusal_of(code)
    assert isinstance(refusal, AccessDeniedError)
    assert refusal.permission == WRITING
    assert not refusal.retryable


@pytest.mark.parametrize(
    ("codes", "word"),
    [
        ((errno.ENOSPC, errno.EDQUOT, errno.EFBIG), "full"),
        ((errno.ENOENT, errno.ENOTDIR, errno.ESTALE), "gone"),
        ((errno.EMFILE, errno.ENFILE), "Too many files"),
        ((errno.EIO, errno.EBUSY, errno.ENOLCK), "could not be used"),
    ],
)
def test_each_kind_of_failure_has_its_own_words_and_remedy(codes, word):
    """ "Try again" is no remedy for a full disk."""
    refusals = {str(refusal_of(code)) for code in codes}
    (words,) = refusals
    assert word in words
    assert all(isinstance(refusal_of(code), BackendUnavailableError) for code in codes)


def test_a_file_system_with_shorter_names_refuses_the_key_and_not_the_service():
    """Told "unavailable", a model would try the same key again for ever."""
    assert isinstance(refusal_of(errno.ENAMETOOLONG), InvalidKeyError)


def test_a_failure_without_a_number_is_still_the_contracts():
    """Not every layer of a system fills in the number."""

    def work():
        raise OSError(PATH)

    with pytest.raises(BackendUnavailableError) as refused:
        translating(MEMORY, WRITING, work)
    assert refused.value.__context__ is None


def test_what_succeeds_or_speaks_the_contracts_words_passes_as_it_is():
    """A refusal that is worded twice loses its reason."""
    refusal = BackendUnavailableError("Just so.")

    def work():
        raise refusal

    assert translating(MEMORY, WRITING, lambda: 7) == 7
    with pytest.raises(BackendUnavailableError) as refused:
        translating(MEMORY, WRITING, work)
    assert refused.value is refusal
