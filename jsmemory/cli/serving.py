"""``jsmemory server``: a JetStream server with a bucket, or a whole cluster, on this machine."""

import asyncio
import re
from pathlib import Path
from typing import Annotated, Final

import typer

from jsmemory import BackendUnavailableError
from jsmemory.cli import screen
from jsmemory.cli.choosing import choose
from jsmemory.cli.exits import SetupRefused, UsageRefused
from jsmemory.cli.options import Choice, takes
from jsmemory.cli.waiting import Terminated, wait_for

EXAMPLES: Final = (
    "jsmemory server",
    "jsmemory server --bucket team --store ./nats --port 4223",
    "jsmemory server --cluster --bucket team",
    "jsmemory server --cluster --prepare",
)

DEFAULT_BUCKET: Final = "memory"
DEFAULT_PORT: Final = 4222
DEFAULT_CLUSTER: Final = Path("nats-cluster")
_LOOK_S: Final = 0.25
_BUCKET: Final = re.compile(r"[A-Za-z0-9_-]{1,200}")


@takes("bucket", "config", "as_json", why="It runs a server of its own, on the loopback; see --port and --store.")
def serve(
    choice: Choice,
    port: Annotated[
        int | None,
        typer.Option(
            help="Where clients connect, on the loopback; 0 takes a free one. "
            f"Left out: {DEFAULT_PORT}, or where this cluster listened before."
        ),
    ] = None,
    store: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help=f"Keep the entries there. Left out: they end with the server; a cluster's are in ./{DEFAULT_CLUSTER}.",
        ),
    ] = None,
    cluster: Annotated[
        bool, typer.Option("--cluster", help="Three nodes, with TLS, passwords and encryption.")
    ] = False,
    prepare: Annotated[
        bool, typer.Option("--prepare", help="Only make what the nodes of a cluster are started with, as for Docker.")
    ] = False,
    host: Annotated[
        list[str] | None,
        typer.Option("--host", metavar="NAME", help="Another name or address of a cluster's nodes; more than once."),
    ] = None,
) -> None:
    """
    Run a nats-server with JetStream, make the bucket, and serve until Ctrl-C, SIGTERM or SIGHUP (exit code 0).

    The bucket is the one that is chosen, or "memory". One server on the loopback, without
    passwords, for trying things out; it is not how a fleet is operated.

    With --cluster it is three nodes that are encrypted on the wire and on the disk, with the files that they have in
    Docker or on three machines; authority, certificates, passwords and the key are made once and kept, and so are the
    bucket, the ports and the hosts that were named. Each of the
    three has the ports of the one before it plus one; for routes and the monitoring pages, those are 2000 and 4000
    higher. A node that ends is started again, with the passwords that there are then.
    """
    chosen = choose(choice) if choice.bucket is None else None
    named = choice.bucket or (chosen.bucket if chosen is not None else None)
    bucket = named or DEFAULT_BUCKET
    if not _BUCKET.fullmatch(bucket):
        raise UsageRefused("The bucket's name cannot be one. Use 1 to 200 characters out of A-Z a-z 0-9 _ -.")
    if (prepare or host) and not cluster:
        raise UsageRefused(f"{'--prepare' if prepare else '--host'} is for a cluster. Add --cluster, or leave it out.")
    if cluster:
        _cluster(store or DEFAULT_CLUSTER, named, port, host or [], is_prepared_only=prepare, as_json=choice.as_json)
        return
    port = DEFAULT_PORT if port is None else port
    from jsmemory.testing.servers import is_free

    if port and not is_free(port):
        raise SetupRefused(f"Port {port} is taken or may not be used. Choose another: --port N, or --port 0.")
    if store is not None:
        try:
            store.mkdir(parents=True, exist_ok=True)
        except OSError:
            raise SetupRefused(f"The folder {store} can be neither made nor used. Name another: --store DIR.") from None
    try:
        wait_for(_serve(bucket, store, port or None, as_json=choice.as_json))
    except (KeyboardInterrupt, Terminated):
        screen.talk("Stopped.")


def _cluster(
    folder: Path, bucket: str | None, port: int | None, hosts: list[str], *, is_prepared_only: bool, as_json: bool
) -> None:
    from jsmemory.cli.clustering import prepare, serve_cluster, tell_of_prepared
    from jsmemory.cli.settling import settle

    if is_prepared_only and port == 0:
        raise UsageRefused("What is only prepared has no free port to take. Name one: --port N.")
    settled = settle(folder, bucket=bucket, port=port, default=DEFAULT_BUCKET)
    prepared = prepare(folder, hosts)
    if is_prepared_only:
        tell_of_prepared(prepared, settled, as_json=as_json)
        return
    try:
        wait_for(serve_cluster(prepared, settled, as_json=as_json))
    except (KeyboardInterrupt, Terminated):
        screen.talk("Stopped.")


async def _serve(bucket: str, folder: Path | None, port: int | None, *, as_json: bool) -> None:
    from jsmemory.cli.embedded import embedded_bucket

    async with embedded_bucket(bucket, folder, port=port) as embedded:
        if as_json:
            screen.put_json({"url": embedded.url, "bucket": bucket, "pid": embedded.server.pid})
        else:
            screen.put(f"{embedded.url}\n")
            screen.talk(f"Serving the bucket {bucket}. Use it with: jsmemory -s {embedded.url} -b {bucket} list")
            if folder is None:
                screen.talk("Its entries are removed when it stops; keep them with --store DIR.")
        for difference in embedded.differences:
            screen.talk(difference)
        while embedded.server.is_running:  # noqa: ASYNC110 - a process sets no event
            await asyncio.sleep(_LOOK_S)
        raise BackendUnavailableError("The nats-server ended by itself.", "Start it again; --store keeps its log.")
