"""README's snippets run, and what it says is what there is."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from nats.aio.client import Client

from jsmemory import limits
from jsmemory.backends.jetstream.recipe import missing_bucket_cure
from jsmemory.live import MAX_KNOWN
from jsmemory.opening import Configuration
from jsmemory.testing.servers import NatsServer, make_bucket

_ROOT = Path(__file__).parents[2]
_README = (_ROOT / "README.md").read_text()


def snippets(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", _README, re.MULTILINE | re.DOTALL)


def run(argv: list[str], folder: Path, **environment: str) -> str:
    done = subprocess.run(
        argv,
        cwd=folder,
        env={**os.environ, "XDG_CONFIG_HOME": str(folder), **environment},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


async def test_every_snippet_can_be_pasted_one_after_the_other_and_all_of_them_again(
    tmp_path: Path, nc: Client, fresh_server: NatsServer
) -> None:
    """Who tries things out does it in one folder, and tries them again."""
    await make_bucket(fresh_server.url, "team")
    for time in (1, 2):
        files, jetstream, runs, live = (
            run([sys.executable, "-c", snippet], tmp_path, NATS_URL=fresh_server.url) for snippet in snippets("python")
        )
        assert files.splitlines() == [
            "build - How to build the project",
            "make -j2 all",
            "This run has not read 'build', so it may not overwrite it. Read it, then update.",
        ]
        assert jetstream == ""
        assert runs.splitlines() == ["No memories are stored yet.", "['Noted.'] {'written': True, 'key': 'build'}"]
        recorded = list((tmp_path / "journal").glob("night-*-*.jsonl"))
        assert len(recorded) == time
        assert all('"outcome":"completed"' in record.read_text() for record in recorded)
        assert live.startswith("1 ['build']\nChange(kind='created', key='build', description='How to build', revision=")
        for words in ("jsmemory run", "jsmemory write"):
            (block,) = [block for block in snippets("sh") if words in block]
            command = f'jsmemory() {{ {shlex.quote(sys.executable)} -m jsmemory.cli "$@"; }}\n{block}'
            assert run(["bash", "-euo", "pipefail", "-c", command], tmp_path)


def test_every_python_snippet_is_run_by_a_test() -> None:
    assert len(snippets("python")) == 4


def test_the_configuration_snippet_is_legal() -> None:
    (text,) = snippets("yaml")
    configuration = Configuration.of(text)
    assert configuration.backend == "jetstream"


def test_the_line_that_makes_a_bucket_is_the_one_that_the_code_prints() -> None:
    assert missing_bucket_cure("team", is_clustered=True) in snippets("sh")[2]


@pytest.mark.parametrize(
    ("words", "value"),
    [
        ("| key | {} characters", limits.MAX_KEY_LENGTH),
        ("| description | one line of {} code points", limits.MAX_DESCRIPTION_LENGTH),
        ("| content | {:,} bytes", limits.MAX_CONTENT_BYTES),
        ("| entries of a store | {:,} |", limits.MAX_ENTRIES),
        ("| stored value | {:,} bytes", limits.MAX_ENTRY_BYTES),
        ("| entries of a live view | {:,}", MAX_KNOWN),
    ],
)
def test_the_limits_are_those_of_the_code(words: str, value: int) -> None:
    assert words.format(value) in _README


def test_the_rooms_on_the_page_are_those_of_the_house() -> None:
    (page,) = snippets("text")
    for room in (_ROOT / "jsmemory").iterdir():
        if room.name.startswith("_") or room.suffix not in ("", ".py"):
            continue
        assert re.search(rf"\b{room.stem}\b", page), room.stem
