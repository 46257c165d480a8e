"""The directory: made durably and privately, and what its names mean."""

import os
import stat

import pytest

from jsmemory.backends.file.directory import Directory, census, has_twin, ignores_case, key_of, name_of
from jsmemory.errors import InvalidOptionsError


@pytest.fixture
def opened(tmp_path):
    directory = os.open(tmp_path, os.O_RDONLY)
    yield directory
    os.close(directory)


def test_a_key_comes_back_from_its_name():
    """A key that is lost on the way to its name and back is an entry that nobody can read."""
    for key in ("a", "A=_-", "v1.2.md", "md", "x" * 200):
        assert key_of(name_of(key)) == key


@pytest.mark.parametrize(
    "name",
    [
        "bad key.md",
        ".hidden.md",
        "x.txt",
        ".md",
        "md",
        "a..b.md",
        "a/b.md",
        "a.md\n",
        "ä.md",
        "x" * 201 + ".md",
        "x.MD",
    ],
)
def test_a_name_without_a_legal_key_is_no_entry(name):
    """A listed key that no method accepts is a memory that a model can neither read nor delete."""
    assert key_of(name) is None


def test_a_census_tells_entries_obstacles_and_staged_files_apart(tmp_path, opened):
    """What is counted as an entry and is none makes a store full of nothing."""
    for name in ("one.md", "two.md", "bad key.md", "x.txt", ".lock", ".tmp-0123"):
        (tmp_path / name).write_bytes(b"")
    (tmp_path / "folder.md").mkdir()
    os.mkfifo(tmp_path / "pipe.md")
    (tmp_path / "link.md").symlink_to("one.md")
    (tmp_path / "dangling.md").symlink_to("nothing.md")
    found = census(opened)
    assert sorted(found.keys) == ["one", "two"]
    assert sorted(found.obstacles) == ["dangling", "folder", "link", "pipe"]
    assert found.staged == (".tmp-0123",)


def test_twins_differ_in_case_and_in_nothing_else():
    """Two agents' keys that merge are one note lost; two that merely resemble each other are none."""
    assert has_twin("build", ["Build"])
    assert has_twin("BUILD", ["x", "Build", "BUILD"])
    assert not has_twin("build", ["build", "build2", "Buil"])


def test_this_file_system_is_asked_whether_it_ignores_case(tmp_path, opened):
    """A store that believes a wrong answer merges keys, or refuses keys that could be kept."""
    (tmp_path / "123").write_bytes(b"")
    (tmp_path / "Probe.md").write_bytes(b"")
    real = (tmp_path / "pROBE.MD").exists()
    assert ignores_case(opened) is real


def test_two_files_whose_names_differ_in_case_prove_that_it_is_kept(tmp_path, opened):
    """Taking a neighbour for the same file would hide every key behind a needless refusal."""
    (tmp_path / "probe.md").write_bytes(b"")
    (tmp_path / "PROBE.MD").write_bytes(b"")
    assert ignores_case(opened) is (len(os.listdir(tmp_path)) == 1)


def test_a_name_that_is_gone_again_proves_nothing(tmp_path, opened, monkeypatch):
    """Another process's staged file comes and goes; the answer stays for as long as the store is open."""
    (tmp_path / "Probe.md").write_bytes(b"")
    real = (tmp_path / "pROBE.MD").exists()
    monkeypatch.setattr(os, "listdir", lambda directory: [".tmp-gone", "Probe.md"])
    assert ignores_case(opened) is real


def test_an_empty_directory_cannot_be_asked_and_is_treated_with_care(opened):
    """A wrong "no" would merge two keys; a wrong "yes" costs one look at the list of names."""
    assert ignores_case(opened) is True


def test_a_missing_directory_is_made_for_its_owner_only(tmp_path):
    """Notes of an agent that every account on the host can read were never meant for them."""
    before = os.umask(0o022)
    try:
        Directory.of(tmp_path / "outer" / "inner", "agent").make()
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "outer" / "inner").stat().st_mode) == 0o700
    assert (tmp_path / "outer" / "inner" / "agent").is_dir()


def test_a_directory_that_is_there_keeps_the_permissions_that_its_operator_gave_it(tmp_path):
    """An operator who shares a directory on purpose must not find it closed."""
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o775)
    Directory.of(shared, "").make()
    assert stat.S_IMODE(shared.stat().st_mode) == 0o775


def test_a_new_directory_is_forced_to_the_disk_in_every_directory_above_it(tmp_path, monkeypatch):
    """A power cut that takes the directory takes every entry in it."""
    forced = []
    real = os.fsync
    monkeypatch.setattr(os, "fsync", lambda file: (forced.append(os.stat(file).st_ino), real(file))[1])
    Directory.of(tmp_path / "a" / "b", "c").make()
    assert forced == [path.stat().st_ino for path in (tmp_path, tmp_path / "a", tmp_path / "a" / "b")]


def test_the_operators_directory_may_be_a_link_and_a_relative_path(tmp_path, monkeypatch):
    """On some hosts every temporary path is a link; refusing it would refuse the host."""
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    monkeypatch.chdir(tmp_path)
    directory = Directory.of("link", "")
    monkeypatch.chdir("/")
    directory.make()
    with directory.opened() as opened:
        assert os.path.samestat(os.fstat(opened), (tmp_path / "real").stat())


@pytest.mark.parametrize("path", ["", "a\0b", "\ud800", b"", None, 3])
def test_what_cannot_be_a_path_is_refused_by_the_name_of_the_option(path):
    """An empty path would quietly be the working directory, whatever that is today."""
    with pytest.raises(InvalidOptionsError) as refused:
        Directory.of(path, "")
    assert refused.value.option == "directory"


@pytest.mark.parametrize("prefix", ["a.b", "..", "a/b", "/", " ", "ä", "x" * 201])
def test_a_prefix_is_one_token(prefix):
    """A prefix that climbs or nests reads the notes of another agent."""
    with pytest.raises(InvalidOptionsError) as refused:
        Directory.of("x", prefix)
    assert refused.value.option == "prefix"


@pytest.mark.parametrize("where", ["file", "file/below", "dangling"])
def test_a_directory_that_is_none_is_refused_at_opening(tmp_path, where):
    """An operator who mistypes a path learns it at start-up, not from a model's failed note."""
    (tmp_path / "file").write_bytes(b"mine")
    (tmp_path / "dangling").symlink_to("nowhere")
    with pytest.raises(InvalidOptionsError) as refused:
        Directory.of(tmp_path / where, "").make()
    assert refused.value.option == "directory"
    assert (tmp_path / "file").read_bytes() == b"mine"


@pytest.mark.parametrize("plant", ["file", "link"])
def test_a_sub_directory_that_is_none_or_a_link_is_refused_at_opening(tmp_path, plant):
    """A link planted in a shared directory would lead one agent's notes to another's."""
    (tmp_path / "other").mkdir()
    if plant == "file":
        (tmp_path / "agent").write_bytes(b"")
    else:
        (tmp_path / "agent").symlink_to("other")
    with pytest.raises(InvalidOptionsError) as refused:
        Directory.of(tmp_path, "agent").make()
    assert refused.value.option == "prefix"


def test_a_link_put_in_the_place_of_the_sub_directory_is_not_followed(tmp_path):
    """The same, by somebody who waits until the store is open."""
    directory = Directory.of(tmp_path, "agent")
    directory.make()
    (tmp_path / "agent").rename(tmp_path / "other")
    (tmp_path / "agent").symlink_to("other")
    with pytest.raises(OSError), directory.opened():  # noqa: PT011 - the errno differs between systems
        pass


@pytest.mark.parametrize("prefix", ["", "agent"])
def test_nothing_stays_open_after_a_call(tmp_path, prefix):
    """A descriptor lost with every call ends, after a thousand, in a host that can open nothing."""
    directory = Directory.of(tmp_path, prefix)
    directory.make()
    before = os.listdir("/dev/fd")
    for _ in range(3):
        with directory.opened():
            pass
    assert os.listdir("/dev/fd") == before
