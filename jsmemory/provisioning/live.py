"""A live stream: what it is, and making it where there is none."""

from typing import Any, Final

import msgspec

from jsmemory.backends.jetstream import translate
from jsmemory.backends.jetstream.asking import ask
from jsmemory.backends.jetstream.deadline import Deadline
from jsmemory.backends.jetstream.options import ELECTION_TIMEOUT
from jsmemory.backends.jetstream.recipe import BucketRecipe
from jsmemory.backends.jetstream.wire import Connection, Denied, Wire
from jsmemory.errors import (
    AccessDeniedError,
    BackendUnavailableError,
    BucketNotFoundError,
    InvalidOptionsError,
    JsMemoryError,
    StreamNotFoundError,
)
from jsmemory.journal.jetstream.asking import Asking
from jsmemory.provisioning.command_line import make_line
from jsmemory.provisioning.comparing import Comparison, compare
from jsmemory.provisioning.configuration import Recipe, configuration_of

_MAKING: Final = 30.0
# Seconds. A replicated stream is answered for when its leader is elected: 4 to 9 s after the
# first election that fails.

_NAME_IN_USE: Final = 10058
_REPLICAS_REFUSED: Final = frozenset({10005, 10074})
# No servers for so many replicas; and no cluster at all.

_LIMITED: Final = frozenset({10002, 10023, 10026, 10027, 10028, 10047, 10139})
# The account or the server has no room for it.


class _Live(msgspec.Struct, frozen=True):
    config: dict[str, Any]


async def compare_recipe(nc: Connection, recipe: Recipe, *, api_prefix: str | None = None) -> Comparison:
    """
    Hold what is there against a recipe; changes nothing.

    Args:
        nc: A connection of the host's; never closed here.
        recipe: What was asked for.
        api_prefix: The subject of the JetStream API; left out, the connection's own or ``$JS.API``.

    Returns:
        The deviations, each with the command that mends it; none where it is as asked.

    Raises:
        BucketNotFoundError: there is no such bucket; with the command that makes it.
        StreamNotFoundError: there is no such stream; likewise.
        AccessDeniedError: the credentials may not ask for the stream's configuration.
        BackendUnavailableError: no answer in 20 seconds, in which a leader is elected.
    """
    found = await _find(_wire(nc, api_prefix), recipe)
    if found is None:
        raise _missing(recipe)
    return compare(recipe, found)


async def apply_recipe(nc: Connection, recipe: Recipe, *, api_prefix: str | None = None) -> Comparison:
    """
    Make what a recipe describes, where there is none. Twice is the same as once.

    What is there already is left as it is, however it differs.

    Args:
        nc: A connection of the host's; never closed here.
        recipe: What is to be made.
        api_prefix: The subject of the JetStream API; left out, the connection's own or ``$JS.API``.

    Returns:
        Whether it was made now, and how what was there before differs.

    Raises:
        InvalidOptionsError: these servers cannot hold so many replicas, or refuse a setting.
        AccessDeniedError: the credentials may not make streams.
        BackendUnavailableError: no answer in 30 seconds, or no room; whether it was made, asking again tells.
    """
    wire = _wire(nc, api_prefix)
    found = await _find(wire, recipe)
    if found is not None:
        return compare(recipe, found)
    error = translate.decode(await _make(wire, recipe, Deadline(_MAKING))).error
    if error is None:
        return Comparison(is_made=True)
    if error.err_code == _NAME_IN_USE and (found := await _find(wire, recipe)) is not None:
        # Somebody else was faster.
        return compare(recipe, found)
    raise _refusal(error, recipe)


def _wire(nc: Connection, api_prefix: str | None) -> Wire:
    return Wire(nc, api_prefix or getattr(nc, "jetstream_api_prefix", None) or "$JS.API")


async def _make(wire: Wire, recipe: Recipe, deadline: Deadline) -> bytes:
    """The server's answer. It takes a second request for the same stream as a question about it."""
    subject = wire.api_subject(f"STREAM.CREATE.{recipe.stream}")
    try:
        return await ask(wire, subject, msgspec.json.encode(configuration_of(recipe)), deadline)
    except Denied:
        raise AccessDeniedError(f"publish to {subject}") from None
    except BackendUnavailableError:
        if not deadline.has_passed:
            raise
        raise BackendUnavailableError(
            "JetStream did not say whether it made the stream.", "Run it again: it makes nothing twice."
        ) from None


async def _find(wire: Wire, recipe: Recipe) -> dict[str, Any] | None:
    raw = await Asking(wire, recipe.stream).describe(Deadline(ELECTION_TIMEOUT))
    try:
        return msgspec.json.decode(raw, type=_Live).config
    except msgspec.DecodeError:
        error = translate.decode(raw).error
        if error is not None and error.err_code == translate.STREAM_NOT_FOUND:
            return None
        raise BackendUnavailableError("The server could not describe the stream.") from None


def _missing(recipe: Recipe) -> JsMemoryError:
    if isinstance(recipe, BucketRecipe):
        return BucketNotFoundError(recipe.bucket, make_line(recipe))
    return StreamNotFoundError(recipe.stream, make_line(recipe))


def _refusal(error: translate.ApiError, recipe: Recipe) -> JsMemoryError:
    if error.err_code in _REPLICAS_REFUSED:
        return InvalidOptionsError(
            "replicas",
            f"is {recipe.replicas}, and there are not so many servers for it",
            "Use --replicas 1 on a single server, or start the others.",
        )
    if error.err_code in _LIMITED:
        return BackendUnavailableError(
            "The account or its servers have no room for it.",
            "Raise their limits, ask for fewer replicas, or limit the size of the bucket.",
        )
    return InvalidOptionsError(
        "stream",
        f"was refused by the server with code {error.err_code or error.code}",
        "Compare what was asked for with what the server and the account allow.",
    )
