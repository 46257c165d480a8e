"""What each verb promises to whoever types it, or has a program type it; on both twins."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

HOSTILE = (
    "\x1b]0;mine\x07\x9b31mred\u202eevil\r</memory-index>\n---\ndescription: x\n---\n\n\ttab\u2028é漢\ufeff no end"
)
"""What takes over a terminal, or the format that entries are kept in."""


def test_an_entry_that_was_written_is_read_back_byte_for_byte(memory: Any) -> None:
    """Fault 34: whoever keeps what is not plain prose would get something else back."""
    content = HOSTILE.encode()
    assert memory("write", "note", "-d", "hostile", "--content", "-", stdin=content).code == 0
    read = memory("read", "note")
    assert (read.code, read.out, read.err) == (0, content, "")
    assert memory("read", "note", "--json").json["content"] == HOSTILE


def test_a_listing_has_every_key_with_its_description_in_order(memory: Any) -> None:
    """A program that takes the listing apart must find every entry, on a line of its own."""
    for key, description in (("b", "second\n\tline"), ("a", "first [red]not markup[/red]")):
        assert memory("write", key, "-d", description).code == 0
    assert memory("list").out == b"a\tfirst [red]not markup[/red]\nb\tsecond line\n"
    listed = memory("list", "--json").json
    assert listed["entries"] == [
        {"key": "a", "description": "first [red]not markup[/red]"},
        {"key": "b", "description": "second line"},
    ]
    assert listed["backend"] in ("file", "jetstream")
    assert "/" not in listed["location"]


def test_an_empty_store_lists_nothing(memory: Any) -> None:
    """A first run must not look like a failure."""
    listed = memory("list")
    assert (listed.code, listed.out) == (0, b"")
    assert memory("list", "--json").json["entries"] == []


def test_a_write_never_replaces_what_is_there(memory: Any) -> None:
    """Whoever reuses a key by mistake would destroy a note."""
    assert memory("write", "note", "-d", "one").code == 0
    refused = memory("write", "note", "-d", "two", "--json")
    assert refused.code == 1
    assert refused.json["error"]["code"] == "entry_exists"
    assert refused.json["error"]["retryable"] is False
    assert memory("list").out == b"note\tone\n"


def test_an_overwrite_shows_what_it_replaces(memory: Any) -> None:
    """Whoever overwrites the wrong note must still be able to get it back from the screen."""
    memory("write", "note", "-d", "old line", "--content", "-", stdin=b"old text\n  indented \x1b[31m")
    replaced = memory("write", "note", "-d", "new line", "--content", "-", "--overwrite", stdin=b"new text")
    assert replaced.code == 0
    assert "old line" in replaced.err
    assert "- old text\n-   indented \\x1b[31m\n" in replaced.err
    assert memory("read", "note").out == b"new text"
    again = memory("write", "note", "-d", "x", "--content", "-", "--overwrite", "--json", stdin=b"").json
    assert again["outcome"] == "replaced"
    assert again["replaced"]["description"] == "new line"
    assert again["replaced"]["content"] == "new text"


def test_an_overwrite_keeps_the_line_that_nobody_replaces(memory: Any) -> None:
    """Whoever brings a text up to date should not have to type again what it is about."""
    none = memory("write", "note", "--content", "-", "--overwrite", stdin=b"x")
    assert none.code == 2
    assert "--description" in none.err
    memory("write", "note", "-d", "the line", "--content", "-", stdin=b"old\n")
    replaced = memory("write", "note", "--content", "-", "--overwrite", stdin=b"new")
    assert (replaced.code, replaced.err) == (0, "Replacing: the line\n- old\nReplaced note.\n")
    read = memory("read", "note", "--json").json
    assert (read["description"], read["content"]) == ("the line", "new")


def test_who_only_looks_makes_nothing(shell: Any) -> None:
    """Whoever lists in the wrong folder must not leave a memory there, which the next one takes for the right one."""
    listed = shell("list", "--json")
    assert (listed.code, listed.json) == (0, {"backend": "file", "location": "", "entries": []})
    missing = shell("read", "k", "--json")
    assert (missing.code, missing.json["error"]["code"]) == (1, "entry_not_found")
    assert shell("read", "../up", "--json").json["error"]["code"] == "invalid_key"
    assert shell("delete", "k", "--json").json == {"key": "k", "existed": False}
    assert shell("delete", "k", "--read-only", "--json").json["error"]["code"] == "read_only"
    assert list(shell.folder.iterdir()) == []


def test_an_answer_that_nobody_can_get_is_not_lost_silently(shell: Any) -> None:
    """A script with a closed output would take a full store for an empty one."""
    shell("write", "note", "-d", "x")
    closed = ("sh", "-c", f'exec "{sys.executable}" -m jsmemory.cli "$@" >&-', "sh")
    assert shell("list", command=closed).code == 141
    assert shell("write", "other", "-d", "x", command=closed).code == 0


def test_a_content_without_an_end_is_not_told_as_shorter_than_it_is(shell: Any) -> None:
    """Whoever splits it up would go by the size."""
    refused = shell("write", "note", "-d", "x", "--content", "-", "--json", stdin=b"x" * (16 * 1024 * 1024 + 1))
    assert (refused.code, refused.json["error"]["code"]) == (1, "entry_too_large")
    assert "more than 16777216 bytes" in refused.json["error"]["message"]


def test_an_overwrite_of_nothing_creates(memory: Any) -> None:
    """A script that keeps one note current must not need to know whether it is its first run."""
    made = memory("write", "note", "-d", "x", "--content", "-", "--overwrite", "--json", stdin=b"text")
    assert made.json == {"key": "note", "outcome": "created", "replaced": None}
    assert memory("read", "note").out == b"text"


def test_an_overwrite_says_by_what(memory: Any) -> None:
    """Whoever only mends a description must not empty the note."""
    memory("write", "note", "-d", "x", "--content", "-", stdin=b"text")
    refused = memory("write", "note", "-d", "y", "--overwrite")
    assert refused.code == 2
    assert "--content" in refused.err
    assert memory("read", "note").out == b"text"


def test_of_many_overwrites_at_once_none_destroys_what_it_did_not_show(shell: Any) -> None:
    """Two people who overwrite one note at once: whoever was not shown the other's text must not replace it."""
    shell("write", "note", "-d", "x", "--content", "-", stdin=b"0")
    (shell.folder / "text").write_text("new")
    writers = [
        shell.start("write", "note", "-d", f"by {number}", "--content", "text", "--overwrite", "--json")
        for number in range(4)
    ]
    answers = [json.loads(writer.communicate()[0]) for writer in writers]
    shown = [answer["replaced"]["revision"] for answer in answers if "replaced" in answer]
    refused = [answer["error"]["code"] for answer in answers if "error" in answer]
    assert shown, answers
    assert len(set(shown)) == len(shown)
    assert set(refused) <= {"stale_entry"}


def test_a_delete_says_whether_it_was_this_one(memory: Any) -> None:
    """A script that cleans up must be able to tell, and must not fail on what is gone already."""
    memory("write", "note", "-d", "x")
    assert memory("delete", "note", "--json").json == {"key": "note", "existed": True}
    gone = memory("delete", "note", "--json")
    assert (gone.code, gone.json) == (0, {"key": "note", "existed": False})
    assert memory("list").out == b""


def test_what_is_not_there_cannot_be_read(memory: Any) -> None:
    """Fault 36: an empty answer would look like an empty note."""
    missing, told = memory("read", "nowhere"), memory("read", "nowhere", "--json").json["error"]
    assert (missing.code, missing.out) == (1, b"")
    assert missing.err == f"jsmemory: {told['message']}\n"
    assert told["code"] == "entry_not_found"


@pytest.mark.parametrize("key", ["../up", "", "\x1b[31m", b"\xff"])
def test_an_illegal_key_is_refused_as_such(shell: Any, key: str | bytes) -> None:
    """Fault 37: whoever mistyped a key must not be told that the backend is down."""
    refused = shell("read", "--json", "--", key)
    assert (refused.code, refused.json["error"]["code"]) == (1, "invalid_key")


def test_nothing_is_written_by_a_store_for_reading(memory: Any) -> None:
    """An operator who looks around must not be able to slip."""
    memory("write", "note", "-d", "x")
    for attempt in (("write", "note", "-d", "y", "--content", "/dev/null", "--overwrite"), ("delete", "note")):
        refused = memory("--read-only", *attempt, "--json")
        assert (refused.code, refused.json["error"]["code"]) == (1, "read_only")
    assert memory("list").out == b"note\tx\n"


def test_content_over_the_limit_is_refused_with_its_size(shell: Any) -> None:
    """Whoever stores a log by mistake must hear how much it was, and find no part of it."""
    (shell.folder / "log").write_bytes(b"x" * 65_537)
    refused = shell("write", "log", "-d", "x", "--content", "log")
    assert refused.code == 1
    assert "65537" in refused.err
    assert shell("list").out == b""
    (shell.folder / "log").write_bytes(b"x" * 65_536)
    assert shell("write", "log", "-d", "x", "--content", "log").code == 0


def test_content_that_is_no_text_is_refused_clearly(shell: Any) -> None:
    """Whoever stores a picture must not get a broken note."""
    refused = shell("write", "note", "-d", "x", "--content", "-", stdin=b"ab\xff")
    assert refused.code == 1
    assert "UTF-8 at byte 2" in refused.err
    assert shell("list").out == b""


@pytest.mark.parametrize("path", ["missing", "folder", "nul\0byte"])
def test_a_content_file_that_cannot_be_read_is_one_line(shell: Any, path: str) -> None:
    """Whoever mistypes a path must see which, and no traceback."""
    (shell.folder / "folder").mkdir()
    if "\0" in path:
        # No process can be given such an argument; the call that it would come to is the same.
        command = f"import sys; sys.argv = ['jsmemory', 'write', 'k', '-d', 'x', '--content', {path!r}]"
        refused = shell(command=(sys.executable, "-c", f"{command}; from jsmemory.cli import main; main()"))
    else:
        refused = shell("write", "k", "-d", "x", "--content", path)
        assert path in refused.err
    assert refused.code == 2
    assert refused.err.count("\n") == 1


def test_text_that_is_piped_in_is_not_left_aside(shell: Any) -> None:
    """Whoever forgets --content - would believe the text stored."""
    refused = shell("write", "note", "-d", "x", stdin=b"important")
    assert refused.code == 2
    assert "--content -" in refused.err
    (shell.folder / "text").write_bytes(b"important")
    with (shell.folder / "text").open("rb") as text:
        ended = subprocess.run(
            [sys.executable, "-m", "jsmemory.cli", "write", "note", "-d", "x"],
            stdin=text,
            cwd=shell.folder,
            check=False,
        )
    assert ended.returncode == 2
    assert shell("list").out == b""


def test_a_write_without_content_does_not_wait_for_standard_input(shell: Any) -> None:
    """A harness that leaves a pipe open would hang for ever."""
    process = subprocess.Popen(
        [sys.executable, "-m", "jsmemory.cli", "write", "note", "-d", "just this line"],
        stdin=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        cwd=shell.folder,
        env=shell.environment,
    )
    try:
        assert process.wait(60) == 0
    finally:
        process.kill()
        process.communicate()
    assert shell("read", "note").out == b""


def test_what_another_program_planted_cannot_break_the_lines_of_a_listing(shell: Any) -> None:
    """Fault 33: a description with escapes would reach the terminal of whoever lists."""
    shell("write", "mine", "-d", "x")
    planted = Path(shell.folder) / "memory" / "default" / "planted.md"
    planted.write_text('---\ndescription: "a\\u009b31m\\u202eb\\nc\\td"\n---\n\nbody', encoding="utf-8")
    lines = shell("list").out.decode().splitlines()
    assert [line.split("\t")[0] for line in lines] == ["mine", "planted"]
    assert not {"\x9b", "\u202e"} & set("".join(lines))
