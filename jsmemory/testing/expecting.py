"""
How a case says what it expects. No bare assert: the kit also runs without pytest, which
explains them, and under ``python -O``, which leaves them out.
"""

import pickle
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Generic, TypeVar

from jsmemory.errors import EntryNotFoundError, JsMemoryError
from jsmemory.store import Store

E = TypeVar("E", bound=JsMemoryError)


class PromiseBroken(AssertionError):
    """The store did not do what the contract says."""


def expect(fact: bool, promise: str) -> None:
    """
    Go on only if `fact` is true.

    Raises:
        PromiseBroken: it is not.
    """
    if not fact:
        raise PromiseBroken(promise)


def expect_equal(got: object, wanted: object, what: str) -> None:
    """
    Go on only if both are equal.

    Raises:
        PromiseBroken: they are not; long values are shortened.
    """
    if got != wanted:
        raise PromiseBroken(f"{what}: wanted {_short(wanted)}, got {_short(got)}")


class Caught(Generic[E]):
    """What `refused` caught, once its block has ended."""

    error: E


@contextmanager
def refused(kind: type[E], what: str) -> Iterator[Caught[E]]:
    """
    A block that must be refused in the contract's words, fit to be shown and to be sent on.

    Args:
        kind: The error that must come out.
        what: The call, for the message.

    Raises:
        PromiseBroken: nothing was raised, or something else.
    """
    caught: Caught[E] = Caught()
    try:
        yield caught
    except JsMemoryError as error:
        if not isinstance(error, kind):
            raise PromiseBroken(f"{what}: wanted {kind.__name__}, got {type(error).__name__}") from error
        expect_fit_to_show(error)
        caught.error = error
        return
    except PromiseBroken:
        raise
    except Exception as error:
        raise PromiseBroken(f"{what}: wanted {kind.__name__}, got a foreign {type(error).__name__}") from error
    raise PromiseBroken(f"{what}: wanted {kind.__name__}, and nothing was raised")


def expect_fit_to_show(error: JsMemoryError) -> None:
    """A message is a sentence, and the error is the same one after a way through pickle."""
    message = str(error)
    expect(message.strip().endswith((".", "!", "?")), f"the message of {type(error).__name__} is no sentence")
    copy = pickle.loads(pickle.dumps(error))  # noqa: S301 - our own bytes
    expect(type(copy) is type(error) and str(copy) == message, f"{type(error).__name__} does not survive pickling")


async def expect_value(store: Store, key: str, description: str, content: str, what: str) -> None:
    """A read, which leaves no trace in any scope, must show this description and this content."""
    try:
        got: object = tuple(await store.read(key, scope=None))
    except EntryNotFoundError:
        got = None
    expect_equal(got, (description, content), what)


async def expect_nothing(store: Store, key: str, what: str) -> None:
    """Nothing must be stored under the key, neither for a read nor for a listing."""
    with refused(EntryNotFoundError, what):
        await store.read(key, scope=None)
    expect(key not in await keys_of(store), f"{what}: it is listed")


async def keys_of(store: Store) -> tuple[str, ...]:
    """The keys that a listing shows, as they stand there."""
    return tuple(item.key for item in await store.list())


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 300 else f"{text[:200]}... ({len(text)} characters)"
