"""``jsmemory bench --scale`` and ``--throughput``: servers of its own under strain."""

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import jsmemory
from jsmemory.cli import screen
from jsmemory.cli.exits import UsageRefused
from jsmemory.cli.growing import draw_growth, measure_growth
from jsmemory.cli.loading import draw_loads, measure_loads
from jsmemory.cli.options import Choice
from jsmemory.cli.tuning import Replicas

if TYPE_CHECKING:
    from jsmemory.testing.measuring import Report

_BUCKET: Final = "bench"
_PLACES: Final = ("bucket", "prefix", "directory", "config", "context", "server")


@dataclass(frozen=True, slots=True, kw_only=True)
class Strain:
    """
    What is measured.

    Attributes:
        sizes: Entries of the buckets that operations are timed in; none without ``--scale``.
        runs: Of one process; none without ``--throughput``.
        processes: Of 64 runs.
        rounds: How often an operation is timed in a bucket.
        seconds: How long a load is measured.
        size: Bytes of the content of a load.
        replicas: Of the buckets.
        is_durable: Whether the servers sync before they acknowledge.
    """

    sizes: Sequence[int]
    runs: Sequence[int]
    processes: Sequence[int]
    rounds: int
    seconds: float
    size: int
    replicas: Replicas
    is_durable: bool


def refuse_a_place(choice: Choice) -> None:
    """
    Refuse options that say where: nobody's bucket is filled with a million entries.

    Raises:
        UsageRefused: one is there.
    """
    for place in _PLACES:
        if getattr(choice, place) is not None:
            raise UsageRefused(
                f"With --scale and --throughput servers of its own are filled, and no place of yours. "
                f"Leave out --{place}."
            )


async def measure_strain(strain: Strain, report: "Report") -> dict[str, Any]:
    """The document that says what came of it."""
    # Named here and not above: no other verb needs a server of its own.
    from jsmemory.cli.embedded import embedded_servers
    from jsmemory.testing.servers import make_bucket

    replicas = int(strain.replicas)
    document: dict[str, Any] = {}
    async with (
        embedded_servers(replicas, is_durable=strain.is_durable) as urls,
        jsmemory.connect(servers=urls, name="jsmemory bench") as nats,
    ):
        if strain.runs:
            await make_bucket(urls, _BUCKET, replicas=replicas)
            document |= await measure_loads(
                urls,
                _BUCKET,
                report,
                runs=strain.runs,
                processes=strain.processes,
                seconds=strain.seconds,
                size=strain.size,
            )
        if strain.sizes:
            document |= await measure_growth(nats, report, sizes=strain.sizes, rounds=strain.rounds, replicas=replicas)
        version = nats.client.connected_server_version
    return document | {
        "server_version": f"{version.major}.{version.minor}.{version.patch}",
        "replicas": replicas,
        "is_durable": strain.is_durable,
        "size": strain.size,
        "machine": {"processors": os.cpu_count(), "python": sys.version.split()[0]},
    }


def show_strain(document: dict[str, Any], *, as_json: bool) -> None:
    """Write the document, or what it says as tables."""
    if as_json:
        screen.put_json(document)
        return
    if "throughput" in document:
        draw_loads(document)
    if "scale" in document:
        draw_growth(document)
    servers = "one server" if document["replicas"] == 1 else f"{document['replicas']} servers"
    screen.talk(
        f"nats-server {document['server_version']}, {servers} and all workers on the "
        f"{document['machine']['processors']} processors of this machine."
    )
