"""Exit codes, help, and what the command line does when it is used wrongly or cut short."""

import os
import pty
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from jsmemory.cli import application
from jsmemory.cli.exits import MEANINGS, ExitCode

VERBS = (
    "list",
    "read",
    "write",
    "delete",
    "watch",
    "copy",
    "export",
    "import",
    "run",
    "runs",
    "server",
    "prefixes",
    "doctor",
    "compact",
    "provision",
    "permissions",
    "demo",
    "bench",
    "scaling",
    "torture",
)


SHOWN: dict[str, set[str]] = {
    "demo": set(),
    "runs": {"--context", "--server"},
    "server": {"--bucket", "--config"},
    "prefixes": {"--bucket", "--directory", "--config", "--context", "--server"},
    "copy": {"--identity", "--context", "--server"},
    "provision": {"--bucket", "--config", "--context", "--server"},
    "permissions": {"--bucket", "--prefix", "--identity", "--config", "--read-only"},
    "compact": {"--backend", "--bucket", "--prefix", "--directory", "--config", "--context", "--server"},
    "torture": {"--backend"},
    "scaling": set(),
    "bench": {"--bucket", "--prefix", "--directory", "--config", "--context", "--server"},
}
"""The shared options of the commands that do not take all of them."""


def commands() -> Iterator[tuple[str, Any]]:
    root = application.command()
    yield "", root
    yield from root.commands.items()


def test_the_verbs_are_those_that_are_promised() -> None:
    """A verb that got lost, or came without a word, is found here."""
    assert tuple(name for name, _ in commands() if name) == VERBS


@pytest.mark.parametrize(
    ("arguments", "ready"),
    [
        (["list"], {"list"}),
        (["list", "--help"], {"list"}),
        (["--bucket", "list", "read", "k"], {"list", "read"}),
        (["--help"], None),
        (["-h", "list"], None),
        (["lst"], None),
        (["--version"], None),
    ],
)
def test_a_verb_does_not_wait_for_the_others_and_none_is_hidden(arguments: list[str], ready: set[str] | None) -> None:
    """A script that calls it a thousand times pays for each verb that is made ready; a help that lacks one lies."""
    assert set(application.command(arguments).commands) == (ready or set(application.command().commands))


@pytest.mark.parametrize(("name", "command"), [*commands()])
def test_every_command_answers_in_json_and_explains_itself(name: str, command: Any) -> None:
    """A program needs --json, a person a help text for every word that can be typed."""
    options = {option: parameter for parameter in command.params for option in parameter.opts}
    assert "--json" in options
    # Those that mean nothing to a command are known to it, so that it can say so, and not shown.
    shared = {"--backend", "--bucket", "--prefix", "--identity", "--directory", "--config"}
    shared |= {"--context", "--server", "--no-preflight", "--read-only"}
    assert shared <= set(options)
    assert {option for option in shared if not options[option].hidden} == SHOWN.get(name, shared)
    silent = [option for option, parameter in options.items() if not getattr(parameter, "help", None)]
    assert not silent, f"without a help text in {name!r}"
    assert command.help
    assert all(words in command.epilog for words in MEANINGS.values())


@pytest.mark.parametrize(("name", "command"), [*commands()])
def test_help_shows_every_word_as_it_is_written(
    name: str, command: Any, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A bracket that a terminal's markup takes for its own hides an option from a newcomer, or ends in a crash."""
    monkeypatch.setenv("COLUMNS", "1000")
    arguments = [*([name] if name else []), "--help"]
    application.command(arguments).main(arguments, standalone_mode=False)
    shown = capsys.readouterr().out
    silent = [
        parameter.name
        for parameter in command.params
        if not parameter.hidden and parameter.help.replace("\\[", "[") not in shown
    ]
    assert not silent, f"not shown by {name} --help"


@pytest.mark.parametrize("arguments", [(), ("--help",), ("write", "-h")])
def test_help_is_shown_with_examples_and_exit_codes(shell: Any, arguments: tuple[str, ...]) -> None:
    """Whoever meets the command for the first time has nothing else."""
    shown = shell(*arguments, environment={"COLUMNS": "400"})
    assert shown.code == 0
    text = shown.out.decode()
    assert "Usage: jsmemory" in text
    assert "Examples:" in text
    assert "Exit codes:" in text


def test_the_version_is_shown(shell: Any) -> None:
    """A report of a defect needs it."""
    assert shell("--version").out.startswith(b"jsmemory 0.")
    assert shell("--version", "--json").json["version"].startswith("0.")


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("lost",), "lost"),
        (("list", "--colour"), "--colour"),
        (("read",), "KEY"),
        (("write", "k"), "--description"),
        (("bench", "--rounds", "many"), "--rounds"),
        (("demo", "--workers", "0"), "--workers"),
        (("demo", "nowhere"), "nowhere"),
        (("--config", "nowhere.yaml", "list"), "nowhere.yaml"),
        (("lst",), "Did you mean 'list'? See"),
        (("demo", "--bucket", "b"), "--bucket"),
        (("--read-only", "demo"), "--read-only"),
        (("demo", "--server", "x"), "--server"),
        (("server", "--backend", "file"), "--backend"),
        (("server", "--directory", "d"), "--directory"),
        (("bench", "--read-only"), "--read-only"),
        (("bench", "--backend", "in_process"), "--backend"),
        (("runs", "--bucket", "b"), "--bucket"),
        (("write", "k", "-d", "x", "--backend", "in_process"), "--backend"),
        (("write", "k", "--overwrite", "--content", "/dev/null"), "--description"),
        (("run", "--run-id", "a b"), "--run-id"),
        (("server", "--bucket", "a.b"), "bucket"),
        (("--bucket", "b", "--directory", "d", "list"), "directory"),
        (("--backend", "jetstream", "list"), "--bucket"),
        (("bench", "--prefix", ""), "--prefix"),
        (("copy", "file:a"), "DST"),
        (("copy", "file:nowhere", "file:b"), "nowhere"),
        (("copy", "jetstream:", "file:b"), "jetstream:BUCKET"),
        (("copy", "nowhere.yaml", "file:b"), "nowhere.yaml"),
        (("--bucket", "b", "copy", "file:a", "file:b"), "--bucket"),
        (("copy", "file:a", "file:b", "--at-once", "0"), "--at-once"),
        (("export", "notes.zip"), ".tar.gz"),
        (("compact", "--limit", "0"), "--limit"),
        (("--read-only", "copy", "file:a", "file:b"), "--read-only"),
        (("provision", "--bucket", "b", "--prefix", "p"), "--prefix"),
        (("permissions", "--bucket", "b", "--server", "x"), "--server"),
        (("export", "nowhere/notes.tar.gz"), "nowhere"),
        (("import", "nowhere"), "nowhere"),
    ],
)
def test_a_wrong_command_line_is_one_line_that_names_what_is_wrong(
    shell: Any, arguments: tuple[str, ...], named: str
) -> None:
    """Whoever mistypes must see what, and how to go on; a program must see the code."""
    refused = shell(*arguments)
    assert (refused.code, refused.out) == (2, b"")
    assert refused.err.startswith("jsmemory: ")
    assert refused.err.count("\n") == 1
    assert named in refused.err


def test_a_wrong_command_line_is_a_json_document_where_json_was_asked_for(shell: Any) -> None:
    """A program that reads standard output must find the refusal there too."""
    for arguments in (("lost", "--json"), ("--json", "read"), ("demo", "nowhere", "--json")):
        refused = shell(*arguments)
        error = refused.json["error"]
        assert (refused.code, refused.err) == (2, "")
        assert (error["code"], error["retryable"]) == ("usage", False)


def test_options_hold_before_and_after_the_verb(shell: Any) -> None:
    """Nobody remembers on which side of the verb an option stands."""
    shell("--directory", "d", "--identity", "bob", "write", "k", "-d", "x")
    assert shell("list", "--directory", "d", "-i", "bob").out == b"k\tx\n"
    assert shell("-i", "alice", "list", "--directory", "d", "-i", "bob").out == b"k\tx\n"


def test_a_backend_that_does_not_answer_has_a_code_of_its_own(shell: Any, closed_port: int) -> None:
    """
    A script must tell a server that is down from a note that is not there; and a password in
    its URL, which ends up in a ticket, is shown to nobody.
    """
    refused = shell("--bucket", "b", "--server", f"nats://ada:secret@127.0.0.1:{closed_port}", "list", "--json")
    assert refused.code == 3
    assert (refused.json["error"]["code"], refused.json["error"]["retryable"]) == ("backend_unavailable", True)
    assert not any(word in refused.out.decode() + refused.err for word in ("ada", "secret"))


def test_a_missing_bucket_is_told_with_the_command_that_makes_it(shell: Any, nats_server: Any) -> None:
    """Whoever sets up a fleet needs the line to paste."""
    refused = shell("--server", nats_server.url, "--bucket", "nowhere", "list")
    assert refused.code == 5
    assert "nats kv add nowhere " in refused.err


def test_without_its_extra_the_command_says_how_to_get_it(shell: Any) -> None:
    """Whoever installed the bare library must not meet a traceback."""
    stub = shell.folder / "stub"
    stub.mkdir()
    (stub / "typer.py").write_text("raise ModuleNotFoundError(\"No module named 'typer'\", name='typer')")
    bare = {"PYTHONPATH": str(stub)}
    refused = shell("list", environment=bare)
    assert (refused.code, refused.out) == (5, b"")
    assert refused.err == (
        "jsmemory: The command line is not installed. Install it with: pip install 'jsmemory[cli]'\n"
    )
    assert shell("list", "--json", environment=bare).json["error"]["code"] == "cli_missing"


@pytest.mark.parametrize("verb", ["demo", "bench", "server"])
def test_without_a_server_to_embed_the_command_says_how_to_get_one(shell: Any, verb: str) -> None:
    """Whoever installed only the command line must not meet a traceback."""
    hide = "import jsmemory.testing.servers.binary as binary; binary.PROGRAM = binary.WHEEL = 'no-such-program'; "
    ended = shell(
        verb,
        *(("--port", "0") if verb == "server" else ()),
        command=(sys.executable, "-c", f"{hide}from jsmemory.cli import main; main()"),
        environment={"NATS_SERVER_BIN": ""},
    )
    assert ended.code == 5
    *begun, refused = ended.err.splitlines()
    assert [line.partition(" ")[0] for line in begun] == (["Keeping"] if verb == "demo" else [])
    assert refused.startswith("jsmemory: ")
    assert "pip install 'jsmemory[server]'" in refused


def test_a_reader_that_goes_away_is_no_failure_to_talk_about(shell: Any) -> None:
    """Whoever pipes into head must not get a traceback."""
    shell("write", "k", "-d", "x", "--content", "-", stdin=b"x" * 65_000)
    for arguments in (("read", "k"), ("list", "--json")):
        read, write = os.pipe()
        os.close(read)
        ended = subprocess.run(
            [sys.executable, "-m", "jsmemory.cli", *arguments],
            stdout=write,
            stderr=subprocess.PIPE,
            cwd=shell.folder,
            env=shell.environment,
            check=False,
        )
        os.close(write)
        assert (ended.returncode, ended.stderr) == (ExitCode.OUTPUT_LOST, b"")


def test_a_full_disk_behind_the_output_is_told(shell: Any) -> None:
    """Whoever saves a note into a full disk must not believe it saved."""
    shell("write", "k", "-d", "x", "--content", "-", stdin=b"text")
    with open("/dev/full", "wb") as full:
        ended = subprocess.run(
            [sys.executable, "-m", "jsmemory.cli", "read", "k"],
            stdout=full,
            stderr=subprocess.PIPE,
            cwd=shell.folder,
            env=shell.environment,
            check=False,
        )
    assert ended.returncode == ExitCode.OUTPUT_LOST
    assert b"could not be written" in ended.stderr


def test_a_defect_is_one_line_too(shell: Any) -> None:
    """Even then nobody should have to read a traceback, and yet be able to ask for it."""
    broken = (
        sys.executable,
        "-c",
        "import jsmemory.cli.listing as l; l.existing_store = None; from jsmemory.cli import main; main()",
    )
    told = shell("list", command=broken)
    assert (told.code, told.err.count("\n")) == (70, 1)
    assert "JSMEMORY_TRACEBACK=1" in told.err
    assert "Traceback" in shell("list", command=broken, environment={"JSMEMORY_TRACEBACK": "1"}).err


def test_a_terminal_obeys_nothing_that_is_in_a_note(shell: Any) -> None:
    """Fault 33: a note that a stranger planted would take over the terminal of whoever reads it."""
    hostile = "\x1b]0;mine\x07 \x9b31m \u202eevil \r over \x08 \x7f é漢 [red]"
    shell("write", "k", "-d", "[bold]x[/bold]", "--content", "-", stdin=hostile.encode())
    shown = on_a_terminal(shell, "read", "k")
    assert "\\x1b]0;mine\\x07 \\x9b31m \\u202eevil \\r over \\x08 \\x7f é漢 [red]" in shown
    assert not {"\x1b", "\x07", "\x9b", "\u202e", "\x08", "\x7f"} & set(shown)
    assert "[bold]x[/bold]" in on_a_terminal(shell, "list", environment={"NO_COLOR": "1", "TERM": "dumb"})


def test_the_shell_can_complete_a_verb(shell: Any) -> None:
    """Completion that typer installs must find the command as it is."""
    asked = {"_JSMEMORY_COMPLETE": "complete_bash", "COMP_WORDS": "jsmemory de", "COMP_CWORD": "1"}
    assert shell(environment=asked).out.split() == [b"delete", b"demo"]


def on_a_terminal(shell: Any, *arguments: str, environment: dict[str, str] | None = None) -> str:
    """What a terminal gets to see."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "jsmemory.cli", *arguments],
        stdin=theirs,
        stdout=theirs,
        stderr=subprocess.DEVNULL,
        cwd=shell.folder,
        env=shell.environment | (environment or {}),
    )
    os.close(theirs)
    seen = b""
    try:
        while data := os.read(ours, 65_536):
            seen += data
    except OSError:
        # Linux says so when the last of them has closed its end.
        pass
    finally:
        os.close(ours)
        assert process.wait(60) == 0
    return seen.decode()
