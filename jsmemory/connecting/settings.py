"""What a client is opened with: from every source, the strongest that has something to say."""

import re
import secrets
import ssl
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import unquote, urlsplit

from jsmemory.connecting.authentication import Authentication, authentication_of
from jsmemory.connecting.sources import Source
from jsmemory.connecting.tls import tls_context
from jsmemory.errors import InvalidOptionsError

DEFAULT_URL: Final = "nats://127.0.0.1:4222"
DEFAULT_PORT: Final = 4222
DEFAULT_API_PREFIX: Final = "$JS.API"
INBOX: Final = "_INBOX"

_SUBJECT: Final = re.compile(r"[^\s.*>\x00-\x1f]+(\.[^\s.*>\x00-\x1f]+)*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """
    Everything that is decided before a client is opened. `repr` shows no secret.

    Attributes:
        servers: URLs without user information.
        named_by: The option that names the servers; ``""`` where none does.
        authentication: Who connects.
        tls: How the server is verified; None for what Python does by itself.
        tls_required: A server that does not offer TLS is not told who connects.
        tls_first: The TLS handshake comes before the server's greeting.
        inbox_prefix: The first tokens of every subject that answers come back on.
        jetstream_api_prefix: The first tokens of the JetStream API, ``$JS.API`` or a domain's.
    """

    servers: tuple[str, ...]
    named_by: str
    authentication: Authentication = field(repr=False)
    tls: ssl.SSLContext | None
    tls_required: bool
    tls_first: bool
    inbox_prefix: str
    jetstream_api_prefix: str


def settle(sources: Sequence[Source], *, tls: ssl.SSLContext | None, environment: Mapping[str, str]) -> Settings:
    """
    Decide, from sources that are ordered by strength.

    What belongs together (a user and a password, a certificate and its key) comes from one
    source and is never mixed. Credentials inside the URLs win over others of their source.

    Args:
        sources: The strongest first.
        tls: A context that the code made; it replaces ca, cert and key.
        environment: The variables, for ``env://``.

    Raises:
        InvalidOptionsError: a setting cannot be used.
    """
    servers, in_urls, scheme_asks, named_by = _servers(sources)
    authentication = Authentication()
    for source in sources:
        if source is named_by and in_urls is not None:
            authentication = in_urls
            break
        if found := authentication_of(source, environment):
            authentication = found
            break
    secured_by = next((source for source in sources if any(map(source.get, ("ca", "cert", "key")))), None)
    if tls is None and secured_by is not None:
        tls = tls_context(secured_by, environment)
    tls_first = any(source.get("tls_first") for source in sources)
    return Settings(
        servers=servers,
        named_by="" if named_by is None else named_by.option("url"),
        authentication=authentication,
        tls=tls,
        tls_required=scheme_asks or tls is not None or tls_first,
        tls_first=tls_first,
        inbox_prefix=_inbox_prefix(sources),
        jetstream_api_prefix=_api_prefix(sources),
    )


def _servers(sources: Sequence[Source]) -> tuple[tuple[str, ...], Authentication | None, bool, Source | None]:
    source = next((source for source in sources if source.get("url")), None)
    if source is None:
        return (DEFAULT_URL,), None, False, None
    option = source.option("url")
    urls: list[str] = []
    users: list[Authentication] = []
    asks = False
    for text in filter(None, (part.strip() for part in (source.get("url") or "").split(","))):
        url, user, secure = _server(text, option)
        urls.append(url)
        users += [user] if user else []
        asks = asks or secure
    if not urls:
        raise InvalidOptionsError(option, "names no server", "Write nats://host:4222, several with commas between.")
    if any(user != users[0] for user in users):
        # A server that the cluster makes known has no URL of ours, and gets the one user there is.
        raise InvalidOptionsError(option, "names several users", "Use one user for all servers.")
    return tuple(urls), users[0] if users else None, asks, source


def _server(text: str, option: str) -> tuple[str, Authentication | None, bool]:
    try:
        parts = urlsplit(text if "://" in text else f"nats://{text}")
        host, port = parts.hostname, parts.port or DEFAULT_PORT
    except ValueError:
        host, port = None, 0
    if not host or parts.scheme not in ("nats", "tls"):
        raise InvalidOptionsError(option, "names a server in a form that is not understood", "Write nats://host:4222.")
    url = f"{parts.scheme}://{f'[{host}]' if ':' in host else host}:{port}"
    user = None
    if parts.username and parts.password is not None:
        user = Authentication(user=unquote(parts.username), password=unquote(parts.password))
    elif parts.username:
        user = Authentication(token=unquote(parts.username))
    return url, user, parts.scheme == "tls"


def _inbox_prefix(sources: Sequence[Source]) -> str:
    for source in sources:
        if prefix := source.get("inbox_prefix"):
            if not _SUBJECT.fullmatch(prefix):
                raise InvalidOptionsError(
                    source.option("inbox_prefix"), "is no subject", "Write tokens with dots between, as _INBOX_alice."
                )
            return prefix
    # Of its own, so that nobody can guess where answers come back, and yet under the one
    # subject that the permissions of most users let them listen to.
    return f"{INBOX}.{secrets.token_hex(11)}"


def _api_prefix(sources: Sequence[Source]) -> str:
    for source in sources:
        for name, pattern in (("jetstream_api_prefix", "{}"), ("jetstream_domain", "$JS.{}.API")):
            if value := source.get(name):
                if not _SUBJECT.fullmatch(value):
                    raise InvalidOptionsError(source.option(name), "is no subject", "Write tokens with dots between.")
                return pattern.format(value)
    return DEFAULT_API_PREFIX
