"""An error says which option, variable or file is at fault, and what to type instead."""

import json
from typing import Any

import pytest


def refusal(shell: Any, *arguments: str, code: int = 5, **environment: str) -> str:
    """The one line that a command ends with, and the same in JSON."""
    refused = shell(*arguments, environment=environment)
    assert (refused.code, refused.err.count("\n")) == (code, 1), refused
    line: str = refused.err.removeprefix("jsmemory: ").rstrip("\n")
    return line


def test_a_write_on_a_key_that_is_taken_names_the_option_that_replaces_it(memory: Any) -> None:
    """There is no update on the command line that one could be sent to."""
    memory("write", "note", "-d", "one")
    refused = memory("write", "note", "-d", "two")
    assert (refused.code, refused.err.count("\n")) == (1, 1)
    assert "--overwrite" in refused.err
    assert "update" not in refused.err


def test_a_key_that_is_not_there_is_told_with_the_command_that_lists(shell: Any) -> None:
    assert "jsmemory list" in refusal(shell, "read", "nowhere", code=1)


def test_a_full_store_is_told_with_the_command_that_makes_room(shell: Any) -> None:
    folder = shell.folder / "memory" / "default"
    folder.mkdir(parents=True)
    for number in range(1024):
        (folder / f"k{number}.md").touch()
    told = refusal(shell, "write", "new", "-d", "one too many", code=1)
    assert "jsmemory delete KEY" in told
    assert "--overwrite" in told


def test_what_makes_a_store_read_only_is_named(shell: Any) -> None:
    assert "--read-only" in refusal(shell, "--read-only", "write", "k", "-d", "d", code=1)
    (shell.folder / "jsmemory.yaml").write_text("read_only: true\n")
    told = refusal(shell, "write", "k", "-d", "d", code=1)
    assert "--read-only" not in told
    assert "read_only to false" in told


@pytest.mark.parametrize("configured", ["", "backend: file\n"], ids=["without a file", "beside a file"])
@pytest.mark.parametrize("verb", [("list",), ("write", "k", "-d", "d"), ("doctor",), ("permissions", "--bucket", "b")])
def test_an_identity_is_blamed_on_what_names_it(shell: Any, verb: tuple[str, ...], configured: str) -> None:
    """Whoever is sent to a file that is right, or to an option that nobody typed, mends nothing."""
    if configured:
        (shell.folder / "jsmemory.yaml").write_text(configured)
    by_variable = refusal(shell, *verb, JSMEMORY_IDENTITY="a b")
    assert by_variable.startswith("The variable JSMEMORY_IDENTITY ")
    by_option = refusal(shell, *verb, "--identity", "c d", JSMEMORY_IDENTITY="a b")
    assert by_option.startswith("--identity ")
    for told in (by_variable, by_option):
        assert "jsmemory.yaml" not in told


def test_a_prefix_of_the_file_is_not_blamed_on_the_identity(shell: Any) -> None:
    (shell.folder / "jsmemory.yaml").write_text("options: {prefix: a.b}\n")
    for verb in ("list", "doctor"):
        told = refusal(shell, verb, JSMEMORY_IDENTITY="alice")
        assert told.startswith("In jsmemory.yaml: ")
        assert "IDENTITY" not in told


def test_a_directory_is_blamed_on_what_names_it(shell: Any) -> None:
    """It may be one of four that a command line speaks of."""
    (shell.folder / "file").write_text("no directory")
    shell("write", "k", "-d", "d")
    for arguments, named in (
        (("--directory", "file", "write", "k", "-d", "d"), "--directory "),
        (("--directory", "file", "prefixes"), "--directory "),
        (("run", "--run-id", "night", "--journal", "./file"), "--journal "),
        (("--directory", "memory", "export", "file/x"), "The target file/x "),
        (("copy", "file:memory/default", "file:file"), "In file:file: "),
    ):
        assert refusal(shell, *arguments).startswith(named)
    (shell.folder / "jsmemory.yaml").write_text("options: {directory: file}\n")
    assert refusal(shell, "write", "k", "-d", "d").startswith("In jsmemory.yaml: ")


def test_a_file_where_the_notes_are_kept_by_default_is_told_with_the_way_out(shell: Any) -> None:
    (shell.folder / "memory").write_text("no directory")
    told = refusal(shell, "write", "k", "-d", "d")
    assert "--directory DIR" in told
    assert "options." not in told


@pytest.mark.parametrize(
    ("arguments", "environment", "named"),
    [
        (("--context", "nope"), {}, "--context "),
        ((), {"NATS_CONTEXT": "nope"}, "The variable NATS_CONTEXT "),
        (("--server", "http://x"), {}, "--server "),
        ((), {"NATS_URL": "http://x"}, "The variable NATS_URL "),
        ((), {"NATS_CREDS": "nowhere.creds"}, "The variable NATS_CREDS "),
    ],
)
@pytest.mark.parametrize("verb", ["list", "doctor", "prefixes", "provision"])
def test_what_says_how_to_connect_is_named(
    shell: Any, verb: str, arguments: tuple[str, ...], environment: dict[str, str], named: str
) -> None:
    """One who has set a variable long ago has not typed an option."""
    told = refusal(
        shell, verb, "--bucket", "b", *(["--diff"] if verb == "provision" else []), *arguments, **environment
    )
    assert told.startswith(named)


def test_the_other_end_of_a_copy_is_named_by_its_own_options(shell: Any) -> None:
    shell("write", "k", "-d", "d")
    copy = ("copy", "file:memory/default", "jetstream:b")
    assert refusal(shell, *copy, "--dst-context", "nope").startswith("--dst-context ")
    assert refusal(shell, *copy, "--dst-server", "http://x").startswith("--dst-server ")
    assert refusal(shell, *copy, "--context", "nope").startswith("--context ")


def test_a_server_that_does_not_answer_is_named_as_it_was_typed(shell: Any, closed_port: int) -> None:
    typed = ("--server", f"nats://127.0.0.1:{closed_port}", "--bucket", "b", "list")
    assert "named by --server." in refusal(shell, *typed, code=3)


def test_a_program_is_told_the_same(shell: Any) -> None:
    """The code stays that of the contract."""
    told = shell("--identity", "a b", "list", "--json").json["error"]
    assert told["code"] == "invalid_options"
    shell("write", "k", "-d", "d")
    told = json.loads(shell("write", "k", "-d", "d", "--json").out)["error"]
    assert (told["code"], told["retryable"]) == ("entry_exists", False)
