"""Who connects: the one way to authenticate that a source of settings gives."""

from collections.abc import Mapping
from dataclasses import dataclass

from jsmemory.connecting.credentials import joined_credentials, nkey_seed, read_location, user_credentials
from jsmemory.connecting.sources import WAYS_TO_AUTHENTICATE, Source
from jsmemory.errors import InvalidOptionsError


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Authentication:
    """
    What a client shows a server: one of these, or nothing.

    Attributes:
        user: A name, with `password`.
        password: The password of `user`.
        token: A token.
        creds: The text of a credentials file: a user's JWT and the seed that signs for it.
        nkey_seed: The seed of a user's key.
    """

    user: str | None = None
    password: str | None = None
    token: str | None = None
    creds: str | None = None
    nkey_seed: str | None = None


def authentication_of(source: Source, environment: Mapping[str, str]) -> Authentication | None:
    """
    What one source says; None where it says nothing.

    Args:
        source: Where to look.
        environment: The variables, for values of the form ``env://NAME``.

    Raises:
        InvalidOptionsError: it gives two ways, half of one, or one that cannot be read.
    """
    used = [row for row in WAYS_TO_AUTHENTICATE if any(map(source.get, row))]
    if not used:
        return None
    if len(used) > 1:
        kept = " or ".join(source.option(row[0]) for row in used)
        raise InvalidOptionsError(source.option(used[1][0]), "is one way to authenticate too many", f"Keep {kept}.")
    match used[0][0]:
        case "user":
            return _user(source, environment)
        case "token":
            return Authentication(token=_text(source, "token", environment))
        case "creds":
            content = _content(source, "creds", environment)
            return Authentication(creds=user_credentials(content, source.option("creds")))
        case "nkey":
            content = _content(source, "nkey", environment)
            return Authentication(nkey_seed=nkey_seed(content, source.option("nkey")))
        case _:
            return _jwt(source, environment)


def _user(source: Source, environment: Mapping[str, str]) -> Authentication:
    if not source.get("user"):
        raise InvalidOptionsError(source.option("password"), "is given without a user", "Give both.")
    user = _text(source, "user", environment)
    if not source.get("password"):
        # As with the nats CLI, a user without a password is a token.
        return Authentication(token=user)
    return Authentication(user=user, password=_text(source, "password", environment))


def _jwt(source: Source, environment: Mapping[str, str]) -> Authentication:
    for name, other in (("user_jwt", "user_seed"), ("user_seed", "user_jwt")):
        if not source.get(name):
            raise InvalidOptionsError(source.option(name), f"is missing beside {source.option(other)}", "Give both.")
    return Authentication(
        creds=joined_credentials(
            _content(source, "user_jwt", environment),
            source.option("user_jwt"),
            _content(source, "user_seed", environment),
            source.option("user_seed"),
        )
    )


def _content(source: Source, name: str, environment: Mapping[str, str]) -> bytes:
    return read_location(source.get(name) or "", source.option(name), environment)


def _text(source: Source, name: str, environment: Mapping[str, str]) -> str:
    value = source.get(name) or ""
    if value.startswith("env://"):
        return read_location(value, source.option(name), environment).decode(errors="surrogateescape")
    return value
