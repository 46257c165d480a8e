"""
What servers tell on their monitoring pages, and tell no client: above all, when they sync.

Each server has pages of its own, so an operator names one of each. Nothing of a page's
address is ever shown.
"""

import asyncio
import ssl
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import Final
from urllib.parse import urlsplit

import msgspec

from jsmemory.errors import InvalidOptionsError
from jsmemory.examining.clock import clock
from jsmemory.examining.headroom import NEARLY
from jsmemory.examining.report import Check, Verdict, found, ok, unknown

_PAGE: Final = "/varz"
_HTTP: Final = 80
_HTTPS: Final = 443
_PATIENCE: Final = 3.0
# Seconds for a whole page.
_AT_MOST: Final = 1024 * 1024
# Bytes of a page; it has some kilobytes.
_PIECE: Final = 64 * 1024
_SECOND: Final = 1_000_000_000
_MIB: Final = 1024 * 1024

ENDS_SOON: Final = timedelta(days=30)
"""Enough for somebody who looks once a month."""


class _JetStreamConfig(msgspec.Struct, frozen=True):
    max_storage: int = 0
    sync_interval: int = 0
    sync_always: bool = False


class _JetStreamStats(msgspec.Struct, frozen=True):
    storage: int = 0
    reserved_storage: int = 0


class _JetStream(msgspec.Struct, frozen=True):
    config: _JetStreamConfig | None = None
    stats: _JetStreamStats = _JetStreamStats()


class _Cluster(msgspec.Struct, frozen=True):
    tls_cert_not_after: str = ""


class _Page(msgspec.Struct, frozen=True):
    server_name: str = ""
    version: str = ""
    now: str = ""
    jetstream: _JetStream = _JetStream()
    tls_cert_not_after: str = ""
    cluster: _Cluster = _Cluster()


def check_address(address: str) -> tuple[str, str, str]:
    """
    Split what an operator wrote into scheme, host with port, and path.

    Raises:
        InvalidOptionsError: it is no address of a monitoring page.
    """
    try:
        parts = urlsplit(address)
        port = parts.port
    except ValueError:
        parts, port = urlsplit(""), None
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.username is not None:
        raise InvalidOptionsError(
            "monitor", "is no address of a monitoring page", "Give one like http://localhost:8222, without credentials."
        )
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    return parts.scheme, host if port is None else f"{host}:{port}", parts.path.rstrip("/")


async def monitored(addresses: Sequence[str], replicas: int) -> list[Check]:
    """
    Read the page of each server.

    Args:
        addresses: Such as ``http://localhost:8222``, one of each server.
        replicas: How many servers hold the bucket.

    Raises:
        InvalidOptionsError: one is no address.
    """
    places = [check_address(address) for address in addresses]
    if not places:
        return [unknown("sync_interval", "no client can see it; give the monitoring page of each server: --monitor")]
    pages = await asyncio.gather(*(_read(place) for place in places))
    checks = [check for number, page in enumerate(pages, 1) for check in _checks(number, page)]
    if len(set(places)) < replicas:
        missing = f"{len(set(places))} of {replicas} servers were looked at; give --monitor once for each"
        checks.append(unknown("monitors", missing))
    return checks


async def _read(place: tuple[str, str, str]) -> tuple[_Page, datetime, datetime] | None:
    sent = datetime.now().astimezone()
    try:
        async with asyncio.timeout(_PATIENCE):
            raw = await _fetch(*place)
        return msgspec.json.decode(raw, type=_Page), sent, datetime.now().astimezone()
    except (OSError, ValueError):
        # Nobody is there, or does not end, or says something else; a DecodeError is a ValueError.
        return None


async def _fetch(scheme: str, host: str, path: str) -> bytes:
    # HTTP/1.0 has one form of answer, which ends with the connection. Not in a thread: nobody could
    # end that one before the server does.
    place = urlsplit(f"//{host}")
    is_secured = scheme == "https"
    port = place.port or (_HTTPS if is_secured else _HTTP)
    reader, writer = await asyncio.open_connection(
        place.hostname, port, ssl=ssl.create_default_context() if is_secured else None
    )
    try:
        writer.write(f"GET {path}{_PAGE} HTTP/1.0\r\nHost: {host}\r\n\r\n".encode("ascii"))
        raw = b""
        while len(raw) < _AT_MOST and (piece := await reader.read(_PIECE)):
            raw += piece
    finally:
        writer.transport.abort()
    return raw.partition(b"\r\n\r\n")[2]


def _checks(number: int, read: tuple[_Page, datetime, datetime] | None) -> list[Check]:
    if read is None:
        return [
            found(
                "monitor",
                Verdict.WARNING,
                "monitor_silent",
                f"The monitoring page number {number} does not answer as one does.",
                'put "http: 8222" into that server\'s configuration, and give its address',
            )
        ]
    page, sent, received = read
    name = page.server_name or f"server {number}"
    if page.jetstream.config is None:
        return [
            found(
                "sync_interval",
                Verdict.WARNING,
                "server_without_jetstream",
                f"{name} runs without JetStream, so that it holds nothing.",
                'put "jetstream { store_dir: ... }" into its configuration, or look at another one',
            )
        ]
    time = clock(page.now, sent, received)
    return [
        _sync(name, page.jetstream.config),
        _disk(name, page.jetstream.config, page.jetstream.stats),
        *_certificates(name, page, received),
        *([] if time.verdict is Verdict.OK else [time]),
    ]


def _sync(name: str, config: _JetStreamConfig) -> Check:
    if config.sync_always:
        return ok("sync_interval", f"{name}: always")
    interval = f"{config.sync_interval / _SECOND:g} s"
    return found(
        "sync_interval",
        Verdict.WARNING,
        "sync_interval",
        f"{name} syncs every {interval}, and acknowledges before: a power cut can lose what was reported saved.",
        'put "sync_interval: always" into the jetstream block of every server, and restart them one after the other',
        said=f"{name}: {interval}",
    )


def _disk(name: str, config: _JetStreamConfig, stats: _JetStreamStats) -> Check:
    used, limit = max(stats.storage, stats.reserved_storage), config.max_storage
    said = f"{name}: {used / _MIB:,.0f} of {limit / _MIB:,.0f} MiB"
    if 0 < limit <= used or used >= NEARLY * limit > 0:
        full = used >= limit
        return found(
            "server_bytes",
            Verdict.FAULT if full else Verdict.WARNING,
            "server_full" if full else "server_nearly_full",
            f"The storage that JetStream may use is {'' if full else 'nearly '}taken, {said}.",
            "raise max_file_store in the server's configuration, or move streams to other servers",
        )
    return ok("server_bytes", said)


def _certificates(name: str, page: _Page, now: datetime) -> Iterator[Check]:
    """Those that a server shows to clients and to other servers; one without TLS has none."""
    for whom, end in (("clients", page.tls_cert_not_after), ("servers", page.cluster.tls_cert_not_after)):
        try:
            left = datetime.fromisoformat(end) - now
        except (ValueError, TypeError):
            continue
        said = f"{name}: for {whom}, {left.days} days"
        if left > ENDS_SOON:
            yield ok("certificate", said)
            continue
        has_ended = left <= timedelta(0)
        yield found(
            "certificate",
            Verdict.FAULT if has_ended else Verdict.WARNING,
            "certificate_ended" if has_ended else "certificate_ends",
            f"The certificate that {name} shows to {whom} {'has ended' if has_ended else f'ends in {left.days} days'}.",
            "make it anew, as with: jsmemory server --cluster --prepare; then reload the server: "
            "nats-server --signal reload",
            said=said,
        )
