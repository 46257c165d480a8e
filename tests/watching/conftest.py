"""What is watched, read from ops/: alerts, panels, and the series that they are made of."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

ROOT: Final = Path(__file__).parents[2]
OF_PROMETHEUS: Final = {"up", "ALERTS"}
# What Prometheus makes itself.

_LANGUAGE: Final = set(
    "absent and by changes count increase max max_over_time min offset or rate unless vector".split()  # noqa: SIM905
)
_ASIDE: Final = re.compile(r"\{[^}]*\}|\[[^\]]*\]|\bby \([^)]*\)|\boffset \w+|\b\d[\w.]*")


@dataclass(frozen=True)
class Watched:
    """Everything in ops/ that looks at series."""

    alerts: list[dict[str, Any]]
    dashboard: dict[str, Any]
    exported: frozenset[str]

    @property
    def panels(self) -> Iterator[dict[str, Any]]:
        """Those that show something."""
        return (panel for panel in self.dashboard["panels"] if panel["type"] != "row")

    @property
    def expressions(self) -> Iterator[tuple[str, str]]:
        """Each expression, with the alert or the panel that it is in."""
        for alert in self.alerts:
            yield alert["alert"], alert["expr"]
        for panel in self.panels:
            for target in panel["targets"]:
                yield panel["title"], target["expr"]

    @property
    def series(self) -> set[str]:
        """What comes from the exporter; also a word that is neither a series nor known here."""
        words = {word for _, text in self.expressions for word in re.findall(r"[A-Za-z_]\w*", _ASIDE.sub(" ", text))}
        return words - _LANGUAGE - OF_PROMETHEUS


@pytest.fixture(scope="session")
def watched() -> Watched:
    """What is in ops/prometheus and ops/grafana, and what the exporter shows."""
    groups = yaml.safe_load((ROOT / "ops" / "prometheus" / "alerts.yml").read_text())["groups"]
    lines = (ROOT / "tests" / "data" / "prometheus" / "exporter_metrics.txt").read_text().splitlines()
    return Watched(
        alerts=[rule for group in groups for rule in group["rules"]],
        dashboard=json.loads((ROOT / "ops" / "grafana" / "jsmemory.json").read_text()),
        exported=frozenset(line for line in lines if not line.startswith("#")),
    )
