"""What operators copy says what the code says."""

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from jsmemory.backends.jetstream.recipe import BucketRecipe, missing_bucket_cure
from jsmemory.limits import MAX_ENTRY_BYTES
from jsmemory.testing.servers import find_nats_server

ROOT = Path(__file__).parents[2]
README = (ROOT / "ops" / "README.md").read_text()
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())


def test_the_readme_has_exactly_the_lines_that_the_recipe_prints() -> None:
    """A page that drifts from the code has operators make buckets that the code refuses."""
    lines = re.findall(r"^ {4}(nats kv add .*)$", README, flags=re.MULTILINE)
    assert lines == [BucketRecipe(bucket="team", replicas=replicas).nats_kv_add() for replicas in (3, 1)]


def test_the_readme_says_what_each_setting_is_for() -> None:
    """A setting without a reason is the first to be changed."""
    flags = re.findall(r"--[a-z-]+", BucketRecipe(bucket="team").nats_kv_add())
    documented = re.findall(r"^\| `(--[a-z-]+)", README, flags=re.MULTILINE)
    assert documented == flags


def test_the_readme_knows_the_size_of_an_entry() -> None:
    """A bucket capped by a stale number refuses full memories."""
    assert f"{MAX_ENTRY_BYTES:,} bytes" in README


def test_the_compose_file_makes_the_bucket_that_the_error_advises() -> None:
    """Whoever starts with the compose file must not be the one whose bucket is different."""
    bucket = COMPOSE["services"]["bucket"]
    assert bucket["command"] == [missing_bucket_cure("team")]
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
