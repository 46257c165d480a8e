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


def reason_of(failure: Exception, last: Exception | None, named_by: str) -> JsMemoryError:
    """
    What to tell the caller.

    Args:
        failure: What ended the attempt to connect; often no more than that time is up.
        last: What nats-py met before.
        named_by: The option that names the servers; ``""`` where none does.
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
                f"No host is known by the name of the NATS server that was named by {named_by}.",
                "Check how it is written there.",
            )
    if not named_by:
        return BackendUnavailableError(
            "No NATS server answered in time on port 4222 of this host, which is tried where no setting names one.",
            f"Name yours with servers=, NATS_URL or a context. {_TRY_OUT}",
        )
    return BackendUnavailableError(
        f"No NATS server answered in time at what was named by {named_by}.",
        f"Check that one runs there, then try again. {_TRY_OUT}",
    )


_TRY_OUT: Final = "For trying out, 'jsmemory server' starts one."
