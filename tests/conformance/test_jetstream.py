"""The contract on a bucket of a single server, by agents with a prefix and in a bucket without."""

from jsmemory.testing.harnesses.jetstream import JetStreamHarness
from jsmemory.testing.pytest_cases import backend_cases, store_cases
from jsmemory.testing.servers import NatsServer


class OneServer(JetStreamHarness):
    def __init__(self, nats_server: NatsServer) -> None:
        super().__init__(nats_server.url)


test_store = store_cases(OneServer)
test_driver = backend_cases(OneServer)
