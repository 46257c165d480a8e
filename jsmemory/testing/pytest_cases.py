"""
The kit under pytest: one test a case.

    from jsmemory.testing import Harness
    from jsmemory.testing.pytest_cases import store_cases

    class MyHarness(Harness):
        async def open(self, *, require_read_before_update=True):
            return MyStore(guarded=require_read_before_update)

    test_mine = store_cases(MyHarness)

A harness gets fixtures as a test does: by the names of its constructor's parameters, those
without a default. Every case runs in an event loop of its own, so a fixture must not be
bound to another one; `Harness.__aenter__` and `open` are the places for what awaits.

What the harness lists in `gaps` and `lacks` runs as well, and must fail: it is an xfail,
strict, with the reason. What needs a hand that the harness neither has nor lists is skipped
with the reason; ``pytest -rs`` shows one line for each such hand. It says nothing of the
store: write the hand, and it is checked.
"""

import asyncio
import inspect
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, TypeVar

try:
    import pytest
except ImportError as missing:
    raise ImportError(
        "jsmemory.testing.pytest_cases needs pytest. Install it, or run the cases with jsmemory.testing.run_cases."
    ) from missing

from jsmemory.testing.case import Case
from jsmemory.testing.cases import BACKEND_CASES, STORE_CASES
from jsmemory.testing.harness import BackendHarness, Harness, Lacking
from jsmemory.testing.run import check_case, known_gaps, refuse_slips, unchecked_for

H = TypeVar("H", bound=Harness)


def store_cases(harness: type[Harness]) -> Callable[..., None]:
    """A test of every promise that a store makes; give it a name that begins with ``test``."""
    return _test_of(harness, STORE_CASES)


def backend_cases(harness: type[BackendHarness]) -> Callable[..., None]:
    """A test of every promise that a driver makes to the store above it."""
    return _test_of(harness, BACKEND_CASES)


def _test_of(harness: type[H], cases: Iterable[Case[H]]) -> Callable[..., None]:
    cases = tuple(cases)
    refuse_slips(harness, cases)

    def test(case: Case[H], **fixtures: Any) -> None:
        try:
            asyncio.run(check_case(case, partial(harness, **fixtures)))
        except Lacking as error:
            if error.need in harness.lacks:
                raise  # it was said to, and is an xfail
            pytest.skip(f"not checked: {unchecked_for(error, harness)}")

    # pytest reads the fixtures that a test asks for from its signature.
    asked = [
        parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY)
        for parameter in inspect.signature(harness).parameters.values()
        if parameter.default is parameter.empty
        and parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY)
    ]
    case_parameter = inspect.Parameter("case", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    test.__signature__ = inspect.Signature([case_parameter, *asked])  # type: ignore[attr-defined]
    test.__doc__ = f"Every promise, on {harness.__name__}."
    parametrised: Callable[..., None] = pytest.mark.parametrize("case", [_parameter(case, harness) for case in cases])(
        test
    )
    return parametrised


def _parameter(case: Case[H], harness: type[H]) -> Any:
    reason = known_gaps(case, harness)
    marks = [] if reason is None else [pytest.mark.xfail(strict=True, reason=reason)]
    return pytest.param(case, id=case.name, marks=marks)
