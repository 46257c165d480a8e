"""Every way to say who connects, and TLS, as contexts and variables hold them, against real servers."""

import asyncio
import base64
import hashlib
import json
import os
import ssl
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nkeys
import pytest

from jsmemory.connecting import Connection, ConnectionEvent, connect
from jsmemory.errors import AccessDeniedError, BackendUnavailableError, InvalidOptionsError
from jsmemory.testing.servers import NatsServer, ServerSettings, embedded_server

TLS = Path(__file__).parents[1] / "data" / "tls"
"""An authority, what it signed for 127.0.0.1 and for a client, and an authority that signed nothing here."""

WriteContext = Callable[..., None]


# -- Keys and JWTs, as nsc makes them -------------------------------------------------------


@dataclass(frozen=True)
class Key:
    seed: bytes

    @classmethod
    def make(cls, kind: int) -> "Key":
        return cls(nkeys.encode_seed(os.urandom(32), kind))

    @property
    def public(self) -> str:
        return bytes(nkeys.from_seed(bytearray(self.seed)).public_key).decode()

    def sign(self, subject: "Key", name: str, nats: dict[str, Any], **claims: Any) -> str:
        """A JWT about `subject` by this key."""
        body = {
            "iss": self.public,
            "sub": subject.public,
            "name": name,
            "iat": int(time.time()),
            "nats": nats,
            **claims,
        }
        body["jti"] = hashlib.sha256(json.dumps(body).encode()).hexdigest()
        header = {"typ": "JWT", "alg": "ed25519-nkey"}
        text = ".".join(part(json.dumps(piece).encode()) for piece in (header, body))
        return f"{text}.{part(nkeys.from_seed(bytearray(self.seed)).sign(text.encode()))}"


def part(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def creds(jwt: str, key: Key) -> str:
    return (
        f"-----BEGIN NATS USER JWT-----\n{jwt}\n------END NATS USER JWT------\n\n"
        "************************* IMPORTANT *************************\n\n"
        f"-----BEGIN USER NKEY SEED-----\n{key.seed.decode()}\n------END USER NKEY SEED------\n"
    )


@dataclass(frozen=True)
class Operated:
    """A server that trusts an operator, and the account it knows."""

    server: NatsServer
    account: Key

    def user(self, key: Key, *, seconds: float | None = None) -> str:
        expiry = {} if seconds is None else {"exp": int(time.time() + seconds)}
        limits = {"subs": -1, "data": -1, "payload": -1}
        return self.account.sign(key, "worker", {"type": "user", "version": 2, **limits}, **expiry)


@pytest.fixture
async def operated() -> AsyncIterator[Operated]:
    operator, account, system = (
        Key.make(kind) for kind in (nkeys.PREFIX_BYTE_OPERATOR, nkeys.PREFIX_BYTE_ACCOUNT, nkeys.PREFIX_BYTE_ACCOUNT)
    )
    limits = {"subs": -1, "data": -1, "payload": -1, "imports": -1, "exports": -1, "conn": -1, "leaf": -1}
    storage = {"mem_storage": -1, "disk_storage": -1, "streams": -1, "consumer": -1}
    of_account = operator.sign(account, "team", {"type": "account", "version": 2, "limits": limits | storage})
    of_system = operator.sign(system, "system", {"type": "account", "version": 2, "limits": limits})
    of_operator = operator.sign(
        operator, "operator", {"type": "operator", "version": 2, "system_account": system.public}
    )
    extra = f"""
operator: {of_operator}
system_account: {system.public}
resolver: MEMORY
resolver_preload: {{ {account.public}: {of_account}, {system.public}: {of_system} }}
"""
    async with embedded_server(settings=ServerSettings(extra=extra)) as server:
        yield Operated(server, account)


# -- Fixtures -------------------------------------------------------------------------------


@pytest.fixture(autouse=True)
def write_context(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> WriteContext:
    """Write the context ``team``; the developer's own are out of sight."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("HOME", str(tmp_path))
    for variable in [name for name in os.environ if name.startswith("NATS_") and name != "NATS_SERVER_BIN"]:
        monkeypatch.delenv(variable)
    folder = tmp_path / "config" / "nats" / "context"
    folder.mkdir(parents=True)

    def write(**fields: object) -> None:
        (folder / "team.json").write_text(json.dumps({"description": "", "windows_ca_certs_match": None, **fields}))

    return write


@pytest.fixture
async def server_with_everybody(tmp_path: Path) -> AsyncIterator[NatsServer]:
    """It knows alice by a password and another user by an nkey, whose seed is in ``user.nk``."""
    key = Key.make(nkeys.PREFIX_BYTE_USER)
    (tmp_path / "user.nk").write_bytes(key.seed + b"\n")
    users = f"authorization {{ users: [ {{ user: alice, password: 'p@ss/w:rd' }}, {{ nkey: {key.public} }} ] }}"
    async with embedded_server(settings=ServerSettings(extra=users)) as server:
        yield server


async def works(connection: Connection) -> bool:
    reply = await connection.request("$JS.API.INFO", b"", timeout=60)
    return "type" in json.loads(reply.data)


# -- Ways to authenticate -------------------------------------------------------------------


async def test_a_context_with_user_and_password(server_with_everybody: NatsServer, write_context: WriteContext) -> None:
    """What works for the operator's nats CLI must work for the worker."""
    write_context(url=server_with_everybody.url, user="alice", password="p@ss/w:rd")
    async with connect("team") as connection:
        assert await works(connection)
    write_context(url=server_with_everybody.url, user="alice", password="another")
    with pytest.raises(AccessDeniedError):
        async with connect("team"):
            pytest.fail("the password is wrong")


async def test_a_password_inside_the_url_is_unquoted(
    server_with_everybody: NatsServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Generated passwords have characters that a URL must quote; nats-py sends the quotes."""
    monkeypatch.setenv("NATS_URL", f"nats://alice:p%40ss%2Fw%3Ard@127.0.0.1:{server_with_everybody.port}")
    async with connect() as connection:
        assert await works(connection)


@pytest.mark.parametrize("field", ["token", "user"])
async def test_a_context_with_a_token(write_context: WriteContext, field: str) -> None:
    """As with the nats CLI, a user without a password is a token."""
    async with embedded_server(settings=ServerSettings(extra='authorization { token: "s3cr3t" }')) as server:
        write_context(url=server.url, **{field: "s3cr3t"})
        async with connect("team") as connection:
            assert await works(connection)


@pytest.mark.parametrize("location", ["path", "home", "file", "embedded", "variable"])
async def test_a_context_with_an_nkey(
    server_with_everybody: NatsServer,
    write_context: WriteContext,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    location: str,
) -> None:
    """The nats CLI takes a seed from five kinds of places; a context may use any."""
    seed = tmp_path / "user.nk"
    monkeypatch.setenv("SEED", seed.read_text())
    places = {
        "path": str(seed),
        "home": "~/user.nk",
        "file": f"file://{seed}",
        "embedded": f"data:;base64,{base64.b64encode(seed.read_bytes()).decode()}",
        "variable": "env://SEED",
    }
    write_context(url=server_with_everybody.url, nkey=places[location])
    async with connect("team") as connection:
        assert await works(connection)


async def test_a_seed_that_the_server_does_not_know_is_refused(
    server_with_everybody: NatsServer, tmp_path: Path
) -> None:
    """Without this the tests above would pass on a server that lets everybody in."""
    stranger = tmp_path / "stranger.nk"
    stranger.write_bytes(Key.make(nkeys.PREFIX_BYTE_USER).seed)
    with pytest.raises(AccessDeniedError):
        async with connect(servers=server_with_everybody.url, nkey=stranger):
            pytest.fail("the server does not know this key")


async def test_a_context_with_a_credentials_file(
    operated: Operated, write_context: WriteContext, tmp_path: Path
) -> None:
    """Synadia Cloud and every cluster with accounts by JWT hand out these files."""
    key = Key.make(nkeys.PREFIX_BYTE_USER)
    (tmp_path / "worker.creds").write_text(creds(operated.user(key), key))
    write_context(url=operated.server.url, creds="~/worker.creds")
    async with connect("team") as connection:
        assert await works(connection)


async def test_a_context_with_a_jwt_and_a_seed_apart(
    operated: Operated, write_context: WriteContext, tmp_path: Path
) -> None:
    """Secret managers keep the two apart, as the fields user_jwt and user_seed do."""
    key = Key.make(nkeys.PREFIX_BYTE_USER)
    (tmp_path / "worker.jwt").write_text(operated.user(key) + "\n")
    (tmp_path / "worker.nk").write_bytes(key.seed)
    write_context(url=operated.server.url, user_jwt=str(tmp_path / "worker.jwt"), user_seed=str(tmp_path / "worker.nk"))
    async with connect("team") as connection:
        assert await works(connection)


async def test_credentials_in_variables(operated: Operated, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A container gets its credentials by variables and a mounted file, and has no context."""
    key = Key.make(nkeys.PREFIX_BYTE_USER)
    (tmp_path / "worker.creds").write_text(creds(operated.user(key), key))
    monkeypatch.setenv("NATS_URL", operated.server.url)
    monkeypatch.setenv("NATS_CREDS", str(tmp_path / "worker.creds"))
    async with connect() as connection:
        assert await works(connection)


async def test_credentials_that_expire_are_read_again(operated: Operated, tmp_path: Path) -> None:
    """Short-lived JWTs are renewed in their file; nats-py closes for good when one expires."""
    key = Key.make(nkeys.PREFIX_BYTE_USER)
    file = tmp_path / "worker.creds"
    file.write_text(creds(operated.user(key, seconds=3), key))
    events: list[ConnectionEvent] = []
    async with connect(servers=operated.server.url, credentials=file, on_event=events.append) as connection:
        assert await works(connection)
        file.write_text(creds(operated.user(key), key))
        async with asyncio.timeout(60):
            while not any(event.kind == "replaced" for event in events):
                await asyncio.sleep(0.02)
        assert await works(connection)


# -- TLS ------------------------------------------------------------------------------------


def tls_server(options: str = "") -> ServerSettings:
    files = f'cert_file: "{TLS / "server.pem"}", key_file: "{TLS / "server.key"}", ca_file: "{TLS / "ca.pem"}"'
    return ServerSettings(extra=f"tls {{ {files} {options} }}")


async def test_a_server_is_verified_by_the_authority_of_the_context(write_context: WriteContext) -> None:
    """Clusters inside companies have certificates that no public authority signed."""
    async with embedded_server(settings=tls_server()) as server:
        write_context(url=server.url, ca=str(TLS / "ca.pem"))
        async with connect("team") as connection:
            assert await works(connection)


@pytest.mark.parametrize("fields", [{}, {"ca": str(TLS / "stranger.pem")}])
async def test_a_server_whose_certificate_nobody_known_has_signed_is_refused_at_once(
    write_context: WriteContext, fields: dict[str, str]
) -> None:
    """Who connects anyway would tell its password to whoever answers there."""
    async with embedded_server(settings=tls_server()) as server:
        write_context(url=server.url, **fields)
        with pytest.raises(BackendUnavailableError, match="certificate of the NATS server could not be verified"):
            async with asyncio.timeout(15), connect("team", first_connect_timeout=60):
                pytest.fail("the certificate must not be trusted")


async def test_a_client_certificate_of_the_context_is_shown(write_context: WriteContext) -> None:
    """Servers that verify their clients let nobody in without one."""
    async with embedded_server(settings=tls_server(", verify: true")) as server:
        write_context(url=server.url, ca=str(TLS / "ca.pem"), cert=str(TLS / "client.pem"), key=str(TLS / "client.key"))
        async with connect("team") as connection:
            assert await works(connection)
        write_context(url=server.url, ca=str(TLS / "ca.pem"))
        with pytest.raises(BackendUnavailableError):
            async with connect("team", first_connect_timeout=2):
                pytest.fail("the server wants a certificate")


async def test_a_handshake_before_the_greeting(write_context: WriteContext) -> None:
    """A server that expects TLS first says nothing to a client that waits for its greeting."""
    async with embedded_server(settings=tls_server(", handshake_first: true")) as server:
        write_context(url=server.url, ca=str(TLS / "ca.pem"), tls_first=True)
        async with connect("team") as connection:
            assert await works(connection)


async def test_a_tls_context_of_the_code_is_used() -> None:
    """A host with its own trust store has it as an object, not as a file."""
    async with embedded_server(settings=tls_server()) as server:
        trust = ssl.create_default_context(cafile=str(TLS / "ca.pem"))
        async with connect(servers=server.url, tls=trust) as connection:
            assert await works(connection)


@pytest.mark.parametrize("asked_by", ["scheme", "authority"])
async def test_a_password_is_not_told_to_a_server_without_tls(write_context: WriteContext, asked_by: str) -> None:
    """Whoever stands between can take TLS out of the greeting, and nats-py goes on in the clear."""
    heard = bytearray()

    async def listen(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b'INFO {"server_id":"x","version":"2.12.0","max_payload":1048576,"auth_required":true}\r\n')
        heard.extend(await reader.read(10_000))
        writer.close()

    listener = await asyncio.start_server(listen, "127.0.0.1", 0)
    async with listener:
        place = f"127.0.0.1:{listener.sockets[0].getsockname()[1]}"
        if asked_by == "scheme":
            write_context(url=f"tls://{place}", user="alice", password="s3cr3t")
        else:
            write_context(url=f"nats://{place}", user="alice", password="s3cr3t", ca=str(TLS / "ca.pem"))
        with pytest.raises(BackendUnavailableError, match="does not ask for TLS"):
            async with connect("team"):
                pytest.fail("the server offers no TLS")
    assert bytes(heard) == b""


@pytest.mark.parametrize(
    ("option", "fields"),
    [
        ("context.ca", {"ca": str(TLS / "server.key")}),
        ("context.ca", {"ca": str(TLS / "nothing.pem")}),
        ("context.cert", {"cert": str(TLS / "client.pem"), "key": str(TLS / "server.key")}),
        ("context.cert", {"cert": str(TLS), "key": str(TLS / "client.key")}),
        ("context.key", {"cert": str(TLS / "client.pem"), "key": str(TLS / "nothing.key")}),
        ("context.key", {"key": str(TLS / "client.key")}),
    ],
)
async def test_tls_files_that_cannot_be_used_are_named(
    write_context: WriteContext, option: str, fields: dict[str, str]
) -> None:
    """OpenSSL's own words are a code in brackets, and name neither file nor field."""
    write_context(**fields)
    with pytest.raises(InvalidOptionsError) as refusal:
        async with connect("team"):
            pytest.fail("the files are of no use")
    assert refusal.value.option == option
    assert str(TLS) not in str(refusal.value)
