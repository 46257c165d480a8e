"""Only regular files are read; nothing else is opened, followed or waited for."""

import os
import socket
import threading

import pytest

from jsmemory.backends.file import regular


@pytest.fixture
def opened(tmp_path):
    directory = os.open(tmp_path, os.O_RDONLY)
    yield directory
    os.close(directory)


def plant(kind, path):
    """Put something that is no regular file under `path`."""
    match kind:
        case "directory":
            path.mkdir()
        case "pipe":
            os.mkfifo(path)
        case "socket":
            with socket.socket(socket.AF_UNIX) as listener:
                before = os.getcwd()
                os.chdir(path.parent)  # the name of a socket is short, a test's directory is not
                try:
                    listener.bind(path.name)
                finally:
                    os.chdir(before)
        case "link":
            (path.parent / "target").write_bytes(b"secret")
            path.symlink_to("target")
        case "dangling link":
            path.symlink_to("nowhere")
        case "link to a device":
            path.symlink_to("/dev/zero")
        case "link to itself":
            path.symlink_to(path.name)


KINDS = ["directory", "pipe", "socket", "link", "dangling link", "link to a device", "link to itself"]


def test_a_file_is_read_whole_with_its_permissions(tmp_path, opened):
    """A value that comes back short is a memory cut off without a word."""
    value = bytes(range(256)) * 4096
    (tmp_path / "k.md").write_bytes(value)
    (tmp_path / "k.md").chmod(0o640)
    assert regular.read(opened, "k.md") == regular.Content(value, 0o640)


def test_a_read_stops_after_as_many_bytes_as_were_asked_for(tmp_path, opened):
    """A listing that moves every body costs as much as reading the whole store."""
    (tmp_path / "k.md").write_bytes(b"0123456789")
    assert regular.read(opened, "k.md", at_most=4) == regular.Content(
        b"0123", (tmp_path / "k.md").stat().st_mode & 0o777
    )


def test_nothing_is_there_where_there_is_nothing(opened):
    """An absent entry is an answer, not a failure of the disk."""
    assert regular.read(opened, "k.md") is None
    assert not regular.is_regular(opened, "k.md")
    assert not regular.is_there(opened, "k.md")


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_no_regular_file_is_as_if_absent(tmp_path, opened, monkeypatch, kind):
    """One planted pipe would hang every run; one planted link would show a model any file of the host."""
    plant(kind, tmp_path / "k.md")
    real = os.open
    opens = []
    monkeypatch.setattr(os, "open", lambda *args, **kwargs: (opens.append(args), real(*args, **kwargs))[1])
    assert regular.read(opened, "k.md") is None
    assert not regular.is_regular(opened, "k.md")
    assert regular.is_there(opened, "k.md")
    assert opens == []


@pytest.mark.parametrize("kind", KINDS)
def test_what_takes_a_files_place_after_the_look_is_as_if_absent(tmp_path, opened, monkeypatch, kind):
    """Whoever plants at the right moment must gain nothing by it, and hang nobody."""
    plant(kind, tmp_path / "k.md")
    monkeypatch.setattr(regular, "is_regular", lambda directory, name: True)
    before = len(os.listdir("/dev/fd"))
    answers = []
    reading = threading.Thread(target=lambda: answers.append(regular.read(opened, "k.md")), daemon=True)
    reading.start()
    reading.join(5)
    hung = reading.is_alive()
    if hung:
        os.close(os.open(tmp_path / "k.md", os.O_RDWR | os.O_NONBLOCK))  # lets a reader of a pipe go
        reading.join()
    assert not hung
    assert answers == [None]
    assert len(os.listdir("/dev/fd")) == before


def test_the_content_of_a_file_is_not_in_what_is_logged(tmp_path, opened):
    """A repr ends in logs, and a memory may hold what nobody wants in them."""
    (tmp_path / "k.md").write_bytes(b"secret")
    assert "secret" not in repr(regular.read(opened, "k.md"))
