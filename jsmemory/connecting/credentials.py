"""
Keys and signed credentials: from where an operator keeps them to what a client can use.

Everything is read and checked before a client sees it. A credentials file without its
markers makes nats-py 2.16 read the end of the file for ever, inside the event loop.
"""

import base64
import binascii
import os
import re
from collections.abc import Mapping
from typing import Final

from jsmemory.connecting.files import read_small_file
from jsmemory.errors import InvalidOptionsError

_JWT: Final = re.compile(r"BEGIN NATS USER JWT-+\s+([\w=-]+\.[\w=-]+\.[\w=-]+)\s", re.ASCII)
_BARE_JWT: Final = re.compile(r"[\w=-]+\.[\w=-]+\.[\w=-]+", re.ASCII)
_SEED: Final = re.compile(r"^\s*(SU[A-Z2-7]{56})\s*$", re.MULTILINE)

_CREDS: Final = """\
-----BEGIN NATS USER JWT-----
{jwt}
------END NATS USER JWT------

-----BEGIN USER NKEY SEED-----
{seed}
------END USER NKEY SEED------
"""


def read_location(location: str, option: str, environment: Mapping[str, str]) -> bytes:
    """
    What the nats CLI would find at a location.

    Args:
        location: A path, ``file://`` and a path, ``env://`` and the name of a variable, or
            ``data:;base64,`` and the bytes, which is how the CLI embeds them in a context.
        option: What named it, for the refusal.
        environment: The variables.

    Raises:
        InvalidOptionsError: nothing can be read there.
    """
    scheme, found, rest = location.partition("://")
    if location.startswith("data:"):
        _, _, text = location.partition(",")
        try:
            return base64.b64decode(text, validate=True)
        except (binascii.Error, ValueError):
            raise InvalidOptionsError(option, "holds no base64", "Embed it again with: nats context add") from None
    if not found:
        return read_small_file(location, option)
    if scheme == "file":
        return read_small_file(rest, option)
    if scheme == "env":
        if value := environment.get(rest):
            return os.fsencode(value)
        raise InvalidOptionsError(option, "names a variable that is not set", "Set it, or name a file.")
    raise InvalidOptionsError(option, "names a place that is not supported", "Write it to a file and name that.")


def nkey_seed(data: bytes, option: str) -> str:
    """
    The seed of a user's key.

    Raises:
        InvalidOptionsError: `data` holds none, or one whose checksum is wrong.
    """
    match = _SEED.search(data.decode(errors="replace"))
    if match is None or not _is_sound(match[1]):
        raise InvalidOptionsError(option, "holds no user nkey seed", "Name the file with the seed that starts SU.")
    return match[1]


def user_credentials(data: bytes, option: str) -> str:
    """
    The text of a credentials file, with nothing in it but the JWT and the seed.

    Raises:
        InvalidOptionsError: `data` lacks one of them.
    """
    match = _JWT.search(data.decode(errors="replace"))
    if match is None:
        raise InvalidOptionsError(option, "holds no user JWT", "Name a .creds file, as nsc or nats auth make it.")
    return _CREDS.format(jwt=match[1], seed=nkey_seed(data, option))


def joined_credentials(jwt: bytes, jwt_option: str, seed: bytes, seed_option: str) -> str:
    """
    A JWT and a seed that are kept apart, as the text of one credentials file.

    Raises:
        InvalidOptionsError: one of them is not what it should be.
    """
    text = jwt.decode(errors="replace").strip()
    marked = _JWT.search(f"{text}\n")
    if marked is None and not _BARE_JWT.fullmatch(text):
        raise InvalidOptionsError(jwt_option, "holds no user JWT", "Name the file with the user's JWT.")
    return _CREDS.format(jwt=marked[1] if marked else text, seed=nkey_seed(seed, seed_option))


def _is_sound(seed: str) -> bool:
    # The last two bytes are a checksum, which the library that signs does not look at.
    raw = base64.b32decode(seed + "=" * (-len(seed) % 8))
    return binascii.crc_hqx(raw[:-2], 0) == int.from_bytes(raw[-2:], "little")
