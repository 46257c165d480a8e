"""Alerts and the dashboard: made of what the exporter shows, and each alert with what to do."""

import http.client
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from jsmemory.testing.servers import NatsCluster, NatsServer

ROOT = Path(__file__).parents[2]
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"]
SCRAPED: list[dict[str, Any]] = yaml.safe_load((ROOT / "ops" / "prometheus" / "prometheus.yml").read_text())[
    "scrape_configs"
]

MADE_OF_JSZ: Mapping[str, tuple[str, ...]] = {
    "jetstream_server_total_streams": ("streams",),
    "jetstream_account_storage_used": ("account_details", "storage"),
    "jetstream_account_max_storage": ("account_details", "reserved_storage"),
    "jetstream_stream_last_seq": ("account_details", "stream_detail", "state", "last_seq"),
    "jetstream_stream_total_messages": ("account_details", "stream_detail", "state", "messages"),
    "jetstream_stream_total_bytes": ("account_details", "stream_detail", "state", "bytes"),
    "jetstream_stream_consumer_count": ("account_details", "stream_detail", "state", "consumer_count"),
    "jetstream_stream_limit_messages": ("account_details", "stream_detail", "config", "max_msgs"),
    "jetstream_stream_limit_bytes": ("account_details", "stream_detail", "config", "max_bytes"),
}
"""Where in /jsz the exporter finds what it shows."""

ABSENT_UNLESS_SO = "jetstream_server_jetstream_disabled"
"""It is made of a field that a server shows only where JetStream is off."""


def test_every_series_that_is_looked_at_is_one_that_the_exporter_shows(watched: Any) -> None:
    """An alert on a name that nobody exports is silent for ever, and looks like peace."""
    assert watched.series <= watched.exported
    assert len(watched.exported) == 167


def test_what_the_exporter_makes_series_of_is_on_the_pages_of_this_release(
    watched: Any, nats_cluster: NatsCluster, replicated_bucket: str
) -> None:
    """A server that renames a number takes an alert with it; and nobody would notice."""
    node = nats_cluster.nodes[0]
    numbers = {f"gnatsd_varz_{name}" for name in numbers_of(page(node, "/varz"))}
    assert page(node, "/healthz")["status"] == "ok"
    jsz = page(node, "/jsz?consumers=true&config=true&raft=true")
    shown = {name for name, path in MADE_OF_JSZ.items() if all(isinstance(each, int) for each in reach(jsz, path))}
    assert watched.series <= numbers | shown | {"gnatsd_healthz_status", "gnatsd_varz_start", ABSENT_UNLESS_SO}
    # A time, which the exporter turns into a number.
    assert re.match(r"\d{4}-", page(node, "/varz")["start"])
    assert list(reach(jsz, ("account_details", "stream_detail", "name"))).count(f"KV_{replicated_bucket}") == 1
    leaders = set(reach(jsz, ("account_details", "stream_detail", "cluster", "leader")))
    assert leaders <= {each.name for each in nats_cluster.nodes}
    assert jsz["meta_cluster"]["leader"] in {each.name for each in nats_cluster.nodes}


def test_sync_interval_and_certificates_are_left_to_the_doctor(watched: Any, nats_cluster: NatsCluster) -> None:
    """The exporter shows no booleans and few texts: what alerts cannot know, their page says."""
    assert page(nats_cluster.nodes[0], "/varz")["jetstream"]["config"].get("sync_always", False) is False
    head = (ROOT / "ops" / "prometheus" / "alerts.yml").read_text().partition("groups:")[0]
    for word in ("sync_interval", "certificates", "markers", "jsmemory doctor"):
        assert word in head


def test_every_alert_says_what_is_wrong_and_what_to_do(watched: Any) -> None:
    """Who is woken at night reads one line, and follows one page."""
    assert len({alert["alert"] for alert in watched.alerts}) == len(watched.alerts)
    for alert in watched.alerts:
        assert alert["labels"]["severity"] in {"critical", "warning", "info"}, alert
        assert set(alert["annotations"]) == {"summary", "cure", "runbook"}, alert
        assert (ROOT / alert["annotations"]["runbook"]).is_file(), alert


def test_every_alert_is_tried_where_it_has_to_speak(watched: Any) -> None:
    """A rule that never was seen to speak is a hope."""
    text = (ROOT / "tests" / "data" / "prometheus" / "alerts_test.yml").read_text()
    assert set(re.findall(r'alertname="(\w+)"', text)) == {alert["alert"] for alert in watched.alerts}


def test_the_dashboard_can_be_used_as_it_is(watched: Any) -> None:
    """It is imported where the data source has another name, and two panels with one id are one."""
    dashboard = watched.dashboard
    ids = [panel["id"] for panel in dashboard["panels"]]
    assert len(set(ids)) == len(ids)
    source = dashboard["templating"]["list"][0]
    assert (source["type"], source["query"], source["name"]) == ("datasource", "prometheus", "datasource")
    for panel in watched.panels:
        assert panel["targets"], panel["title"]
        assert panel["description"], panel["title"]
        for part in (panel, *panel["targets"]):
            assert part["datasource"] == {"type": "prometheus", "uid": "${datasource}"}
        references = [target["refId"] for target in panel["targets"]]
        assert len(set(references)) == len(references)
    used = set(re.findall(r"\$(\w+)", json.dumps([text for _, text in watched.expressions])))
    assert used == {variable["name"] for variable in dashboard["templating"]["list"][1:]}


def test_no_panel_lies_over_another(watched: Any) -> None:
    """What is hidden is not seen in time."""
    taken: set[tuple[int, int]] = set()
    for panel in watched.dashboard["panels"]:
        place = panel["gridPos"]
        cells = {(place["x"] + right, place["y"] + down) for right in range(place["w"]) for down in range(place["h"])}
        assert not cells & taken, panel["title"]
        assert place["x"] + place["w"] <= 24
        taken |= cells


def test_each_node_has_an_exporter_and_is_scraped_under_its_name() -> None:
    """An exporter sees only its own node: a bucket on one server is on one exporter only."""
    (job,) = SCRAPED
    assert job["job_name"] == "nats"
    scraped = {target: group["labels"]["node"] for group in job["static_configs"] for target in group["targets"]}
    assert scraped == {f"exporter-{node}:7777": node for node in ("n1", "n2", "n3")}
    for node in ("n1", "n2", "n3"):
        *flags, url = COMPOSE[f"exporter-{node}"]["command"]
        assert url == f"http://{node}:8222"
        assert flags == ["-varz", "-healthz", "-jsz=all", "-use_internal_server_name"]


def test_every_rule_looks_at_the_job_that_is_scraped(watched: Any) -> None:
    """Another NATS in the same Prometheus must neither wake anybody here, nor hide what is wrong."""
    for name, expression in watched.expressions:
        for series, matchers in re.findall(r"((?:gnatsd|jetstream)_\w+|\bup)(\{[^}]*\})?", expression):
            if not matchers:
                # Beside another one with the same labels.
                assert f"> {series}" in expression, name
            else:
                assert matchers.startswith('{job="nats"'), name


def test_prometheus_and_grafana_find_their_files() -> None:
    """A path that is mounted elsewhere leaves both empty, without a word."""
    for service in ("prometheus", "grafana"):
        assert COMPOSE[service]["profiles"] == ["monitoring"]
        for volume in COMPOSE[service]["volumes"]:
            source = volume.split(":")[0]
            assert not source.startswith(".") or (ROOT / source).exists()
        assert all(port.startswith("127.0.0.1:") for port in COMPOSE[service]["ports"])
    folder = yaml.safe_load((ROOT / "ops/grafana/provisioning/dashboards/jsmemory.yml").read_text())
    (provider,) = folder["providers"]
    assert (
        f"./ops/grafana/jsmemory.json:{provider['options']['path']}/jsmemory.json:ro" in COMPOSE["grafana"]["volumes"]
    )
    sources = yaml.safe_load((ROOT / "ops/grafana/provisioning/datasources/prometheus.yml").read_text())
    assert sources["datasources"][0]["url"] == "http://prometheus:9090"


def numbers_of(value: Mapping[str, Any], *path: str) -> Iterator[str]:
    """The exporter's rule: every number, its path joined; no boolean and no text."""
    for name, each in value.items():
        if isinstance(each, dict):
            yield from numbers_of(each, *path, name)
        elif isinstance(each, int | float) and not isinstance(each, bool):
            yield "_".join((*path, name))


def reach(value: Any, path: tuple[str, ...]) -> list[Any]:
    """What is at a path, through every list on the way."""
    if isinstance(value, list):
        return [found for each in value for found in reach(each, path)]
    return reach(value[path[0]], path[1:]) if path else [value]


def page(node: NatsServer, path: str) -> dict[str, Any]:
    connection = http.client.HTTPConnection(str(node.monitor_url).removeprefix("http://"), timeout=60)
    try:
        connection.request("GET", path)
        read: dict[str, Any] = json.loads(connection.getresponse().read())
        return read
    finally:
        connection.close()
