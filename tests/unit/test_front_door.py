"""The front door: what `import jsmemory` offers, and what it does not load."""

import subprocess
import sys
from importlib.metadata import version

import pytest

import jsmemory
from jsmemory import errors, limits

HEAVY = ("nats", "yaml", "typer", "rich", "pytest", "jsmemory.cli", "jsmemory.testing")


def loaded_after(statements: str) -> set[str]:
    """Which of the heavy modules a fresh interpreter has loaded after the statements."""
    program = f"import sys\n{statements}\nprint(*[name for name in {HEAVY!r} if name in sys.modules])"
    ran = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    return set(ran.stdout.split())


@pytest.mark.parametrize(
    ("statements", "may_load"),
    [
        ("import jsmemory", set()),
        ("from jsmemory import Store, Scope, StaleEntryError\nStore, Scope, StaleEntryError", set()),
        ("import jsmemory; dir(jsmemory)", set()),
        ("from jsmemory import MemoryTools", set()),
        ("from jsmemory import InProcessStore", {"yaml"}),
        ("from jsmemory import open_store, Configuration", {"yaml"}),
        ("from jsmemory import FileStore", {"yaml"}),
        (
            "import asyncio\nfrom jsmemory import open_store\n"
            "asyncio.run(open_store({'backend': 'in_process'}, identity='alice'))",
            {"yaml"},
        ),
    ],
)
def test_a_name_loads_what_it_needs_and_no_more(statements: str, may_load: set[str]) -> None:
    """A worker that only handles stores would pay for a NATS client in every process it starts."""
    assert loaded_after(statements) <= may_load


@pytest.mark.parametrize("name", jsmemory.__all__)
def test_every_public_name_is_there_and_listed(name: str) -> None:
    """A name that is promised and missing fails in the middle of somebody's deployment."""
    assert getattr(jsmemory, name) is not None
    assert name in dir(jsmemory)


def test_every_error_and_every_limit_is_public() -> None:
    """An error that can be raised and not be named can only be caught with all others."""
    raised = {name for name, value in vars(errors).items() if isinstance(value, type) and issubclass(value, Exception)}
    numbers = {name for name in vars(limits) if name.startswith("MAX_")}
    assert raised | numbers <= set(jsmemory.__all__)


def test_a_star_import_brings_all_public_names() -> None:
    """In a notebook, and in a module that passes the contract on."""
    names: dict[str, object] = {}
    exec("from jsmemory import *", names)
    assert set(jsmemory.__all__) <= set(names)


def test_a_name_that_is_not_there_is_refused_as_by_any_module() -> None:
    """hasattr and copy ask for names that are not there, and expect this error."""
    with pytest.raises(AttributeError, match="no_such_name"):
        jsmemory.no_such_name  # noqa: B018


def test_the_version_is_that_of_the_distribution() -> None:
    """Whoever reports a fault names it."""
    assert jsmemory.__version__ == version("jsmemory")
