"""Prometheus' own word: it understands the rules, they speak when they must, and panels are legal."""

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def promtool() -> str:
    found = os.environ.get("PROMTOOL") or shutil.which("promtool")
    assert found, "Put promtool on the search path, or name it: PROMTOOL=..."
    return found


def run(*command: str | Path) -> str:
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_prometheus_takes_its_configuration(promtool: str, watched: Any) -> None:
    """With one rule that it does not understand it does not start."""
    said = run(promtool, "check", "config", ROOT / "ops" / "prometheus" / "prometheus.yml")
    assert f"{len(watched.alerts)} rules found" in said


def test_each_alert_speaks_and_is_silent_when_it_should(promtool: str) -> None:
    """In trouble of each kind, and where all is well."""
    assert "SUCCESS" in run(promtool, "test", "rules", ROOT / "tests" / "data" / "prometheus" / "alerts_test.yml")


def test_every_panel_asks_what_can_be_answered(promtool: str, watched: Any, tmp_path: Path) -> None:
    """A panel with an error is found out on the day on which somebody needs it."""
    rules = [
        {"record": f"panel:{number}", "expr": target["expr"].replace("$account", ".*").replace("$stream", ".*")}
        for number, target in enumerate(target for panel in watched.panels for target in panel["targets"])
    ]
    file = tmp_path / "panels.yml"
    file.write_text(yaml.safe_dump({"groups": [{"name": "panels", "rules": rules}]}))
    assert f"{len(rules)} rules found" in run(promtool, "check", "rules", file)
