"""The contract on a bucket of one server: in a prefix, in the whole bucket, and with no right beyond the prefix."""

from collections.abc import Iterator
from typing import ClassVar, Final

import pytest

from jsmemory.testing import Gap
from jsmemory.testing.harnesses.jetstream import JetStreamHarness
from jsmemory.testing.pytest_cases import backend_cases, store_cases
from jsmemory.testing.servers import NatsServer, ServerSettings, local_server
from jsmemory.testing.servers.users import Worker, account_of, rights_in


class Prefixed(JetStreamHarness):
    def __init__(self, nats_server: NatsServer) -> None:
        super().__init__(nats_server.url)


class WholeBucket(JetStreamHarness):
    gaps: ClassVar[tuple[Gap, ...]] = (
        Gap("realms/neighbours_do_not_see_each_other", "the flat keyspace is the whole bucket, prefixes and all"),
    )

    def __init__(self, nats_server: NatsServer) -> None:
        super().__init__(nats_server.url, prefix="")


ENDS_WITH_THE_STORE: Final = (
    "who may not ask when the bucket was made cannot tell it from a later one, so authority ends with the store object"
)


WORKER: Final = Worker("worker", rights_in("*", "team"))


@pytest.fixture(scope="module")
def server_with_users() -> Iterator[NatsServer]:
    with local_server(settings=ServerSettings(extra=account_of(WORKER))) as server:
        yield server


class LeastPrivilege(JetStreamHarness):
    gaps: ClassVar[tuple[Gap, ...]] = (
        Gap("guard/a_read_authorises_one_update", ENDS_WITH_THE_STORE),
        Gap("guard/an_update_without_the_guard_is_seen_by_a_store_with_it", ENDS_WITH_THE_STORE),
        Gap("scopes/a_snapshot_carries_the_authority_to_another_process", ENDS_WITH_THE_STORE),
        Gap("scopes/a_snapshot_knows_no_later_change", ENDS_WITH_THE_STORE),
        Gap("drivers/the_realm_is_the_keyspaces", ENDS_WITH_THE_STORE),
    )

    def __init__(self, server_with_users: NatsServer) -> None:
        super().__init__(
            server_with_users.url,
            preflight=False,
            operator={"user": "operator", "password": "secret"},
            worker={"user": "worker", "password": "secret", "inbox_prefix": b"_INBOX_worker"},
        )


test_store = store_cases(Prefixed)
test_store_in_the_whole_bucket = store_cases(WholeBucket)
test_store_with_the_rights_of_its_prefix = store_cases(LeastPrivilege)
test_driver = backend_cases(Prefixed)
test_driver_with_the_rights_of_its_prefix = backend_cases(LeastPrivilege)
