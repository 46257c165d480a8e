"""The folder of a cluster: made once, completed as often as one likes, and nothing in it ever lost."""

import contextlib
import fcntl
import os
import re
import stat
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Final

from jsmemory.errors import InvalidOptionsError
from jsmemory.provisioning.cluster import environment, workers

NODES: Final = ("n1", "n2", "n3")
ENVIRONMENT: Final = "cluster.env"
CONFIGURATION: Final = "memory.conf"
CONFIGURATIONS: Final = "conf"
WORKERS: Final = "workers"
DATA: Final = "data"
AUTHORITY: Final = "ca.pem"
AUTHORITY_KEY: Final = "ca.key"

_HERE: Final = ("localhost", "127.0.0.1", "::1")
_HOST: Final = re.compile(r"[A-Za-z0-9*]([A-Za-z0-9.-]{0,251}[A-Za-z0-9])?|[0-9A-Fa-f:.]{2,45}")
_UNNAMEABLE: Final = re.compile(r'["\\\x00-\x1f]')
_LOCK: Final = ".preparing"
_PRIVATE: Final = 0o600
_PUBLIC: Final = 0o644


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedCluster:
    """
    Everything that the nodes of a cluster are started with. `repr` shows no secret.

    Attributes:
        folder: Where it is, absolute. Each node has a folder in it, called like the node.
        nodes: Their names.
        secrets: The passwords and the key, as variables.
        notes: What was made just now, and what is not as expected; a sentence each.
    """

    folder: Path
    nodes: tuple[str, ...] = NODES
    secrets: Mapping[str, str] = field(repr=False)
    notes: tuple[str, ...] = ()

    @property
    def authority(self) -> Path:
        """The certificate by which clients know the nodes."""
        return self.folder / AUTHORITY

    @property
    def configuration(self) -> Path:
        """What each node is started with, in its own folder."""
        return self.folder / CONFIGURATIONS / CONFIGURATION

    def password(self, user: str = environment.OPERATOR) -> str:
        """The password of a user whose name needs no escaping: ``operator``, or ``sys``."""
        return self.secrets[f"{environment.PASSWORD}{user}"]

    def keep(self, name: str, text: str) -> Path:
        """
        Put a file into the folder, whole, and for its owner's eyes only.

        Args:
            name: What it is called.
            text: What is in it.

        Raises:
            InvalidOptionsError: it cannot be written there.
        """
        path = self.folder / name
        try:
            _write(path, text.encode(), _PRIVATE)
        except OSError:
            raise InvalidOptionsError(
                "folder", f"takes no file {name}", "Make room, or remove what is in its place."
            ) from None
        return path

    def variables(self, node: str, *, listen: str, monitor: str, routes: Sequence[str]) -> dict[str, str]:
        """
        The environment that a node is started in, beside the process's own.

        Args:
            node: Its name.
            listen: Where clients connect, an address with a port.
            monitor: Where the monitoring pages are, likewise.
            routes: Where the nodes reach each other, likewise, in the order of `nodes`.
        """
        own = routes[self.nodes.index(node)]
        others = {f"ROUTE_{number}": f"nats://{route}" for number, route in enumerate(routes, 1)}
        place = {"NODE": node, "LISTEN": listen, "MONITOR": monitor, "ROUTE_LISTEN": own, "ROUTE_ADVERTISE": own}
        return {**self.secrets, **place, **others}


def prepare_cluster(folder: str | os.PathLike[str], *, hosts: Sequence[str] = ()) -> PreparedCluster:
    """
    Make what an encrypted cluster of three nodes is started with, and keep what is there already.

    Twice is the same as once, save that certificates with fewer than 30 days left are made
    anew, and that workers' files which came into ``conf/workers`` are taken in, each password
    that they ask for made. Nothing is started, and a running node notices nothing.

    Args:
        folder: Where; made if it is missing, for its owner's eyes only.
        hosts: Further names and addresses that clients reach the nodes by, beside ``localhost``
            and their own names, and those that their certificates are good for already. To drop
            one, remove the certificates (``n1/tls/node.pem`` and so on) first.

    Returns:
        What there is now, with what was made just now.

    Raises:
        InvalidOptionsError: the folder cannot be used; a secret is gone without which what it
            holds is lost; a host is none; or the package that makes certificates is not installed.
    """
    for host in hosts:
        if not _HOST.fullmatch(host):
            raise InvalidOptionsError("hosts", "holds what is no name and no address", "Leave out scheme and port.")
    place = Path(folder).absolute()
    try:
        return _prepare(place, hosts)
    except OSError:
        raise InvalidOptionsError("folder", "can be neither made nor used", "Name another.") from None
    except UnicodeDecodeError:
        raise InvalidOptionsError("folder", "holds a file that is no text", "Remove it, or write it anew.") from None


def _prepare(place: Path, hosts: Sequence[str]) -> PreparedCluster:
    place.mkdir(mode=0o700, parents=True, exist_ok=True)
    with _alone_in(place):
        return _complete(place, hosts)


@contextlib.contextmanager
def _alone_in(place: Path) -> Iterator[None]:
    # Of two that prepare at once, each would make an authority, and the last would sign for neither.
    lock = os.open(place / _LOCK, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, _PRIVATE)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)


def _complete(place: Path, hosts: Sequence[str]) -> PreparedCluster:
    for part in (f"{CONFIGURATIONS}/{WORKERS}", *(f"{node}/tls" for node in NODES)):
        (place / part).mkdir(mode=0o700, parents=True, exist_ok=True)
    if not (place / ".gitignore").exists():
        _write(place / ".gitignore", b"# It is full of secrets.\n*\n", _PUBLIC)
    files = {path.name: _printed(path) for path in sorted((place / CONFIGURATIONS / WORKERS).glob("*.conf"))}
    workers.refuse_shared_accounts(files, (_read(place / CONFIGURATIONS / CONFIGURATION) or _ours()).decode())
    secrets, made = _secrets(place, files)
    notes = [*made, *_certificates(place, hosts), *_configurations(place / CONFIGURATIONS, files)]
    return PreparedCluster(folder=place, secrets=secrets, notes=tuple(notes))


def _secrets(place: Path, files: Mapping[str, str]) -> tuple[dict[str, str], list[str]]:
    path = place / ENVIRONMENT
    if not path.exists():
        if any((place / node / DATA).exists() for node in NODES):
            raise _gone(ENVIRONMENT, "The streams are encrypted with the key in it. Put it back.")
        _write(path, _worded(environment.HEAD, environment.missing({}, ())), _PRIVATE)
    text = _read(path).decode()
    try:
        held = environment.read(text)
    except environment.Unreadable:
        raise InvalidOptionsError(
            "folder", f"holds a {ENVIRONMENT} with a line that is no variable", "Write NAME=value, without spaces."
        ) from None
    if not held.get(environment.KEY) and any((place / node / DATA).exists() for node in NODES):
        raise _gone(f"{environment.KEY} in {ENVIRONMENT}", "The streams are encrypted with it. Put it back.")
    made = environment.missing(held, workers.passwords_in(files))
    if made:
        _write(path, _worded(text if text.endswith("\n") else f"{text}\n", made), _PRIVATE)
    new = [f"Made {name}." for name in made if name.startswith(environment.PASSWORD)]
    return held | made, new


def _certificates(place: Path, hosts: Sequence[str]) -> list[str]:
    try:
        from jsmemory.provisioning.cluster import certificates
    except ModuleNotFoundError:
        raise InvalidOptionsError(
            "folder", "needs certificates, and nothing that makes them is installed", "pip install 'jsmemory[server]'"
        ) from None
    public, private = place / AUTHORITY, place / AUTHORITY_KEY
    if not public.exists() and not private.exists():
        authority = certificates.Authority.new()
        _write(private, authority.key, _PRIVATE)
        _write(public, authority.certificate, _PUBLIC)
    if not public.exists():
        raise _gone(AUTHORITY, f"Put it back; or remove {AUTHORITY_KEY}, and clients need the new one.")
    notes = []
    known = {node: certificates.hosts_of(_read(place / node / "tls" / "node.pem")) for node in NODES}
    # A certificate that is gone, as with its disk, was good for what those of the others are.
    shared = [host for names in known.values() for host in names if host not in NODES]
    for node in NODES:
        tls = place / node / "tls"
        names = tuple(dict.fromkeys((node, *_HERE, *hosts, *(known[node] or shared))))
        certificate, key = _read(tls / "node.pem"), _read(tls / "node.key")
        if not certificates.will_do(certificate, key, _read(public), names):
            if not private.exists():
                raise _gone(AUTHORITY_KEY, f"It signs the certificate that {node} needs. Put it back for as long.")
            try:
                signed, key = certificates.Authority(_read(public), _read(private)).issue(node, names)
            except certificates.Unreadable:
                raise InvalidOptionsError(
                    "folder", f"holds a {AUTHORITY} and a {AUTHORITY_KEY} that are no pair", "Put the right ones back."
                ) from None
            _write(tls / "node.key", key, _PRIVATE)
            _write(tls / "node.pem", signed, _PUBLIC)
            notes.append(f"Made the certificate of {node} {'anew' if certificate else ''}".rstrip() + ".")
        if _read(tls / AUTHORITY) != _read(public):
            _write(tls / AUTHORITY, _read(public), _PUBLIC)
    return notes


def _configurations(place: Path, files: Mapping[str, str]) -> list[str]:
    notes = []
    path = place / CONFIGURATION
    if not path.exists():
        _write(path, _ours(), _PUBLIC)
    elif _read(path) != _ours():
        # Its operator has settings of his own; or it is that of another release.
        notes.append(f"{CONFIGURATION} is not as this release writes it, and was left as it is.")
    # They hold no passwords, but a worker's file may.
    for name, text in (("users.conf", workers.users(files)), ("accounts.conf", workers.accounts(files, WORKERS))):
        if _read(place / name) != text.encode():
            _write(place / name, text.encode(), _PRIVATE)
    return notes


def _ours() -> bytes:
    return resources.files("jsmemory.provisioning.cluster").joinpath(CONFIGURATION).read_bytes()


def _worded(head: str, variables: Mapping[str, str]) -> bytes:
    return (head + "".join(f"{name}={value}\n" for name, value in variables.items())).encode()


def _gone(what: str, remedy: str) -> InvalidOptionsError:
    return InvalidOptionsError("folder", f"no longer holds {what}", remedy)


def _printed(path: Path) -> str:
    """What was printed for a worker, in a file that a server's configuration can name."""
    if _UNNAMEABLE.search(path.name):
        raise InvalidOptionsError("folder", "has a worker's file with a name that no server takes", "Rename it.")
    if path.is_symlink() and not path.exists():
        raise InvalidOptionsError("folder", f"has a worker's file {path.name} that links to nothing", "Print it anew.")
    return _read(path).decode()


def _read(path: Path) -> bytes:
    """What is in a file, or would be; a pipe, say, is not waited for."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return b""
    try:
        if not stat.S_ISREG(os.fstat(file).st_mode):
            raise InvalidOptionsError("folder", f"holds {path.name}, which is no file", "Remove it.")
        with os.fdopen(file, "rb", closefd=False) as opened:
            return opened.read()
    finally:
        os.close(file)


def _write(path: Path, data: bytes, mode: int) -> None:
    # Whole or not at all, and never readable by others in between.
    handle, beside = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            os.fchmod(file.fileno(), mode)
            file.flush()
            os.fsync(file.fileno())
        Path(beside).replace(path)
    finally:
        Path(beside).unlink(missing_ok=True)
