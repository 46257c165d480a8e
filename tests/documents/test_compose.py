"""The compose file: what starts when, and that a cluster in it is the one that was prepared."""

import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from jsmemory import BucketRecipe, prepare_cluster
from jsmemory.provisioning.cluster import workers
from jsmemory.provisioning.cluster.folder import CONFIGURATION
from jsmemory.provisioning.command_line import make_line
from jsmemory.testing.servers import find_nats_server

ROOT = Path(__file__).parents[2]
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
SERVICES: dict[str, Any] = COMPOSE["services"]
NODES = ("n1", "n2", "n3")

OURS = ROOT / "jsmemory" / "provisioning" / "cluster"


def in_profile(profile: str) -> set[str]:
    return {name for name, service in SERVICES.items() if profile in service.get("profiles", [])}


def test_the_configuration_in_ops_is_the_one_that_is_written() -> None:
    """Who reads ops/cluster must see what runs."""
    shown = {path.name: path.read_text() for path in (ROOT / "ops" / "cluster").iterdir()}
    assert shown == {
        CONFIGURATION: (OURS / CONFIGURATION).read_text(),
        "users.conf": workers.users({}),
        "accounts.conf": workers.accounts({}, "workers"),
    }


def test_one_line_starts_the_development_server_and_no_cluster() -> None:
    """A service without a profile would start with every profile, and take the ports of the others."""
    assert all(service.get("profiles") for service in SERVICES.values())
    assert (ROOT / ".env").read_text().splitlines()[-1] == "COMPOSE_PROFILES=development"
    assert in_profile("development") == {"nats", "bucket"}
    assert in_profile("cluster") == {*NODES, "cluster-bucket"}


def test_the_nodes_are_alike_but_for_their_names_and_ports() -> None:
    """A setting that only one node has is found out when that node leads."""

    def as_first(node: str) -> str:
        text = yaml.safe_dump({**SERVICES[node], "ports": None})
        assert text.count(f"ROUTE_ADVERTISE: {node}:6222") == 1
        text = text.replace(f"ROUTE_ADVERTISE: {node}:", "ROUTE_ADVERTISE: n1:").replace(f"NODE: {node}", "NODE: n1")
        return text.replace(f"nats-cluster/{node}/", "nats-cluster/n1/").replace(f"- {node}:/node", "- n1:/node")

    assert {as_first(node) for node in NODES} == {as_first("n1")}


@pytest.mark.parametrize("node", NODES)
def test_a_node_has_its_variables_its_certificate_and_a_volume(node: str, tmp_path: Path) -> None:
    """In the container as on this machine: the same file asks for the same variables, and finds the same folder."""
    prepared = prepare_cluster(tmp_path)
    service = SERVICES[node]
    expected = set(prepared.variables(node, listen="", monitor="", routes=["", "", ""])) - set(prepared.secrets)
    assert set(service["environment"]) == expected
    assert service["environment"]["NODE"] == node
    assert service["env_file"] == "./nats-cluster/cluster.env"
    mounts = dict(volume.removesuffix(":ro").rsplit(":", 1) for volume in service["volumes"])
    assert mounts == {
        "./nats-cluster/conf": "/cluster/conf",
        f"./nats-cluster/{node}/tls": f"{service['working_dir']}/tls",
        node: f"{service['working_dir']}/data",
    }
    assert node in COMPOSE["volumes"]
    assert service["command"] == ["--config", f"/cluster/conf/{prepared.configuration.name}"]
    for source in mounts:
        if source.startswith("./nats-cluster/"):
            assert (tmp_path / source.removeprefix("./nats-cluster/")).is_dir()


def test_the_nodes_are_reached_from_this_machine_only_and_where_they_are_said_to_be() -> None:
    """The monitoring pages ask for no password; and what the command told must hold for Docker too."""
    for number, node in enumerate(NODES):
        assert SERVICES[node]["ports"] == [f"127.0.0.1:{4222 + number}:4222", f"127.0.0.1:{8222 + number}:8222"]


def test_the_cluster_has_the_bucket_that_provision_makes() -> None:
    """With a replica on each node, and made when all of them are ready."""
    bucket = SERVICES["cluster-bucket"]
    line = make_line(BucketRecipe(bucket="team", replicas=3, allow_rollup=False)).replace("$", "$$")
    assert bucket["command"] == [line]
    assert bucket["env_file"] == "./nats-cluster/operator.env"
    assert bucket["depends_on"] == {node: {"condition": "service_healthy"} for node in NODES}
    assert bucket["environment"]["NATS_URL"] == ",".join(f"tls://{node}:4222" for node in NODES)
    (volume,) = bucket["volumes"]
    assert volume == f"./nats-cluster/ca.pem:{bucket['environment']['NATS_CA']}:ro"


@pytest.mark.parametrize("node", NODES)
def test_a_server_accepts_what_its_container_has(node: str, tmp_path: Path) -> None:
    """Addresses and all, checked by the server itself in folders that lie as in the container."""
    prepared = prepare_cluster(tmp_path)
    done = subprocess.run(
        [find_nats_server(), "-t", "-c", prepared.configuration],
        cwd=tmp_path / node,
        env={**prepared.secrets, **SERVICES[node]["environment"]},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr


def test_the_folder_with_the_secrets_is_never_committed() -> None:
    """It is made in the middle of a checkout."""
    assert "/nats-cluster/" in (ROOT / ".gitignore").read_text().splitlines()
