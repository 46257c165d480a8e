"""What operators copy says what the code says."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from jsmemory import BucketRecipe, print_recipe
from jsmemory.cli.examining import CODES
from jsmemory.limits import MAX_ENTRY_BYTES
from jsmemory.provisioning.command_line import make_line, make_lines
from jsmemory.testing.servers import find_nats_server

ROOT = Path(__file__).parents[2]
README = (ROOT / "ops" / "README.md").read_text()
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())


def test_the_readme_has_exactly_the_lines_that_the_recipe_prints() -> None:
    """A page that drifts from the code has operators make buckets that the code refuses."""
    lines = re.findall(r"^ {4}(nats kv add .*)$", README, flags=re.MULTILINE)
    assert lines == [BucketRecipe(bucket="team", replicas=replicas).nats_kv_add() for replicas in (3, 1)]


def test_the_readme_has_the_lines_that_provision_prints() -> None:
    """What a terminal is needed for, and the one line for where there is none."""
    recipe = BucketRecipe(bucket="team", replicas=3, allow_rollup=False)
    assert re.findall(r"^ {4}(nats stream edit .*)$", README, flags=re.MULTILINE) == [make_lines(recipe)[-1]]
    assert re.findall(r"^ {4}(nats stream add .*)$", README, flags=re.MULTILINE) == [make_line(recipe)]


@pytest.mark.parametrize("line", re.findall(r"^ {4}jsmemory (provision .*)$", README, flags=re.MULTILINE))
def test_every_line_of_provision_in_the_readme_is_understood(line: str) -> None:
    """An option that was renamed is found out by whoever sets up a cluster."""
    shared = re.sub(r"--(diff|apply)$", "", line)
    done = subprocess.run([sys.executable, "-m", "jsmemory.cli", *shared.split()], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "team" in done.stdout


def test_the_readme_says_with_which_code_each_verdict_ends() -> None:
    """A pipeline goes by it."""
    rows = re.findall(r"^\| ([a-z, ]+) \| (\d+) \|", README, flags=re.MULTILINE)
    documented = {word: int(code) for words, code in rows for word in words.split(", ")}
    assert documented == {verdict.value: code.value for verdict, code in CODES.items()}


def test_the_compose_file_has_the_service_that_provision_prints() -> None:
    """Whoever adds a second bucket by the printed file must find what is there already."""
    printed = yaml.safe_load(print_recipe(BucketRecipe(bucket="team"), "compose"))
    assert printed["services"]["bucket"] | {"profiles": ["development"]} == COMPOSE["services"]["bucket"]


def test_the_readme_says_what_each_setting_is_for() -> None:
    """A setting without a reason is the first to be changed."""
    flags = re.findall(r"--[a-z-]+", BucketRecipe(bucket="team").nats_kv_add())
    table = README[README.index("| setting |") : README.index("Left out on purpose")]
    assert re.findall(r"^\| `(--[a-z-]+)", table, flags=re.MULTILINE) == flags


def test_the_readme_knows_the_size_of_an_entry() -> None:
    """A bucket capped by a stale number refuses full memories."""
    assert f"{MAX_ENTRY_BYTES:,} bytes" in README


def test_the_compose_file_makes_the_bucket_of_the_readme() -> None:
    """Whoever starts with the compose file must not be the one whose bucket is different."""
    bucket = COMPOSE["services"]["bucket"]
    assert bucket["command"] == [BucketRecipe(bucket="team").nats_kv_add()]
    assert bucket["restart"] == "no"
    assert bucket["depends_on"] == {"nats": {"condition": "service_healthy"}}


def test_the_compose_server_keeps_its_streams_on_the_volume() -> None:
    """A store folder beside the volume is gone with the container."""
    nats = COMPOSE["services"]["nats"]
    (volume,) = nats["volumes"]
    name, folder = volume.split(":")
    assert name in COMPOSE["volumes"]
    assert re.findall(r"store_dir: (\S+)", COMPOSE["configs"]["memory"]["content"]) == [folder]
    assert nats["configs"] == [{"source": "memory", "target": nats["command"][-1]}]


def test_the_compose_server_is_reachable_from_this_machine_only() -> None:
    """It asks for no credentials."""
    assert all(port.startswith("127.0.0.1:") for port in COMPOSE["services"]["nats"]["ports"])


@pytest.mark.parametrize("source", ["compose", "readme"])
def test_a_server_accepts_the_configuration_as_printed(source: str, tmp_path: Path) -> None:
    """A line with a misspelt option keeps the server from starting."""
    if source == "compose":
        text = COMPOSE["configs"]["memory"]["content"]
    else:
        (text,) = re.findall(r"^ {4}jetstream \{.*?^ {4}\}", README, flags=re.MULTILINE | re.DOTALL)
    assert re.search(r"sync_interval: always$", text, flags=re.MULTILINE)
    config = tmp_path / "server.conf"
    config.write_text(text)
    done = subprocess.run([find_nats_server(), "-t", "-c", config], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
