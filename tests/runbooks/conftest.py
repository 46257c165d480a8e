"""
Runbooks walked through as their reader would: the commands of a page, section by section, in one shell.

They need the nats command line, which no Python package brings; see tests/conftest.py.
"""

import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from jsmemory.testing.servers import NatsCluster, NatsServer, ServerSettings, local_cluster, local_server

PAGES = Path(__file__).parents[2] / "ops" / "runbooks"
NOTHING: Mapping[str, str] = {}

ACCOUNTS = """
accounts {
  SYS: { users: [ { user: system, password: secret } ] }
  MEMORY: { jetstream: enabled, users: [ { user: operator, password: secret } ] }
  MEMORY_team_zoe: { jetstream: enabled, users: [ { user: MEMORY_team_zoe, password: secret } ] }
}
system_account: SYS
"""
ISOLATED = "MEMORY_team_zoe"
SETTINGS = ServerSettings(extra=ACCOUNTS, max_file=8 * 1024**3)


class Walk:
    """
    One page, its reader, and where the reader is.

    Args:
        page: The name of the page, without its ending.
        person: The reader.
        home: The reader's folder.
        environment: The reader's environment.
        leaves: Sections that are for another situation, and are tried in another test.
    """

    def __init__(
        self, page: str, person: Any, home: Path, environment: dict[str, str], leaves: Sequence[str] = ()
    ) -> None:
        text = (PAGES / f"{page}.md").read_text()
        parts = re.split(r"^##? (.+)$", text, flags=re.MULTILINE)[1:]
        self._commands = {
            title: commands
            for title, body in zip(parts[::2], parts[1::2], strict=True)
            if (commands := _commands(body))
        }
        self._left = set(self._commands) - set(leaves)
        self._person = person
        self._environment = environment
        self.home = home

    def run(
        self, section: str, *, fails: bool = False, lines: slice = slice(None), put: Mapping[str, str] = NOTHING
    ) -> str:
        """
        Run the commands of a section, as one script that ends with the first that fails.

        Args:
            section: Its title.
            fails: Whether the page says that one of them does; then all are run nevertheless.
            lines: Which blocks of the section; something may have to happen in between.
            put: What the reader puts in the place of an example.

        Returns:
            What was printed.
        """
        self._left.discard(section)
        commands = "\n".join(self._commands[section][lines])
        for example, own in put.items():
            assert example in commands
            commands = commands.replace(example, own)
        return self.shell(commands, fails=fails)

    def section(self, title: str) -> str:
        """The commands of a section, to be run in a situation that the page is not for."""
        return "\n".join(self._commands[title])

    def shell(self, commands: str, *, fails: bool = False) -> str:
        """Run commands where the reader is."""
        strict = ["-e"] if not fails else []
        seen = self._person.runs(["bash", "-uo", "pipefail", *strict, "-c", commands], self._environment, self.home)
        assert fails or seen.code == 0, f"{commands}\n\n{seen.text}"
        return str(seen.text)

    def end(self) -> None:
        """What was left out has not been tried."""
        assert not self._left, f"sections with commands that were not run: {self._left}"


def _commands(body: str) -> list[str]:
    """The blocks of a text, each as it would be pasted."""
    lines = [line[4:] if line.startswith("    ") else None for line in body.splitlines()]
    blocks: list[list[str]] = [[]]
    for line in lines:
        if line is None:
            blocks.append([])
        else:
            blocks[-1].append(line)
    return ["\n".join(block) for block in blocks if block]


class Reader:
    """Who opens pages: an operator in a folder of their own, with both programs on the path."""

    def __init__(self, person: Any, home: Path, programs: Any) -> None:
        # The jsmemory that is tested, and no other that may be on the path.
        command = programs.folder / "jsmemory"
        command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m jsmemory.cli "$@"\n')
        command.chmod(0o755)
        self.home = home
        self._person = person
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("NATS_", "JSMEMORY_"))}
        self._environment = kept | {
            **programs.environment,
            "HOME": str(home),
            "XDG_CONFIG_HOME": str(home / "config"),
            "COLUMNS": "200",
        }
        self._walks: list[Walk] = []

    def knows(self, **variables: str) -> None:
        """Set variables for everything that is run from now on."""
        self._environment.update(variables)

    def runs(self, commands: str) -> None:
        """Run what no page says: how things came to be as they are."""
        Walk("README", self._person, self.home, self._environment).shell(commands)

    def keeps_isolated(self, replicas: int) -> None:
        """Make the bucket of an isolated memory; from now on the pages have to care for it as well."""
        self.runs(
            f"jsmemory --context {ISOLATED} --bucket team provision --replicas {replicas} --apply\n"
            f"echo {ISOLATED} >memories\n"
            f"echo text | jsmemory --context {ISOLATED} --bucket team --prefix zoe write k -d d --content -"
        )

    def starts(self, *command: str) -> "subprocess.Popen[bytes]":
        """Start what stays, in a terminal of its own."""
        return subprocess.Popen(
            command, cwd=self.home, env=self._environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )

    def opens(self, page: str, leaves: Sequence[str] = ()) -> Walk:
        """Open a page; at the end of the test all of its commands must have been run, but for what it leaves."""
        walk = Walk(page, self._person, self.home, self._environment, leaves)
        self._walks.append(walk)
        return walk

    def end(self) -> None:
        """No page that was opened was left before its end."""
        for walk in self._walks:
            walk.end()


@pytest.fixture
def cluster() -> Iterator[NatsCluster]:
    """Three servers with a system account."""
    with local_cluster(settings=SETTINGS) as cluster:
        yield cluster


@pytest.fixture
def spare_cluster() -> Iterator[NatsCluster]:
    """Three servers, and a fourth that holds nothing yet."""
    with local_cluster(size=4, settings=SETTINGS) as cluster:
        yield cluster


@pytest.fixture
def server() -> Iterator[NatsServer]:
    """One server with a system account."""
    with local_server(settings=SETTINGS) as server:
        yield server


@pytest.fixture
def newcomer(person: Any, tmp_path: Path, programs: Any) -> Iterator[Reader]:
    """A reader without any servers yet."""
    reader = Reader(person, tmp_path, programs)
    yield reader
    reader.end()


@pytest.fixture
def reader(request: pytest.FixtureRequest, newcomer: Reader) -> Reader:
    """The operator of whichever servers the test has, with contexts, and an isolated memory without a bucket."""
    names = [name for name in ("cluster", "spare_cluster", "server") if name in request.fixturenames]
    servers = request.getfixturevalue(names[0])
    url = ",".join(getattr(servers, "urls", None) or (servers.url,))
    for context, user in (("team", "operator"), ("system", "system"), (ISOLATED, ISOLATED)):
        newcomer.runs(f"nats context add {context} --server={url} --user={user} --password=secret")
    newcomer.runs("touch memories")
    newcomer.knows(NATS_CONTEXT="team")
    return newcomer
