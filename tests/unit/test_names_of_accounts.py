"""An account that is defined twice: a server takes the last one without a word, so it is refused before."""

from importlib import resources
from pathlib import Path

import pytest

from jsmemory import InvalidOptionsError, WorkerPermissions, prepare_cluster
from jsmemory.provisioning.cluster.blocks import blocks_of
from jsmemory.provisioning.worker_names import RESERVED

CONFIGURATION = resources.files("jsmemory.provisioning.cluster").joinpath("memory.conf").read_text()


@pytest.fixture
def workers(tmp_path: Path) -> Path:
    """Where the files of workers go, of a cluster that was prepared."""
    return prepare_cluster(tmp_path / "cluster").configuration.parent / "workers"


def put(workers: Path, name: str, worker: WorkerPermissions, **changes: str) -> None:
    text = worker.configuration()
    for old, new in changes.items():
        text = text.replace(old, new)
    (workers / f"{name}.conf").write_text(text)


def isolated(prefix: str, worker: str = "", **options: object) -> WorkerPermissions:
    return WorkerPermissions(bucket="team", prefix=prefix, worker=worker, isolated=True, **options)  # type: ignore[arg-type]


def prepare(workers: Path) -> None:
    prepare_cluster(workers.parent.parent)


def test_what_is_reserved_is_what_the_nodes_are_started_with(workers: Path) -> None:
    """A name that comes to memory.conf and not to the list is one that a worker can take away."""
    accounts = [
        name for block, inside in blocks_of(CONFIGURATION) if block == "accounts" for name, _ in blocks_of(inside)
    ]
    users = {"sys", "operator"}
    assert {*accounts, *users} == RESERVED
    assert "user: sys," in CONFIGURATION
    assert "user: operator," in (workers.parent / "users.conf").read_text()


@pytest.mark.parametrize("name", [*sorted(RESERVED), "MEMORY_team_alice"])
def test_no_worker_is_called_like_the_cluster_or_a_memory(name: str) -> None:
    """The shared bucket would be without JetStream after the next start; or the worker, in the system account."""
    with pytest.raises(InvalidOptionsError, match=r"'worker'.*Name the worker otherwise"):
        isolated(name)
    with pytest.raises(InvalidOptionsError, match="'worker'"):
        isolated("alice", name)
    assert isolated(name, "zoe").worker == "zoe"
    assert isolated(name, read_only=True, worker="reader").worker == "reader"


@pytest.mark.parametrize("name", ["SYS", "MEMORY"])
def test_a_file_that_takes_an_account_of_the_nodes_is_named(workers: Path, name: str) -> None:
    """It may have been printed before these names were refused, or written by hand."""
    put(workers, "zoe", isolated("zoe"), **{'"zoe": {': f"{name} {{"})
    with pytest.raises(InvalidOptionsError, match=rf"zoe\.conf with the account {name}, .*Print it anew"):
        prepare(workers)


def test_an_account_of_the_operators_own_is_one_of_the_nodes(workers: Path) -> None:
    """What an operator has added to memory.conf must not be taken away either."""
    configuration = workers.parent / "memory.conf"
    configuration.write_text(configuration.read_text().replace("  SYS: {", "  APP = { users: [] } # { \n  SYS: {"))
    put(workers, "APP", isolated("APP"))
    with pytest.raises(InvalidOptionsError, match="the account APP"):
        prepare(workers)


def test_two_workers_of_one_name_are_both_named_and_nothing_is_changed(workers: Path) -> None:
    """Of the two, one would be locked out, and the other would get what it was printed for last."""
    put(workers, "bob", isolated("bob"))
    prepare(workers)
    put(workers, "zoe", isolated("zoe", "bob"))
    held = {path: path.read_bytes() for path in workers.parent.parent.rglob("*") if path.is_file()}
    with pytest.raises(InvalidOptionsError, match=r"bob\.conf and zoe\.conf, .* account bob .*--worker"):
        prepare(workers)
    assert {path: path.read_bytes() for path in workers.parent.parent.rglob("*") if path.is_file()} == held


def test_a_memory_is_in_each_file_of_its_workers_and_is_the_same_in_all(workers: Path) -> None:
    """Remarks and lines make no difference; a limit that was raised in one file of two does."""
    put(workers, "alice", isolated("alice"))
    put(workers, "carol", isolated("alice", "carol"), **{"512MB, ": "512MB, # of it all\n  "})
    put(workers, "reader", isolated("alice", read_only=True))
    prepare(workers)
    put(workers, "alice", isolated("alice"), **{"512MB": "1GB"})
    with pytest.raises(InvalidOptionsError, match=r"account MEMORY_team_alice .*the same in both, with its limits"):
        prepare(workers)
    put(workers, "alice", isolated("alice", journal="runs"))
    with pytest.raises(InvalidOptionsError, match="its journal"):
        prepare(workers)


@pytest.mark.parametrize(
    ("text", "blocks"),
    [
        ("a { b { c: 1 } d } # e {", [("a", "b { c: 1 } d")]),
        ("'a b': {}\n\"c\" = { x: '}' }", [("a b", ""), ("c", "x: '}'")]),
        ("list: [ { a: 1 }, nats://h:1 ]\nport: 1, b: { // }\n [ 1 ] }", [("b", "[ 1 ]")]),
        ("", []),
        ("a {", []),
        ("} ] { }", []),
    ],
)
def test_blocks_are_found_by_their_names(text: str, blocks: list[tuple[str, str]]) -> None:
    """What is in quotes, remarked or deeper is none."""
    assert blocks_of(text) == blocks
