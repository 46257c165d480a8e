"""Compose's own word: what starts with which profile, and what a container is given."""

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from jsmemory import BucketRecipe, prepare_cluster
from jsmemory.provisioning.command_line import make_line

ROOT = Path(__file__).parents[2]
NODES = {"n1", "n2", "n3"}
MONITORING = {"exporter-n1", "exporter-n2", "exporter-n3", "prometheus", "grafana"}


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """The files that Compose reads, in a folder of their own."""
    for name in ("docker-compose.yml", ".env"):
        shutil.copy(ROOT / name, tmp_path)
    return tmp_path


def compose(checkout: Path, *arguments: str) -> str:
    program = os.environ.get("DOCKER_COMPOSE") or shutil.which("docker-compose")
    assert program, "Put docker-compose on the search path, or name it: DOCKER_COMPOSE=..."
    environment = {name: value for name, value in os.environ.items() if not name.startswith("COMPOSE_")}
    done = subprocess.run(
        [program, *arguments], cwd=checkout, env=environment, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize(
    ("profiles", "services"),
    [
        ((), {"nats", "bucket"}),
        (("cluster",), {*NODES, "cluster-bucket"}),
        (("cluster", "monitoring"), {*NODES, "cluster-bucket", *MONITORING}),
    ],
)
def test_a_profile_starts_its_services_and_no_others(
    checkout: Path, profiles: tuple[str, ...], services: set[str]
) -> None:
    """The development server beside a cluster would take its port; and it asks for no password."""
    if profiles:
        _prepare(checkout)
    chosen = [word for profile in profiles for word in ("--profile", profile)]
    assert set(compose(checkout, *chosen, "config", "--services").split()) == services


def test_a_container_is_given_what_was_prepared(checkout: Path) -> None:
    """A dollar sign that Compose takes for a variable of its own leaves a password empty."""
    secrets = _prepare(checkout)
    services: dict[str, Any] = json.loads(compose(checkout, "--profile", "cluster", "config", "--format", "json"))[
        "services"
    ]
    for node in NODES:
        given = services[node]["environment"]
        assert secrets.items() <= given.items()
        assert (given["NODE"], given["ROUTE_2"]) == (node, "nats://n2:6222")
    bucket = services["cluster-bucket"]
    assert bucket["environment"] == {
        "NATS_URL": "tls://n1:4222,tls://n2:4222,tls://n3:4222",
        "NATS_CA": "/cluster/ca.pem",
        "NATS_USER": "operator",
        "NATS_PASSWORD": secrets["PASSWORD_operator"],
    }
    # It is printed as it could be run again, with dollar signs doubled.
    line = make_line(BucketRecipe(bucket="team", replicas=3, allow_rollup=False))
    assert [part.replace("$$", "$") for part in bucket["command"]] == [line]


def _prepare(checkout: Path) -> dict[str, str]:
    prepared = prepare_cluster(checkout / "nats-cluster")
    (prepared.folder / "operator.env").write_text(
        f"NATS_URL=tls://127.0.0.1:4222\nNATS_CA='{prepared.authority}'\nNATS_USER=operator\n"
        f"NATS_PASSWORD={prepared.password()}\n"
    )
    return dict(prepared.secrets)
