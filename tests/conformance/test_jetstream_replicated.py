"""The contract on a bucket of three replicas, with followers that lag and stores on different servers."""

from jsmemory.testing.harnesses.jetstream import JetStreamHarness
from jsmemory.testing.pytest_cases import backend_cases, store_cases
from jsmemory.testing.servers import NatsCluster


class ThreeServers(JetStreamHarness):
    def __init__(self, nats_cluster: NatsCluster) -> None:
        super().__init__(*nats_cluster.urls, replicas=3)


test_store = store_cases(ThreeServers)
test_driver = backend_cases(ThreeServers)
