"""What servers say about themselves on their monitoring pages, whatever accounts they have."""

import http.client
import json
from typing import Any
from urllib.parse import urlsplit

from jsmemory.testing.servers.process import NatsServer

PAGE_S = 1.0


def is_healthy(node: NatsServer) -> bool:
    """Whether the node itself knows of nothing that it still has to recover or catch up with."""
    return _page(node, "/healthz").get("status") == "ok"


def meta_peers(node: NatsServer) -> dict[str, bool] | None:
    """
    The other members by name, and whether each is current; None where the node does not lead.

    It is the leader of JetStream's own group that is meant, which places the streams.
    """
    group = _page(node, "/jsz").get("meta_cluster", {})
    if group.get("leader") != node.name:
        return None
    return {peer["name"]: peer["current"] and not peer.get("offline") for peer in group.get("replicas", [])}


def leader_seen_by(node: NatsServer, stream: str) -> str | None:
    """Whom a node that holds the stream, in whatever account, believes to lead it; None where it knows of none."""
    for account in _page(node, "/jsz?accounts=true&streams=true").get("account_details", []):
        for detail in account.get("stream_detail", []):
            if detail["name"] == stream:
                return detail.get("cluster", {}).get("leader") or None
    return None


def _page(node: NatsServer, path: str) -> dict[str, Any]:
    # Whoever does not answer says nothing: it starts, hangs or is gone, and is asked again.
    assert node.monitor_url is not None
    connection = http.client.HTTPConnection(urlsplit(node.monitor_url).netloc, timeout=PAGE_S)
    try:
        connection.request("GET", path)
        page: dict[str, Any] = json.loads(connection.getresponse().read())
    except (OSError, http.client.HTTPException, ValueError):
        return {}
    finally:
        connection.close()
    return page
