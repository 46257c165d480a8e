"""A value gets its name all at once, and both are on the disk when the call returns."""

import errno
import os
import stat

import pytest

from jsmemory.backends.file import atomic


@pytest.fixture
def opened(tmp_path):
    directory = os.open(tmp_path, os.O_RDONLY)
    yield directory
    os.close(directory)


@pytest.fixture
def steps(monkeypatch):
    """What is asked of the disk, in order; everything is really done."""
    asked = []

    def watch(name, word):
        real = getattr(os, name)

        def watched(*args, **kwargs):
            asked.append(word(*args))
            return real(*args, **kwargs)

        monkeypatch.setattr(os, name, watched)

    watch("fsync", lambda file: f"sync {'directory' if stat.S_ISDIR(os.fstat(file).st_mode) else 'file'}")
    watch("link", lambda *_: "link")
    watch("rename", lambda *_: "rename")
    watch("replace", lambda *_: "replace")
    watch("unlink", lambda *_: "unlink")
    return asked


def refuse(monkeypatch, name, code):
    def refused(*args, **kwargs):
        raise OSError(code, "refused")

    monkeypatch.setattr(os, name, refused)


def test_a_new_value_is_on_the_disk_before_it_gets_its_name_and_the_name_after_it(tmp_path, opened, steps):
    """After a power cut a name without its bytes is an empty memory that looks like a saved one."""
    assert atomic.put_new(opened, "k.md", b"value")
    atomic.settle(opened)
    assert steps == ["sync file", "link", "unlink", "sync directory"]
    assert os.listdir(tmp_path) == ["k.md"]
    assert (tmp_path / "k.md").read_bytes() == b"value"


def test_a_replacement_is_on_the_disk_before_it_gets_the_name(tmp_path, opened, steps):
    """After a power cut neither the old nor the new value would be there."""
    (tmp_path / "k.md").write_bytes(b"old")
    atomic.put_over(opened, "k.md", b"new", mode=0o644)
    assert steps == ["sync file", "replace"]
    assert (tmp_path / "k.md").read_bytes() == b"new"
    assert os.listdir(tmp_path) == ["k.md"]


def test_a_reader_that_opened_the_old_value_reads_it_to_its_end(tmp_path, opened):
    """A value that changes under a reader's hands is a mixture of two memories."""
    (tmp_path / "k.md").write_bytes(b"old")
    with (tmp_path / "k.md").open("rb") as reading:
        atomic.put_over(opened, "k.md", b"new value", mode=0o644)
        assert reading.read() == b"old"


@pytest.mark.parametrize("code", [None, errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK])
def test_a_name_that_is_taken_stays_as_it_is_with_and_without_hard_links(tmp_path, opened, monkeypatch, code):
    """Two creators of one key must not both believe that theirs is stored."""
    if code is not None:
        refuse(monkeypatch, "link", code)
    (tmp_path / "k.md").write_bytes(b"first")
    assert not atomic.put_new(opened, "k.md", b"second")
    assert (tmp_path / "k.md").read_bytes() == b"first"
    assert os.listdir(tmp_path) == ["k.md"]


@pytest.mark.parametrize("code", [errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK])
def test_a_file_system_without_hard_links_can_hold_entries(tmp_path, opened, monkeypatch, code):
    """On a memory card or a network mount nobody could ever create anything."""
    refuse(monkeypatch, "link", code)
    assert atomic.put_new(opened, "k.md", b"value")
    assert (tmp_path / "k.md").read_bytes() == b"value"
    assert os.listdir(tmp_path) == ["k.md"]


@pytest.mark.parametrize("call", ["write", "fsync", "fchmod", "replace"])
def test_a_replacement_that_fails_leaves_the_old_value_and_nothing_else(tmp_path, opened, monkeypatch, call):
    """A disk that is full for a minute must not cost the note that was there before."""
    (tmp_path / "k.md").write_bytes(b"old")
    refuse(monkeypatch, call, errno.ENOSPC)
    with pytest.raises(OSError, match="refused"):
        atomic.put_over(opened, "k.md", b"new", mode=0o644)
    assert (tmp_path / "k.md").read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["k.md"]


@pytest.mark.parametrize("call", ["write", "fsync", "link"])
def test_a_new_value_that_fails_leaves_nothing(tmp_path, opened, monkeypatch, call):
    """Rests of failed writes would fill a disk that is full already."""
    refuse(monkeypatch, call, errno.ENOSPC)
    with pytest.raises(OSError, match="refused"):
        atomic.put_new(opened, "k.md", b"new")
    assert os.listdir(tmp_path) == []


def test_a_write_that_takes_fewer_bytes_than_it_was_given_goes_on(tmp_path, opened, monkeypatch):
    """A system may take a part; to stop there is to store a torn value and call it saved."""
    real = os.write
    monkeypatch.setattr(os, "write", lambda file, block: real(file, block[:7]))
    assert atomic.put_new(opened, "k.md", b"0123456789" * 10)
    assert (tmp_path / "k.md").read_bytes() == b"0123456789" * 10


def test_a_replacement_keeps_the_permissions_that_an_operator_gave_the_file(tmp_path, opened):
    """A note that was closed to others must not open itself at its next update."""
    (tmp_path / "k.md").write_bytes(b"old")
    atomic.put_over(opened, "k.md", b"new", mode=0o600)
    assert stat.S_IMODE((tmp_path / "k.md").stat().st_mode) == 0o600
    atomic.put_over(opened, "k.md", b"new", mode=0o664)
    assert stat.S_IMODE((tmp_path / "k.md").stat().st_mode) == 0o664


def test_who_may_read_a_new_file_is_the_umasks_word(tmp_path, opened):
    """Agents under several accounts share a directory by it, or keep each other out."""
    for umask, mode in ((0o077, 0o600), (0o002, 0o664)):
        before = os.umask(umask)
        try:
            atomic.put_new(opened, f"{umask}.md", b"")
        finally:
            os.umask(before)
        assert stat.S_IMODE((tmp_path / f"{umask}.md").stat().st_mode) == mode


def test_a_file_system_that_cannot_sync_directories_is_no_failure(opened, monkeypatch):
    """Some cannot; a store that then refuses every write helps nobody."""
    refuse(monkeypatch, "fsync", errno.EINVAL)
    atomic.settle(opened)


def test_a_directory_that_fails_to_sync_is_a_failure(opened, monkeypatch):
    """Called saved, it would be gone after the next power cut."""
    refuse(monkeypatch, "fsync", errno.EIO)
    with pytest.raises(OSError, match="refused"):
        atomic.settle(opened)


def test_staged_files_are_discarded_and_what_cannot_be_is_left(tmp_path, opened):
    """One rest that cannot be removed must not stop every write of the store."""
    (tmp_path / ".tmp-1").write_bytes(b"")
    (tmp_path / ".tmp-2").mkdir()
    atomic.discard(opened, [".tmp-0", ".tmp-2", ".tmp-1"])
    assert os.listdir(tmp_path) == [".tmp-2"]
