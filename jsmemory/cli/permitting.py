"""``jsmemory permissions``: what one worker may do, for the configuration of a server."""

from enum import StrEnum
from typing import Annotated, Final

import typer

from jsmemory import WorkerPermissions
from jsmemory.cli import screen
from jsmemory.cli.choosing import choose
from jsmemory.cli.exits import UsageRefused
from jsmemory.cli.options import Choice, takes

EXAMPLES: Final = (
    "jsmemory permissions --bucket team --prefix alice",
    "jsmemory permissions --bucket team --prefix alice --isolated >alice.conf",
    "jsmemory permissions --bucket team --prefix alice --journal runs",
    "jsmemory permissions --bucket team --prefix alice --read-only --worker auditor",
    "jsmemory permissions --bucket team --prefix alice --isolated --format jwt | sh -e",
)


class Form(StrEnum):
    """What there is to print."""

    SERVER = "server"
    JWT = "jwt"


@takes(
    "bucket",
    "prefix",
    "identity",
    "config",
    "read_only",
    "as_json",
    why="It prints what a worker may do in a bucket, and asks nobody.",
)
def permit(
    choice: Choice,
    isolated: Annotated[
        bool, typer.Option("--isolated", help="Accounts of its own, which stop a hostile worker as well.")
    ] = False,
    worker: Annotated[
        str, typer.Option(metavar="NAME", help="Who gets the rights. Left out: it is called like the prefix.")
    ] = "",
    journal: Annotated[
        str, typer.Option("--journal", "-j", metavar="STREAM", help="The stream that its runs are recorded in, too.")
    ] = "",
    form: Annotated[
        Form, typer.Option("--format", help="A server's configuration, or nats auth lines where users have JWTs.")
    ] = Form.SERVER,
) -> None:
    """
    Print the rights of one worker to the notes of its prefix, and nothing more; nothing is changed.

    Without --isolated it is a user of the account that holds the bucket: that keeps workers
    apart and stops mistakes, but no worker that means harm. With --read-only the server
    refuses it every write of a note. With --journal it may record runs as well; any of those who
    may can go on with, or spoil, each run of that stream.

    No worker gets the right to purge, which jsmemory compact takes: it is its operator's.
    """
    chosen = choose(choice)
    if chosen.bucket is None:
        raise UsageRefused("No bucket is named. Name one: --bucket NAME.")
    prefix = chosen.configuration.options.get("prefix")
    permissions = WorkerPermissions(
        bucket=chosen.bucket,
        prefix=choice.who if prefix is None else prefix,
        worker=worker,
        read_only=chosen.configuration.read_only,
        isolated=isolated,
        journal=journal,
    )
    if choice.as_json:
        screen.put_json(
            {
                "worker": permissions.worker,
                "format": form.value,
                "text": _text(permissions, form),
                "publish": permissions.publish,
                "subscribe": permissions.subscribe,
                "inbox_prefix": permissions.inbox_prefix,
                "api_prefix": permissions.api_prefix,
                "configuration": permissions.opening,
            }
        )
    else:
        screen.put(_text(permissions, form))


def _text(permissions: WorkerPermissions, form: Form) -> str:
    return permissions.nats_auth() if form is Form.JWT else permissions.configuration()
