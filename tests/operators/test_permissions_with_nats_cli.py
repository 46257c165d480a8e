"""
The lines that are printed for the nats command line, run by it, on a server that takes what came out.

That program comes with no Python package: see tests/conftest.py.
"""

import base64
import json
import re
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from jsmemory import AccessDeniedError, JetStreamStore, WorkerPermissions, connect
from jsmemory.testing.servers import ServerSettings, embedded_server, make_bucket, plain_client

Shell = Callable[..., str]

ALICE = WorkerPermissions(bucket="team", prefix="alice")
READER = WorkerPermissions(bucket="team", prefix="alice", read_only=True)
BOB = WorkerPermissions(bucket="team", prefix="bob", isolated=True)
BOBS_READER = WorkerPermissions(bucket="team", prefix="bob", read_only=True, isolated=True)


@pytest.fixture
def shell(tmp_path: Path, programs: Any, monkeypatch: pytest.MonkeyPatch) -> Shell:
    """An operator's, in an empty home; `nats` is on its path, and what it keeps is where a host finds it."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    home = {"HOME": str(tmp_path), "XDG_DATA_HOME": str(tmp_path / "data"), "XDG_CONFIG_HOME": str(tmp_path / "config")}

    def run(lines: str, **environment: str) -> str:
        done = subprocess.run(
            ["sh", "-e"],
            input=lines,
            cwd=tmp_path,
            env={**programs.environment, **home, **environment},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    return run


def resolved(home: Path) -> ServerSettings:
    """A server that knows every account that the operator has made."""
    stores = home / "data" / "nats" / "nsc" / "stores" / "LAB"
    accounts = {}
    for file in stores.glob("accounts/*/*.jwt"):
        body = file.read_text().split(".")[1]
        accounts[json.loads(base64.urlsafe_b64decode(body + "=" * (-len(body) % 4)))["sub"]] = file.read_text()
    preload = "\n".join(f"  {account}: {jwt}" for account, jwt in accounts.items())
    operator = (stores / "LAB.jwt").read_text()
    return ServerSettings(extra=f"operator: {operator}\nresolver: MEMORY\nresolver_preload: {{\n{preload}\n}}\n")


async def test_the_lines_for_jwts_run_and_give_what_a_store_needs(grounds: Any, shell: Shell, tmp_path: Path) -> None:
    """An operator of many accounts has no configuration file to paste into."""
    limits = "--js-memory=1MB --js-disk=100MB --js-streams=-1 --js-consumers=-1"
    shell(f"nats auth operator add LAB; nats auth account add WORK --jetstream {limits} --defaults")
    shell("nats auth user add operator WORK --credential=operator.creds --defaults")
    for worker in (ALICE, READER, BOB, BOBS_READER):
        shell(worker.nats_auth(), ACCOUNT="WORK")
    async with embedded_server(settings=resolved(tmp_path)) as server:
        for operator in ("operator", BOB.memory):
            async with plain_client(server.url, user_credentials=str(tmp_path / f"{operator}.creds")) as client:
                await make_bucket(client, "team")
        for writer, reader in ((ALICE, READER), (BOB, BOBS_READER)):
            shell(writer.nats_context(with_jwt=True), NATS_URL=server.url)
            shell(reader.nats_context(with_jwt=True), NATS_URL=server.url)
            async with connect(writer.worker) as connection:
                store = await JetStreamStore.bind(connection, **writer.options)
                await grounds.use_whole(store)
                keys = [item.key for item in await store.list()]
            async with connect(reader.worker) as connection:
                await grounds.use_to_read(await JetStreamStore.bind(connection, **reader.options), keys=keys)
        async with connect(ALICE.worker) as connection:
            foreign = await JetStreamStore.bind(connection, "team", "bob", preflight=False)
            with pytest.raises(AccessDeniedError):
                await foreign.list()


def test_without_the_name_of_the_account_nothing_is_done(shell: Shell, tmp_path: Path) -> None:
    """A user in the wrong account would be another one's."""
    with pytest.raises(AssertionError, match="ACCOUNT: is the account that holds the bucket"):
        shell(ALICE.nats_auth())
    assert not (tmp_path / "alice.creds").exists()


@pytest.mark.parametrize("isolated", [False, True], ids=["flat", "isolated"])
async def test_the_line_for_the_host_is_all_that_it_needs(grounds: Any, shell: Shell, isolated: bool) -> None:
    """A worker that was given rights and not told how to use them is given more."""
    worker = WorkerPermissions(bucket="team", prefix="alice", isolated=isolated)
    async with grounds.server(worker) as server:
        shell(worker.nats_context(), NATS_URL=server.url, PASSWORD_alice="secret")
        async with connect("alice") as connection:
            await grounds.use_whole(await JetStreamStore.bind(connection, **worker.options))


def blocks_of(section: str) -> list[str]:
    """The indented blocks under a heading of the page for operators."""
    page = (Path(__file__).parents[2] / "ops" / "README.md").read_text()
    (text,) = re.findall(rf"^## {section}$(.*?)(?=^##? |\Z)", page, flags=re.MULTILINE | re.DOTALL)
    return [textwrap.dedent(block) for block in re.findall(r"(?:^ {4}.*\n)+", text, flags=re.MULTILINE)]


async def test_the_runbook_adds_workers_by_pasting(
    shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever adds a worker at night pastes, and does not think."""
    # In a bucket that others share it is tried in tests/cli.
    printing, including, making, telling, further, _shared, with_jwt = blocks_of("Add a worker")
    (tmp_path / "bin" / "jsmemory").symlink_to(Path(sys.executable).with_name("jsmemory"))
    passwords = {
        f"PASSWORD_{name}": f"of-{name}"
        for name in ("alice", "bob", "carol", "alice_reader", "MEMORY_team_alice", "MEMORY_team_bob")
    }
    for name, password in passwords.items():
        monkeypatch.setenv(name, password)
    shell(printing + further)
    files = [*re.findall(r"include \./(\S+)", including), "carol.conf", "alice_reader.conf"]
    included = "\n".join(f"  include ../{file}" for file in files)
    settings = ServerSettings(extra=f"accounts {{\n{included}\n}}")
    async with embedded_server(tmp_path / "server", settings=settings) as server:
        at = {"NATS_URL": server.url, **passwords}
        shell(making, **at)
        shell(telling, **at)
        shell(
            "jsmemory --context alice -b team --prefix alice write build -d 'How to build' --content=-</dev/null", **at
        )
        assert shell(telling.splitlines()[-1], **at) == "build\tHow to build\n"
        isolated = WorkerPermissions(bucket="team", prefix="alice", isolated=True)
        assert telling.splitlines()[0] == isolated.nats_context()
        (operating,) = re.findall(r"^#   (nats context add MEMORY_team_alice .+)$", isolated.configuration(), re.M)
        shell(operating, **at)
        shell("jsmemory --context MEMORY_team_alice -b team provision --replicas 1 --diff", **at)
        assert '--tlsca="$NATS_CA"' in isolated.configuration()
        reader = WorkerPermissions(bucket="team", prefix="alice", isolated=True, read_only=True)
        shell(reader.nats_context(), **at)
        listed = shell("jsmemory --context alice_reader -b team --prefix alice list", **at)
        assert listed == "build\tHow to build\n"
    shell("nats auth operator add LAB")
    shell(with_jwt)
    assert (tmp_path / "dora.creds").exists()
