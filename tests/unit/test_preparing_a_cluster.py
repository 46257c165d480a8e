"""The folder of a cluster: made once, completed later, and never emptied of what cannot be had again."""

import multiprocessing
import os
import shutil
import stat
import subprocess
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509

import jsmemory
from jsmemory import InvalidOptionsError, PreparedCluster, WorkerPermissions, prepare_cluster
from jsmemory.provisioning.cluster import certificates
from jsmemory.testing.servers import find_nats_server

PLACES = {"listen": "127.0.0.1:1", "monitor": "127.0.0.1:2", "routes": ["127.0.0.1:3", "127.0.0.1:4", "127.0.0.1:5"]}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "deep" / "cluster"


def contents(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def hosts_of(folder: Path, node: str) -> set[str]:
    return set(certificates.hosts_of((folder / node / "tls" / "node.pem").read_bytes()))


def certificate_of(folder: Path, node: str) -> x509.Certificate:
    return x509.load_pem_x509_certificate((folder / node / "tls" / "node.pem").read_bytes())


def accepted(prepared: PreparedCluster, node: str) -> subprocess.CompletedProcess[str]:
    """The server's own check of what a node is started with."""
    return subprocess.run(
        [find_nats_server(), "-t", "-c", prepared.configuration],
        cwd=prepared.folder / node,
        env=prepared.variables(node, **PLACES),  # type: ignore[arg-type]
        capture_output=True,
        text=True,
    )


def test_a_server_accepts_what_each_node_is_started_with(folder: Path) -> None:
    """Nothing but these files and variables: the process's own environment is not there either."""
    prepared = prepare_cluster(folder)
    for node in prepared.nodes:
        done = accepted(prepared, node)
        assert done.returncode == 0, done.stderr


def test_twice_is_the_same_as_once(folder: Path) -> None:
    """A second start with other secrets would find its streams unreadable, and its clients locked out."""
    first = prepare_cluster(folder)
    held = contents(folder)
    second = prepare_cluster(folder)
    assert contents(folder) == held
    assert second.secrets == first.secrets
    assert first.notes == tuple(f"Made the certificate of {node}." for node in first.nodes)
    assert second.notes == ()


def test_no_two_clusters_share_a_secret(tmp_path: Path) -> None:
    """A password that comes with the software is known to everybody."""
    one, two = prepare_cluster(tmp_path / "one"), prepare_cluster(tmp_path / "two")
    assert set(one.secrets) == {"JETSTREAM_KEY", "PASSWORD_sys", "PASSWORD_operator"}
    assert len({*one.secrets.values(), *two.secrets.values()}) == 6
    assert all(len(secret) == 43 and secret.isalpha() for secret in one.secrets.values())
    assert one.authority.read_bytes() != two.authority.read_bytes()


def test_only_its_owner_can_read_secrets(folder: Path) -> None:
    """Machines have other users, and folders end up in repositories."""
    prepared = prepare_cluster(folder)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    private = {path.name for path in contents(folder) if not stat.S_IMODE(path.stat().st_mode) & 0o077}
    assert {"cluster.env", "ca.key", "node.key", "users.conf", "accounts.conf"} <= private
    assert (folder / ".gitignore").read_text().splitlines()[-1] == "*"
    assert prepared.password() not in repr(prepared)


def test_a_node_has_a_certificate_for_every_name_that_it_is_reached_by(folder: Path) -> None:
    """A client refuses a server that is called otherwise."""
    prepare_cluster(folder, hosts=["n2.example.org", "10.0.0.2"])
    held = certificate_of(folder, "n2")
    names = held.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert set(names.get_values_for_type(x509.DNSName)) == {"n2", "localhost", "n2.example.org"}
    assert {str(address) for address in names.get_values_for_type(x509.IPAddress)} == {"127.0.0.1", "::1", "10.0.0.2"}
    assert timedelta(days=360) < held.not_valid_after_utc - datetime.now(UTC) < timedelta(days=366)


def test_a_new_name_makes_the_certificates_anew_and_nothing_else(folder: Path) -> None:
    """Clients must not have to learn of another authority."""
    prepared = prepare_cluster(folder)
    authority = prepared.authority.read_bytes()
    later = prepare_cluster(folder, hosts=["memory.example.org"])
    assert later.notes == tuple(f"Made the certificate of {node} anew." for node in later.nodes)
    assert later.authority.read_bytes() == authority
    assert later.secrets == prepared.secrets
    assert prepare_cluster(folder).notes == ()


def test_hosts_add_up(folder: Path) -> None:
    """Whoever names one more must not lock out everybody who knows the nodes by the first; nor a lost disk."""
    prepare_cluster(folder, hosts=["memory.example.org", "10.0.0.2"])
    prepare_cluster(folder, hosts=["memory.example.com"])
    here = {"localhost", "127.0.0.1", "::1", "memory.example.org", "10.0.0.2", "memory.example.com"}
    assert [hosts_of(folder, node) for node in ("n1", "n2", "n3")] == [here | {node} for node in ("n1", "n2", "n3")]
    shutil.rmtree(folder / "n2")
    assert prepare_cluster(folder).notes == ("Made the certificate of n2.",)
    assert hosts_of(folder, "n2") == here | {"n2"}


def test_a_certificate_that_ends_soon_is_made_anew(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On its last day the cluster would fall apart."""
    monkeypatch.setattr(certificates, "NODE_DAYS", 29)
    prepare_cluster(folder)
    monkeypatch.undo()
    assert prepare_cluster(folder).notes == tuple(
        f"Made the certificate of {node} anew." for node in ("n1", "n2", "n3")
    )
    assert prepare_cluster(folder).notes == ()


def test_the_authority_may_be_kept_elsewhere(folder: Path, tmp_path: Path) -> None:
    """Whoever gets hold of its key can join; so it should not lie beside the nodes."""
    prepare_cluster(folder)
    shutil.move(folder / "ca.key", tmp_path / "safe.key")
    assert prepare_cluster(folder).notes == ()
    with pytest.raises(InvalidOptionsError, match=r"ca\.key.*Put it back"):
        prepare_cluster(folder, hosts=["memory.example.org"])
    shutil.move(tmp_path / "safe.key", folder / "ca.key")
    assert len(prepare_cluster(folder, hosts=["memory.example.org"]).notes) == 3


@pytest.mark.parametrize(
    ("lose", "named"),
    [
        (lambda folder: (folder / "cluster.env").unlink(), r"cluster\.env"),
        (lambda folder: (folder / "cluster.env").write_text("PASSWORD_sys=a\n"), "JETSTREAM_KEY"),
        (lambda folder: (folder / "ca.pem").unlink(), r"ca\.pem"),
    ],
)
def test_what_is_gone_and_cannot_be_made_again_is_told(
    folder: Path, lose: Callable[[Path], object], named: str
) -> None:
    """A new key beside encrypted streams would look like success, until somebody reads."""
    prepare_cluster(folder)
    (folder / "n2" / "data").mkdir()
    lose(folder)
    held = contents(folder)
    with pytest.raises(InvalidOptionsError, match=f"no longer holds .*{named}.*Put it back"):
        prepare_cluster(folder)
    assert contents(folder) == held


def test_workers_are_taken_in_with_passwords_of_their_own(folder: Path) -> None:
    """What was printed for a worker goes into one folder, whichever layout it is for."""
    first = prepare_cluster(folder)
    for worker in (
        WorkerPermissions(bucket="team", prefix="alice", isolated=True),
        WorkerPermissions(bucket="team", prefix="bob"),
        WorkerPermissions(bucket="team", prefix="carol-2", read_only=True),
    ):
        (folder / "conf" / "workers" / f"{worker.worker}.conf").write_text(worker.configuration())
    later = prepare_cluster(folder)
    new = {"PASSWORD_MEMORY_team_alice", "PASSWORD_alice", "PASSWORD_bob", "PASSWORD_carol_2d2_reader"}
    assert set(later.secrets) - set(first.secrets) == new
    assert first.secrets.items() <= later.secrets.items()
    assert set(later.notes) == {f"Made {name}." for name in new}
    assert prepare_cluster(folder).secrets == later.secrets
    done = accepted(later, "n1")
    assert done.returncode == 0, done.stderr
    users = (folder / "conf" / "users.conf").read_text()
    assert 'user: "bob"' in users
    assert 'user: "carol-2_reader"' in users
    assert "alice" not in users
    assert './workers/alice.conf"' in (folder / "conf" / "accounts.conf").read_text()


def test_a_worker_that_is_taken_away_is_gone(folder: Path) -> None:
    """To withdraw rights must be as easy as to give them."""
    prepare_cluster(folder)
    file = folder / "conf" / "workers" / "alice.conf"
    file.write_text(WorkerPermissions(bucket="team", prefix="alice", isolated=True).configuration())
    prepare_cluster(folder)
    file.unlink()
    prepared = prepare_cluster(folder)
    assert "alice" not in (folder / "conf" / "accounts.conf").read_text()
    assert accepted(prepared, "n1").returncode == 0


def test_the_operators_own_settings_are_kept_and_told(folder: Path) -> None:
    """More room on the disk is a line in memory.conf, and no release may take it back."""
    configuration = prepare_cluster(folder).configuration
    own = configuration.read_text().replace("20GB", "40GB")
    configuration.write_text(own)
    assert prepare_cluster(folder).notes == ("memory.conf is not as this release writes it, and was left as it is.",)
    assert configuration.read_text() == own


@pytest.mark.parametrize("host", ["https://memory.example.org", "memory.example.org:4222", "", "a b", "-x", "ü"])
def test_what_is_no_host_is_refused(folder: Path, host: str) -> None:
    """A certificate for it would be good for nobody."""
    with pytest.raises(InvalidOptionsError, match="hosts"):
        prepare_cluster(folder, hosts=[host])
    assert not folder.exists()


def test_a_folder_that_cannot_be_one_is_refused(tmp_path: Path) -> None:
    """A path that is a file, a file of secrets that is none."""
    (tmp_path / "file").touch()
    with pytest.raises(InvalidOptionsError, match="folder"):
        prepare_cluster(tmp_path / "file")
    prepare_cluster(tmp_path / "cluster")
    (tmp_path / "cluster" / "cluster.env").write_text("export A = b\n")
    with pytest.raises(InvalidOptionsError, match="no variable"):
        prepare_cluster(tmp_path / "cluster")


def test_of_many_that_prepare_at_once_all_get_the_same(folder: Path) -> None:
    """A deployment that runs twice must not leave an authority that has signed for nobody."""
    folder.mkdir(parents=True)
    many = multiprocessing.get_context("fork")
    begin = many.Barrier(4)

    def prepare() -> None:
        begin.wait()
        prepare_cluster(folder)

    for _ in range(6):
        shutil.rmtree(folder)
        folder.mkdir()
        others = [many.Process(target=prepare) for _ in range(3)]
        for each in others:
            each.start()
        begin.wait()
        prepared = prepare_cluster(folder)
        for each in others:
            each.join()
        assert [each.exitcode for each in others] == [0, 0, 0]
        held = contents(folder)
        again = prepare_cluster(folder, hosts=["later.example.org"])
        assert again.secrets == prepared.secrets
        assert again.authority.read_bytes() == held[prepared.authority]


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir])
def test_what_is_no_file_among_the_workers_is_named(folder: Path, make: Callable[[Path], None]) -> None:
    """A pipe would be waited for, and a command that hangs names nothing."""
    workers = prepare_cluster(folder).configuration.parent / "workers"
    make(workers / "alice.conf")
    with pytest.raises(InvalidOptionsError, match=r"alice\.conf, which is no file"):
        prepare_cluster(folder)


def test_a_link_to_nothing_and_a_name_that_ends_a_string_are_no_workers(folder: Path) -> None:
    """What was printed to a disk that is away, and what would make a server include another file."""
    workers = prepare_cluster(folder).configuration.parent / "workers"
    (workers / "alice.conf").symlink_to(folder / "away")
    with pytest.raises(InvalidOptionsError, match=r"alice\.conf that links to nothing"):
        prepare_cluster(folder)
    (workers / "alice.conf").rename(workers / 'a"b.conf')
    with pytest.raises(InvalidOptionsError, match="name that no server takes"):
        prepare_cluster(folder)


def test_what_is_kept_beside_is_for_its_owner_alone_and_goes_nowhere_else(folder: Path, tmp_path: Path) -> None:
    """Passwords end up neither in a file that all can read, nor behind a link."""
    prepared = prepare_cluster(folder)
    precious = tmp_path / "precious"
    precious.write_text("precious")
    (folder / "operator.env").symlink_to(precious)
    kept = prepared.keep("operator.env", "NATS_PASSWORD=x\n")
    assert precious.read_text() == "precious"
    kept.chmod(0o644)
    assert stat.S_IMODE(prepared.keep("operator.env", "NATS_PASSWORD=y\n").stat().st_mode) == 0o600
    (folder / "taken").mkdir()
    with pytest.raises(InvalidOptionsError, match="takes no file taken"):
        prepared.keep("taken", "")


def test_a_foreign_authority_is_no_pair(folder: Path, tmp_path: Path) -> None:
    """Certificates signed with a key that is not the authority's would be refused by every client."""
    prepare_cluster(folder)
    prepare_cluster(tmp_path / "other")
    shutil.copy(tmp_path / "other" / "ca.key", folder / "ca.key")
    with pytest.raises(InvalidOptionsError, match="no pair"):
        prepare_cluster(folder, hosts=["memory.example.org"])


def test_it_is_at_the_front_door() -> None:
    """Whoever deploys by a program of their own makes it as the command does."""
    assert jsmemory.prepare_cluster is prepare_cluster
