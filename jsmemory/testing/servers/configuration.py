"""What a server is started with, as the text of its configuration file."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

MIB = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSettings:
    """
    What a test may want otherwise.

    Attributes:
        max_payload: Bytes of headers and value of one message.
        sync_interval: When JetStream syncs to disk: a duration such as ``2m``, or ``always``.
        max_memory: Bytes that streams may take in memory.
        max_file: Bytes that streams may take on disk.
        extra: Further lines, put into the file as they are: accounts, users, limits.
    """

    max_payload: int = MIB
    sync_interval: str = "2m"
    max_memory: int = 64 * MIB
    max_file: int = 1024 * MIB
    extra: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Membership:
    """
    A server's place in a cluster.

    Attributes:
        cluster: The cluster's name.
        port: Where this server takes routes.
        routes: The route ports of all members, its own included: JetStream counts them to
            know how many members it must wait for.
        advertised: The port at which others are told to find its routes, where something stands
            in between. Clients are told of no other member then.
    """

    cluster: str
    port: int
    routes: Sequence[int]
    advertised: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenConfiguration:
    """
    A configuration that somebody else wrote: a server is started with it as it is.

    Attributes:
        file: Where it is. What it names without a root is found in the server's own folder.
        environment: Variables that it asks for, beside those of this process; may hold secrets.
    """

    file: Path
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)


def configuration(
    *,
    name: str,
    port: int,
    monitor_port: int | None,
    folder: Path,
    settings: ServerSettings,
    membership: Membership | None,
) -> str:
    """The text of the configuration file of one server that listens on the loopback only."""
    place = json.dumps(str(folder))
    lines = [
        f"server_name: {json.dumps(name)}",
        f'listen: "127.0.0.1:{port}"',
        f"ports_file_dir: {place}",
        f"max_payload: {settings.max_payload}",
        "jetstream {",
        f"  store_dir: {place}",
        f"  max_memory_store: {settings.max_memory}",
        f"  max_file_store: {settings.max_file}",
        f"  sync_interval: {json.dumps(settings.sync_interval)}",
        "}",
    ]
    if monitor_port is not None:
        lines.append(f'http: "127.0.0.1:{monitor_port}"')
    if membership is not None:
        routes = ", ".join(f'"nats://127.0.0.1:{port}"' for port in membership.routes)
        lines += [
            "cluster {",
            f"  name: {json.dumps(membership.cluster)}",
            f'  listen: "127.0.0.1:{membership.port}"',
            f"  routes: [{routes}]",
            *_advertising(membership.advertised),
            "}",
        ]
    return "\n".join([*lines, settings.extra, ""])


def _advertising(port: int | None) -> list[str]:
    if port is None:
        return []
    return [f'  advertise: "127.0.0.1:{port}"', "  no_advertise: true"]
