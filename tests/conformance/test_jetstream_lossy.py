"""
The contract over a network that loses requests and answers.

A store without rivals never notices. Among rivals a lost write may be replaced before it is
looked for; then nobody can know what came of it, and the store says so: those cases are left out.
"""

import random
from typing import Any

import pytest
from nats.aio.client import Client
from nats.aio.msg import Msg

from jsmemory.backends.jetstream.wire import Connection
from jsmemory.testing import BACKEND_CASES, STORE_CASES, BackendHarness, Case, Harness
from jsmemory.testing.harnesses.jetstream import JetStreamHarness
from jsmemory.testing.lossy import LossyConnection
from jsmemory.testing.run import check_case
from jsmemory.testing.servers import NatsServer


class LossyAtRandom(LossyConnection):
    """Loses one request in fifty, and one answer in fifty, always the same ones."""

    def __init__(self, client: Client) -> None:
        super().__init__(client)
        self._dice = random.Random(1)

    async def request(
        self, subject: str, payload: bytes = b"", timeout: float = 0.5, *, headers: dict[str, Any] | None = None
    ) -> Msg:
        throw = self._dice.random()
        if throw < 0.04:
            self.lose("request" if throw < 0.02 else "answer", subject)
        return await super().request(subject, payload, timeout, headers=headers)


class Lossy(JetStreamHarness):
    def __init__(self, url: str) -> None:
        super().__init__(url)

    def between(self, client: Client) -> Connection:
        return LossyAtRandom(client)


RIVALS = ("concurrency/", "/of_all_who", "/rac", "while", "mixture", "cancel")
PURGED = ("drivers/a_replace_is_of_one_revision_only",)
# It replaces what was never there: where an answer is lost, that looks like a value that was purged meanwhile.


def _may_be_in_doubt(case: Case[Any]) -> bool:
    return any(word in case.name for word in RIVALS) or case.name in PURGED


@pytest.mark.parametrize("case", [case for case in STORE_CASES if not _may_be_in_doubt(case)], ids=str)
async def test_a_store_does_not_notice(nats_server: NatsServer, case: Case[Harness]) -> None:
    """A worker behind a bad link: no write done twice, none told to have failed, none refused for its own doing."""
    await check_case(case, lambda: Lossy(nats_server.url))


@pytest.mark.parametrize("case", [case for case in BACKEND_CASES if not _may_be_in_doubt(case)], ids=str)
async def test_a_driver_does_not_notice(nats_server: NatsServer, case: Case[BackendHarness]) -> None:
    """The same, below the rules of the contract."""
    await check_case(case, lambda: Lossy(nats_server.url))
