"""A path that cannot be used is one line that names it, whichever option it was typed for."""

from typing import Any

import pytest

TOO_LONG = "x" * 300


@pytest.mark.parametrize(
    "arguments",
    [
        ("--directory", TOO_LONG, "list"),
        ("--directory", TOO_LONG, "write", "k", "-d", "d"),
        ("--directory", TOO_LONG, "watch"),
        ("--directory", TOO_LONG, "prefixes"),
        ("--directory", TOO_LONG, "doctor"),
        ("--config", TOO_LONG, "list"),
        ("demo", TOO_LONG),
        ("export", f"{TOO_LONG}/notes"),
        ("export", TOO_LONG, "--dry-run"),
        ("export", f"{TOO_LONG}.tar.gz"),
        ("import", TOO_LONG),
        ("copy", f"file:{TOO_LONG}", "file:b"),
        ("copy", "file:notes", f"file:{TOO_LONG}"),
        ("copy", TOO_LONG, "file:b"),
        ("run", "--run-id", "night", "--journal", f"./{TOO_LONG}"),
        ("runs", "--journal", f"./{TOO_LONG}"),
        ("write", "k", "-d", "d", "--content", TOO_LONG),
        ("torture", "--check", TOO_LONG),
        ("torture", "--keep", TOO_LONG),
        ("bench", "--plot", f"{TOO_LONG}.svg"),
        ("server", "--port", "0", "--store", TOO_LONG),
        ("server", "--cluster", "--prepare", "--store", TOO_LONG),
        ("scaling", "--measured", TOO_LONG),
    ],
    ids=lambda arguments: " ".join(arguments).replace(TOO_LONG, "too-long"),
)
def test_a_path_that_is_too_long_is_no_defect(shell: Any, arguments: tuple[str, ...]) -> None:
    """Whoever is told of a defect reports it, instead of naming another path."""
    (shell.folder / "notes").mkdir()
    (shell.folder / "notes" / "k.md").write_text("a note")
    refused = shell(*arguments)
    assert refused.code in (2, 5), refused
    assert (refused.out, refused.err.count("\n")) == (b"", 1)
    assert "Name " in refused.err
    assert "name of the run" not in refused.err
    made = {each.name for each in shell.folder.iterdir() if not each.name.startswith(".")}
    assert made - {"notes"} <= {"config"}, "where matplotlib keeps its own"


def test_a_path_that_is_too_long_is_told_to_a_program_too(shell: Any) -> None:
    """It has to tell a wrong path from a defect by a word."""
    assert shell("import", TOO_LONG, "--json").json["error"]["code"] == "setup"


def test_a_path_behind_a_loop_of_links_is_no_defect(shell: Any) -> None:
    """The system has more reasons than one to refuse a path."""
    shell("write", "k", "-d", "d")
    (shell.folder / "loop").symlink_to("loop")
    wrote = ("--directory", "loop/a", "write", "k", "-d", "d")
    for arguments in (("import", "loop"), ("export", "loop/a", "--allow-empty"), ("demo", "loop"), wrote):
        refused = shell(*arguments)
        assert refused.code in (2, 5), refused
        assert refused.err.count("\n") == 1
