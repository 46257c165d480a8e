"""A case of the kit: one promise, and the check that it is kept. Cases are data; nobody overrides one."""

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import Generic, TypeVar

H = TypeVar("H")


@dataclass(frozen=True, slots=True)
class Case(Generic[H]):
    """
    One promise.

    Attributes:
        name: Its theme and the promise in short, e.g. ``guard/a_listing_grants_no_authority``.
        promise: The promise, and who would suffer if it were broken.
        needs: The hands that the harness must have, by the names of its methods.
        check: Raises where the promise is broken; gets a harness of its own.
    """

    name: str
    promise: str
    needs: frozenset[str]
    check: Callable[[H], Awaitable[None]]

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Gap:
    """
    A case that a store is known to fail. It is run all the same, and must fail.

    Attributes:
        case: The name of the case.
        reason: Why, for those who rely on the store.
    """

    case: str
    reason: str


class Theme(Generic[H]):
    """
    The cases of one module, in the order in which they stand there.

    Args:
        name: The first half of their names.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self.cases: tuple[Case[H], ...] = ()

    def case(self, *needs: str) -> Callable[[Callable[[H], Awaitable[None]]], Callable[[H], Awaitable[None]]]:
        """Make a function a case: its name is the promise in short, its docstring the promise."""

        def enter(check: Callable[[H], Awaitable[None]]) -> Callable[[H], Awaitable[None]]:
            promise = " ".join((check.__doc__ or "").split())
            name = f"{self._name}/{getattr(check, '__name__', '')}"
            self.cases = (*self.cases, Case(name, promise, frozenset(needs), check))
            return check

        return enter


def named(cases: Iterable[Case[H]], name: str) -> Case[H]:
    """
    The case of a name.

    Raises:
        LookupError: there is none.
    """
    for case in cases:
        if case.name == name:
            return case
    raise LookupError(f"There is no case {name!r}.")
