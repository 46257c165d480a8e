"""
Workers with few rights, as the text of a server's configuration.

    async with embedded_server(settings=ServerSettings(extra=account_of(Worker("ann", rights_in("team", "ann"))))):
        ...

Beside them is an ``operator`` who may do everything. Every password is ``secret``.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from jsmemory.backends.jetstream.facts import STREAM_PREFIX
from jsmemory.provisioning.permissions import WorkerPermissions

_ANY: Final = "any_bucket_at_all"
# Stands for every bucket until the subjects are put together.


@dataclass(frozen=True, slots=True)
class Worker:
    """
    A user who may do what is named, and nothing more.

    Attributes:
        name: Who logs in, with the inbox prefix ``_INBOX_<name>``.
        publish: The subjects to publish to.
        subscribe: The subjects to subscribe to; left out, the own inbox.
    """

    name: str
    publish: Sequence[str]
    subscribe: Sequence[str] = ()


def rights_in(bucket: str, prefix: str) -> tuple[str, ...]:
    """
    What a store must be allowed to publish to when it is bound to a prefix with preflight off.

    Args:
        bucket: The bucket; ``*`` for every one.
        prefix: The prefix.
    """
    rights = WorkerPermissions(bucket=_ANY if bucket == "*" else bucket, prefix=prefix).publish
    return tuple(subject.replace(f"{STREAM_PREFIX}{_ANY}", "*").replace(_ANY, "*") for subject in rights)


def account_of(*workers: Worker) -> str:
    """An account with JetStream, for `ServerSettings.extra`: the operator, and the workers."""
    users: list[dict[str, object]] = [{"user": "operator", "password": "secret"}]
    for worker in workers:
        permissions = {
            "publish": list(worker.publish),
            "subscribe": list(worker.subscribe or [f"_INBOX_{worker.name}.>"]),
        }
        users.append({"user": worker.name, "password": "secret", "permissions": permissions})
    return "accounts: " + json.dumps({"WORK": {"jetstream": "enabled", "users": users}})
