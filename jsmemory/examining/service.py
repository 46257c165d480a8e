"""Whether there is JetStream at all, for these credentials."""

from typing import Final

from jsmemory.backends.jetstream import translate
from jsmemory.examining.answers import Account
from jsmemory.examining.questions import Silence
from jsmemory.examining.report import Check, Verdict, found, ok, unknown

_NOT_FOR_ACCOUNT: Final = frozenset({10035, 10039})
# JetStream is not enabled, for the account or at all.


def tell_of(answer: object) -> Check:
    """What is to be said of the answer to ``INFO``."""
    if answer is Silence.NOBODY:
        return found(
            "service",
            Verdict.FAULT,
            "server_without_jetstream",
            "The server runs without JetStream, so that it can hold no bucket.",
            'put "jetstream { store_dir: /path/of/a/disk }" into its configuration, and restart it',
        )
    if isinstance(answer, translate.ApiError) and answer.err_code in _NOT_FOR_ACCOUNT:
        return found(
            "service",
            Verdict.FAULT,
            "account_without_jetstream",
            "JetStream is not enabled for the account of these credentials.",
            'put "jetstream: enabled" into that account in the configuration of every server, then run: '
            "nats-server --signal reload",
        )
    if isinstance(answer, Account):
        return ok("service", f"JetStream answers, at API level {answer.api.level}")
    if answer is Silence.DENIED:
        return unknown("service", "the credentials may not ask")
    return found(
        "service",
        Verdict.UNANSWERED,
        "service_unanswered",
        "JetStream does not answer: its servers have no leader, or are not to be reached.",
        "start a majority of the servers, and look again in a moment",
    )
