"""Which store is meant: an option, the configuration, or the file twin; seen from where the notes end up."""

import json
from typing import Any

import pytest


def test_without_a_word_notes_are_files_under_the_identity(shell: Any) -> None:
    """Whoever just tries it must find the notes, and each identity its own."""
    shell("write", "k", "-d", "x")
    shell("write", "k", "-d", "y", environment={"JSMEMORY_IDENTITY": "alice"})
    shell("write", "k", "-d", "z", "--identity", "bob", environment={"JSMEMORY_IDENTITY": "alice"})
    found = sorted(str(path.relative_to(shell.folder)) for path in shell.folder.rglob("*.md"))
    assert found == ["memory/alice/k.md", "memory/bob/k.md", "memory/default/k.md"]


def test_the_configuration_that_lies_there_counts(shell: Any) -> None:
    """An operator writes it once for everybody who works in that folder."""
    (shell.folder / "jsmemory.yaml").write_text("backend: file\nread_only: true\noptions: {directory: notes}\n")
    assert shell("write", "k", "-d", "x", "--json").json["error"]["code"] == "read_only"
    assert (shell.folder / "notes" / "default").is_dir()
    assert not (shell.folder / "memory").exists()


def test_options_win_over_the_configuration(shell: Any, nats_server: Any, new_bucket: str) -> None:
    """What is typed is what is meant; options of the other backend must not get in the way."""
    (shell.folder / "jsmemory.yaml").write_text("backend: file\noptions: {directory: notes, prefix: team}\n")
    shell("write", "k", "-d", "typed", "--directory", "typed", "--prefix", "")
    assert (shell.folder / "typed" / "k.md").is_file()
    assert shell("write", "k", "-d", "x", "-b", new_bucket, "-s", nats_server.url).code == 0
    assert shell("list", "-b", new_bucket, "-s", nats_server.url, "--json").json["location"] == new_bucket
    assert not (shell.folder / "notes").exists()


def test_a_configuration_elsewhere_counts_from_where_it_is(shell: Any) -> None:
    """A configuration that is kept beside its notes must find them from everywhere."""
    (shell.folder / "elsewhere").mkdir()
    (shell.folder / "elsewhere" / "m.yaml").write_text("options: {directory: notes}\n")
    shell("--config", "elsewhere/m.yaml", "write", "k", "-d", "x")
    assert (shell.folder / "elsewhere" / "notes" / "default" / "k.md").is_file()


def test_a_configuration_names_the_bucket(shell: Any, nats_server: Any, new_bucket: str) -> None:
    """A fleet's operator says it once, and nobody types it again."""
    (shell.folder / "jsmemory.yaml").write_text(f"backend: jetstream\noptions: {{bucket: {new_bucket}}}\n")
    where = {"NATS_URL": nats_server.url}
    shell("write", "k", "-d", "x", environment=where)
    assert shell("list", "--json", environment=where).json == {
        "backend": "jetstream",
        "location": new_bucket,
        "entries": [{"key": "k", "description": "x"}],
    }
    assert shell("list", "--identity", "alice", environment=where).out == b""
    assert shell("list", "--prefix", "default", "--identity", "alice", environment=where).out == b"k\tx\n"


def test_a_context_of_the_nats_command_line_is_enough(shell: Any, nats_server: Any, new_bucket: str) -> None:
    """Whoever has a context need not repeat what is in it."""
    folder = shell.folder / "config" / "nats" / "context"
    folder.mkdir(parents=True)
    (folder / "fleet.json").write_text(f'{{"url": "{nats_server.url}"}}')
    assert shell("--context", "fleet", "-b", new_bucket, "list").code == 0
    unknown = shell("--context", "other", "-b", new_bucket, "list")
    assert unknown.code == 5
    assert "fleet" in unknown.err


def test_a_wrong_configuration_is_told_by_its_option(shell: Any) -> None:
    """An operator who mistypes an option must not run with the default instead."""
    for text, named in (
        ("bakend: file", "bakend"),
        ("backend: redis", "redis"),
        ("options: {bucket: x}", "bucket"),
        ("enabled: false", "enabled"),
        ("- a list", "configuration"),
        ("a: [", "configuration"),
    ):
        (shell.folder / "jsmemory.yaml").write_text(text)
        refused = shell("list")
        assert (refused.code, refused.err.count("\n")) == (5, 1), refused
        assert named in refused.err
    (shell.folder / "jsmemory.yaml").write_bytes(b"\xff")
    assert shell("list").code == 2


def test_an_identity_that_can_be_no_prefix_is_refused(shell: Any) -> None:
    """An identity with a slash must not become a path."""
    assert shell("--identity", "../up", "list", "--json").json["error"]["code"] == "invalid_options"
    assert list(shell.folder.iterdir()) == []


@pytest.mark.parametrize(
    ("text", "options", "named"),
    [
        ("", ("--bucket", "te am"), "--bucket"),
        ("", ("--bucket", "b", "--prefix", "a.b"), "--prefix"),
        ("", ("--bucket", "b", "--identity", "a/b"), "--identity"),
        ("", ("--backend", "file", "--bucket", "b"), "takes no --bucket"),
        ("backend: jetstream\noptions: {bucket: 5}", (), "jsmemory.yaml"),
        ("backend: jetstream\noptions: {bucket: b, server: x}", (), "options.server"),
        ("backend: jetstream\noptions: {bucket: b, prefix: a.b}", (), "jsmemory.yaml"),
        ("bucket: 5", (), "jsmemory.yaml"),
        ("# nothing\n\n", (), "jsmemory.yaml is empty"),
    ],
)
def test_a_wrong_option_is_told_before_anything_is_connected_to_or_made(
    shell: Any, closed_port: int, text: str, options: tuple[str, ...], named: str
) -> None:
    """Whoever mistyped one would look for a server that is not down."""
    if text:
        (shell.folder / "jsmemory.yaml").write_text(text)
    before = set(shell.folder.iterdir())
    nowhere = {"NATS_URL": f"nats://127.0.0.1:{closed_port}"}
    for verb in (("list",), ("write", "k", "-d", "x"), ("run", "--run-id", "night")):
        refused = shell(*verb, *options, environment=nowhere)
        assert (refused.code, refused.out, refused.err.count("\n")) == (5, b"", 1), refused
        assert named in refused.err
    assert set(shell.folder.iterdir()) == before


def test_a_flag_is_not_blamed_on_the_configuration(shell: Any) -> None:
    """Whoever is sent to a file that is right mends nothing."""
    (shell.folder / "jsmemory.yaml").write_text("backend: file\n")
    assert "jsmemory.yaml" not in shell("list", "--bucket", "te am").err
    assert "jsmemory.yaml" not in shell("list", "--backend", "redis").err


@pytest.mark.parametrize("arguments", [("--directory", "f"), ("--directory", "f", "--prefix", "")])
def test_a_file_in_the_place_of_the_directory_is_no_empty_memory(shell: Any, arguments: tuple[str, ...]) -> None:
    """A script that reads an empty list goes on as if nothing had ever been noted."""
    (shell.folder / "f").write_text("no directory")
    refused = shell(*arguments, "list")
    assert (refused.code, refused.out) == (5, b"")
    assert "directory" in refused.err


def test_the_help_says_that_a_prefix_is_a_folder_in_the_directory(shell: Any) -> None:
    """Who opens the same directory from Python, which adds none, would find it empty."""
    shell("write", "k", "-d", "x", "--directory", "days")
    shell("write", "k", "-d", "x", "--directory", "days", "--prefix", "")
    assert sorted(str(each.relative_to(shell.folder)) for each in shell.folder.rglob("k.md")) == [
        "days/default/k.md",
        "days/k.md",
    ]
    words = " ".join(shell("list", "--help", environment={"COLUMNS": "200"}).out.decode().split())
    assert "Where files are kept, in a folder for each prefix; chooses that backend." in words


def test_a_directory_that_is_named_and_not_there_is_told_also_to_a_script(shell: Any) -> None:
    """A letter too many in a nightly script shows in its log, and nowhere else."""
    looked = shell("--directory", "memry", "list")
    assert (looked.code, looked.out) == (0, b"")
    assert "There is no memory in" in looked.err
    assert shell("list").err == ""


def test_a_bucket_under_a_mistyped_name_of_its_option_is_told_by_that(shell: Any) -> None:
    """ "No bucket is named" sends somebody to look for what is there."""
    (shell.folder / "jsmemory.yaml").write_text("backend: jetstream\noptions: {bukket: team}\n")
    refused = shell("list")
    assert refused.code == 5
    assert "bukket" in refused.err
    assert "Did you mean 'bucket'?" in refused.err


def test_what_a_prefix_may_be_is_said_without_a_regular_expression(shell: Any) -> None:
    """Whoever typed a dot has to see what to type instead."""
    refused = shell("--bucket", "team", "--prefix", "a.b", "list")
    assert refused.code == 5
    assert "characters out of A-Z a-z 0-9 _ = -." in refused.err


def test_a_run_begins_without_an_index_where_the_configuration_says_so(shell: Any) -> None:
    """What strangers have written is kept out of a prompt by the operator, not by who types the command."""
    shell("write", "k", "-d", "a stranger's line")
    assert b"a stranger's line" in shell("run", "--run-id", "shown", stdin=b"").out
    (shell.folder / "jsmemory.yaml").write_text("no_index: true\n")
    begun = json.loads(shell("run", "--run-id", "kept", "--suspend", stdin=b"").out)
    resumed = json.loads(shell("run", "--run-id", "kept", "--resume", stdin=b"").out)
    for beginning in (begun, resumed):
        assert beginning["index"] == ""
        assert "index" not in beginning["system_note"]
        assert "memory_write" in beginning["system_note"]
