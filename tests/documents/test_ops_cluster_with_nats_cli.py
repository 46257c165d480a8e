"""The contexts of a cluster's workers and operators, made by the program that makes them."""

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

PAGE = (Path(__file__).parents[2] / "ops" / "README.md").read_text()
ADDED = re.findall(r"^ {4}(nats context add \w+ --server=\S+ --tlsca=.*)$", PAGE, flags=re.MULTILINE)

WORKERS = ("alice", "bob")
USERS = {"team": "operator", "system": "sys"}
# Whose context is called otherwise than they are.


@pytest.mark.parametrize("line", ADDED)
def test_everybody_in_the_cluster_has_a_context(line: str, programs: Any, tmp_path: Path) -> None:
    """What tests/documents/test_ops_cluster.py reads from the line is what the program keeps."""
    name = line.split()[3]
    user = USERS.get(name, name)
    (tmp_path / "ca.pem").touch()
    given = {"NATS_URL": "tls://127.0.0.1:4222", "NATS_CA": f"{tmp_path}/ca.pem", f"PASSWORD_{user}": "secret"}
    environment = {"HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path), **programs.environment, **given}
    subprocess.run(["sh", "-euc", line], env=environment, check=True, capture_output=True)
    kept = json.loads((tmp_path / "nats" / "context" / f"{name}.json").read_text())
    assert {field: value for field, value in kept.items() if value} == {
        "url": "tls://127.0.0.1:4222",
        "ca": f"{tmp_path}/ca.pem",
        "user": user,
        "password": "secret",
        **(only_of_workers(name) if name in WORKERS else {}),
    }


def only_of_workers(name: str) -> dict[str, str]:
    return {"inbox_prefix": f"_INBOX_{name}", "jetstream_api_prefix": f"MEMORY.team.{name}.API"}


def test_everybody_is_there() -> None:
    """A line that no longer looks as it did must not slip away."""
    assert {line.split()[3] for line in ADDED} == {*USERS, *WORKERS, *(f"MEMORY_team_{name}" for name in WORKERS)}
