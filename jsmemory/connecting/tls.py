"""TLS as a source of settings asks for it."""

import ssl
import stat
from collections.abc import Mapping
from pathlib import Path

from jsmemory.connecting.credentials import read_location
from jsmemory.connecting.sources import Source
from jsmemory.errors import InvalidOptionsError


def tls_context(source: Source, environment: Mapping[str, str]) -> ssl.SSLContext:
    """
    A context that verifies the server, by `ca` where there is one, and shows `cert` and `key`.

    Raises:
        InvalidOptionsError: a file is missing or does not hold what it should.
    """
    context = ssl.create_default_context()
    if authority := source.get("ca"):
        option = source.option("ca")
        # An own authority counts instead of the public ones, not beside them.
        context = _trusting(read_location(authority, option, environment), option)
    cert, key = source.get("cert"), source.get("key")
    if key and not cert:
        raise InvalidOptionsError(source.option("key"), "is given without a certificate", "Give both, or neither.")
    if cert:
        option = source.option("cert")
        certificate = _regular_file(cert, option)
        secret = _regular_file(key, source.option("key")) if key else None
        try:
            # Without a password of ours OpenSSL would ask for one on the terminal, and wait.
            context.load_cert_chain(certificate, secret, password=lambda: b"")
        except (ssl.SSLError, OSError, ValueError):
            raise InvalidOptionsError(
                option, "and its key do not fit together", "Name PEM files of one pair, the key without a password."
            ) from None
    return context


def _trusting(data: bytes, option: str) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cadata=data.decode("ascii"))
    except (ssl.SSLError, ValueError):
        raise InvalidOptionsError(option, "holds no certificate", "Name a PEM file of certificates.") from None


def _regular_file(location: str, option: str) -> Path:
    # OpenSSL opens these by itself, and would wait at a pipe for ever.
    path = Path(location.removeprefix("file://"))
    try:
        path = path.expanduser()
        regular = stat.S_ISREG(path.stat().st_mode)
    except (OSError, ValueError, RuntimeError):
        raise InvalidOptionsError(option, "names a file that does not exist", "Name an existing one.") from None
    if not regular:
        raise InvalidOptionsError(option, "names something that is no regular file", "Name a regular file.")
    return path
