"""Why there is no connection, in words of ours that an operator can act on."""

import socket
import ssl
from typing import Final

import nats.errors

from jsmemory.errors import AccessDeniedError, BackendUnavailableError, JsMemoryError

REFUSED: Final = "connect with these credentials"
"""What somebody lacks whom the servers do not let in, in the words of `AccessDeniedError`."""


def is_refusal(error: Exception | None) -> bool:
    """Whether a server said that it does not know these credentials, or knows them no longer."""
    text = str(error).lower()
    return "authorization violation" in text or "authentication expired" in text or "authentication revoked" in text


def reason_of(failure: Exception, last: Exception | None) -> JsMemoryError:
    """
    What to tell the caller.

    Args:
        failure: What ended the attempt to connect; often no more than that time is up.
        last: What nats-py met before.
    """
    if isinstance(failure, JsMemoryError):
        return failure
    for error in (failure, last):
        if is_refusal(error):
            return AccessDeniedError(REFUSED)
        if isinstance(error, ssl.SSLCertVerificationError):
            return BackendUnavailableError(
                "The certificate of the NATS server could not be verified.",
                "Name the authority that signed it as ca of the context, and the server as its certificate does.",
            )
        if isinstance(error, ssl.SSLError):
            return BackendUnavailableError(
                "The TLS handshake with the NATS server failed.",
                "Check ca, cert, key and tls_first of the context against the server's configuration.",
            )
        if isinstance(error, nats.errors.SecureConnWantedError):
            return BackendUnavailableError(
                "The NATS server does not ask for TLS, and the settings do.",
                "Turn TLS on in the server, or connect to nats:// without ca, cert, key and tls_first.",
            )
        if isinstance(error, socket.gaierror):
            return BackendUnavailableError(
                "The name of the NATS server is not known.", "Check url of the context, or NATS_URL."
            )
    return BackendUnavailableError(
        "No NATS server answered in time.",
        "Check that one runs where url of the context, or NATS_URL, says; then try again.",
    )
