"""A cluster on this machine: three encrypted nodes, with the files that they have elsewhere."""

import fcntl
import os
import shlex
import ssl
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import jsmemory
from jsmemory import InvalidOptionsError, PreparedCluster
from jsmemory.cli import screen
from jsmemory.cli.embedded import made_bucket
from jsmemory.cli.exits import SetupRefused, UsageRefused
from jsmemory.cli.nodes import HOST, check_configuration, check_free, keep_up, nodes_of, written_for
from jsmemory.cli.settling import Settled
from jsmemory.testing.servers import NatsCluster

OPERATOR: Final = "operator"
SYSTEM: Final = "sys"
SYSTEM_CONTEXT: Final = "system"
CONNECT_S: Final = 20.0
READY_S: Final = 60.0
"""An election takes 4 to 9 s, and twice or thrice that where votes split."""

ENVIRONMENT: Final = "cluster.env"

_PRIVATE: Final = 0o600


def prepare(folder: Path, hosts: Sequence[str]) -> PreparedCluster:
    """
    Make the folder of a cluster, or complete it, and say what was made.

    Raises:
        SetupRefused: it cannot be used, or a server does not take what is in it.
        UsageRefused: a host is none.
        InvalidOptionsError: there is no nats-server.
    """
    try:
        prepared = jsmemory.prepare_cluster(folder, hosts=hosts)
    except InvalidOptionsError as error:
        if error.option == "hosts":
            raise UsageRefused(f"--host {error.problem}. {error.remedy}") from None
        raise SetupRefused(f"The folder {folder} {error.problem}. {error.remedy}", error.code) from None
    for note in prepared.notes:
        screen.talk(note)
    check_configuration(prepared)
    return prepared


def tell_of_prepared(prepared: PreparedCluster, settled: Settled, *, as_json: bool) -> None:
    """
    Say what there is, and how to connect once the nodes run.

    Args:
        prepared: What was made.
        settled: The bucket that will be there, and where the nodes will listen.
        as_json: Say it in JSON.
    """
    access = _Access(prepared, settled)
    access.keep()
    if as_json:
        screen.put_json({**access.plain(), "notes": list(prepared.notes)})
        return
    screen.talk(f"The folder {prepared.folder} has all that the nodes are started with.")
    access.tell("Once they run, use the bucket")


async def serve_cluster(prepared: PreparedCluster, settled: Settled, *, as_json: bool) -> None:
    """
    Run the nodes with a bucket on all of them, until this is cancelled; one that ends is started again.

    Args:
        prepared: What they are started with.
        settled: The bucket, and where the nodes listen.
        as_json: Say in JSON how to connect.

    Raises:
        SetupRefused: a port is taken, or the folder is in use.
        BackendUnavailableError: the cluster did not become ready.
        InvalidOptionsError: there is no nats-server.
    """
    with _alone_in(prepared.folder):
        check_free(settled.places)
        cluster = NatsCluster.of(nodes_of(prepared, settled.places))
        try:
            cluster.begin()
            screen.talk("Three nodes start. Until they agree who leads, up to half a minute can pass.")
            await cluster.ready(READY_S)
            access = _Access(prepared, settled)
            differences = await _make(access.variables, settled.bucket)
            access.keep()
            if as_json:
                screen.put_json({**access.plain(), "pids": {node.name: node.pid for node in cluster.nodes}})
            else:
                screen.put(f"{access.variables['NATS_URL']}\n")
                access.tell(
                    f"Three nodes serve. Each logs to server.log in its folder in {prepared.folder}. Use the bucket"
                )
            for difference in differences:
                screen.talk(difference)
            await keep_up(cluster, lambda: written_for(jsmemory.prepare_cluster(prepared.folder), settled.places))
        finally:
            cluster.terminate()


class _Access:
    """How the operator of the shared buckets connects to nodes on this machine."""

    def __init__(self, prepared: PreparedCluster, settled: Settled) -> None:
        self._settled = settled
        self._bucket = settled.bucket
        self._prepared = prepared
        self._folder = prepared.folder
        self._file = prepared.folder / f"{OPERATOR}.env"
        self._monitors = [f"http://{HOST}:{place.monitor}" for place in settled.places]
        self.variables = {
            "NATS_URL": ",".join(f"tls://{HOST}:{place.client}" for place in settled.places),
            "NATS_CA": str(prepared.authority),
            "NATS_USER": OPERATOR,
            "NATS_PASSWORD": prepared.password(OPERATOR),
        }

    def keep(self) -> None:
        """Put it down for a shell, where only the owner of the folder reads it; and what it came from."""
        self._settled.keep(self._folder)
        variables = "".join(f"{name}={shlex.quote(value)}\n" for name, value in self.variables.items())
        self._prepared.keep(self._file.name, variables)

    def plain(self) -> dict[str, Any]:
        return {
            "urls": self.variables["NATS_URL"].split(","),
            "bucket": self._bucket,
            "user": OPERATOR,
            "ca": self.variables["NATS_CA"],
            "environment": str(self._file),
            "monitors": self._monitors,
        }

    def tell(self, beginning: str) -> None:
        server = f"--server={self.variables['NATS_URL']} --tlsca={shlex.quote(self.variables['NATS_CA'])}"
        monitors = " ".join(f"--monitor {monitor}" for monitor in self._monitors)
        for line in (
            f"{beginning} {self._bucket} with:",
            f"    set -a; . {shlex.quote(str(self._file))}; set +a",
            f"    jsmemory --bucket {self._bucket} list",
            f"    jsmemory --bucket {self._bucket} doctor {monitors}",
            "Or, where there is the nats command line, keep contexts. Variables win over them, so without the above:",
            f"    unset {' '.join(self.variables)}; . {shlex.quote(str(self._folder / ENVIRONMENT))}",
            f'    nats context add {self._bucket} {server} --user={OPERATOR} --password="$PASSWORD_{OPERATOR}"',
            f'    nats context add {SYSTEM_CONTEXT} {server} --user={SYSTEM} --password="$PASSWORD_{SYSTEM}"',
        ):
            screen.talk(line)


async def _make(access: dict[str, str], bucket: str) -> list[str]:
    """Make the bucket with a replica on each node; how one that was there differs."""
    async with jsmemory.connect(
        servers=access["NATS_URL"],
        user=access["NATS_USER"],
        password=access["NATS_PASSWORD"],
        tls=ssl.create_default_context(cafile=access["NATS_CA"]),
        name="jsmemory server",
        first_connect_timeout=CONNECT_S,
    ) as nats:
        return await made_bucket(nats, bucket, replicas=3)


@contextmanager
def _alone_in(folder: Path) -> Iterator[None]:
    # Two servers on one folder of streams would ruin them.
    file = folder / ".lock"
    try:
        lock = os.open(file, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, _PRIVATE)
    except OSError:
        raise SetupRefused(f"The file {file} cannot be locked. Remove it, or name another: --store DIR.") from None
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise SetupRefused(
                f"A cluster runs on the folder {folder} already. Stop that one, or name another: --store DIR."
            ) from None
        yield
    finally:
        os.close(lock)
