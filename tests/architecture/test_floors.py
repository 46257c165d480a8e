"""
The plan of the house, held against the import lists: also those inside functions and those for
type checkers, since a room that is only named in an annotation is still a room that is known.
"""

import ast
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import pytest

import jsmemory

HOUSE: Final = Path(jsmemory.__file__).parent

FLOORS: Final[tuple[tuple[str, ...], ...]] = (
    ("jsmemory.limits", "jsmemory.findings"),
    ("jsmemory.errors",),
    ("jsmemory.keys",),
    ("jsmemory.entries",),
    ("jsmemory.frontmatter", "jsmemory.scope", "jsmemory.live"),
    ("jsmemory.store",),
    ("jsmemory.backend", "jsmemory.registration"),
    ("jsmemory.backed_store",),
    (
        "jsmemory.backends.in_process",
        "jsmemory.backends.file",
        "jsmemory.backends.jetstream",
        "jsmemory.connecting",
        "jsmemory.layers",
        "jsmemory.tools",
    ),
    ("jsmemory.journal", "jsmemory.opening", "jsmemory.moving"),
    ("jsmemory.running", "jsmemory.examining", "jsmemory.provisioning"),
    ("jsmemory.compacting",),
    ("jsmemory.testing",),
    ("jsmemory",),
    ("jsmemory.cli",),
)
"""The rooms, floor by floor from the ground. A room imports itself and what is on lower floors."""

OUTSIDERS: Final[Mapping[str, tuple[str, ...]]] = {
    "nats": ("jsmemory.backends.jetstream", "jsmemory.connecting", "jsmemory.testing"),
    "yaml": ("jsmemory.frontmatter", "jsmemory.opening"),
    "typer": ("jsmemory.cli",),
    "rich": ("jsmemory.cli",),
    "matplotlib": ("jsmemory.cli",),
    "cryptography": ("jsmemory.provisioning.cluster",),
    "pytest": ("jsmemory.testing.pytest_cases", "jsmemory.testing.pytest_servers"),
}
"""Who may import what is not ours and not everybody's."""

LONGEST: Final = 300
"""Lines of a module, after which two rooms may share one door."""

LONGER: Final[Mapping[str, str]] = {
    "jsmemory.errors": "the tree of errors is read as one page",
    "jsmemory.running.run": "the life of one run, from its beginning to every way out",
}
"""Modules that are longer, each with the reason."""


def _modules() -> dict[str, Path]:
    modules = {}
    for path in sorted(HOUSE.rglob("*.py")):
        parts = ("jsmemory", *path.relative_to(HOUSE).with_suffix("").parts)
        modules[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return modules


MODULES: Final = _modules()


def _imports(module: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(MODULES[module].read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports name their module in full"
            assert node.module is not None
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                yield inner if inner in MODULES else node.module


def _is_in(module: str, room: str) -> bool:
    return module == room or (room != "jsmemory" and module.startswith(f"{room}."))


def _place(module: str) -> tuple[int, str]:
    """The floor and the room of a module."""
    for floor, rooms in enumerate(FLOORS):
        for room in rooms:
            if _is_in(module, room):
                return floor, room
    raise LookupError(module)


# Packages whose front is empty: they are corridors, and no room.
CORRIDORS: Final = {"jsmemory.backends"}


@pytest.mark.parametrize("module", [module for module in MODULES if module not in CORRIDORS])
def test_a_room_knows_only_itself_and_lower_floors(module: str) -> None:
    """Whoever changes a room must be able to tell from its floor whom that can touch."""
    floor, room = _place(module)
    wrong = []
    for name in _imports(module):
        if name.split(".")[0] == "jsmemory" and name not in CORRIDORS:
            their_floor, their_room = _place(name)
            if their_room != room and their_floor >= floor:
                wrong.append(name)
    assert wrong == []


def test_a_corridor_is_empty() -> None:
    """Code in the front of a package that holds rooms would belong to none of them."""
    for corridor in CORRIDORS:
        body = ast.parse(MODULES[corridor].read_text()).body
        assert all(isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) for node in body)


@pytest.mark.parametrize("outsider", OUTSIDERS)
def test_a_foreign_package_stays_where_it_belongs(outsider: str) -> None:
    """A host that uses files alone must not need a NATS client, nor a worker a terminal or a test runner."""
    rooms = OUTSIDERS[outsider]
    wrong = [
        module
        for module in MODULES
        if any(name.split(".")[0] == outsider for name in _imports(module))
        and not any(_is_in(module, room) for room in rooms)
    ]
    assert wrong == []


def test_the_command_line_comes_in_by_the_front_door() -> None:
    """What it needs from inside, a customer would need too: then it belongs to the front door."""
    doors = {"jsmemory", "jsmemory.cli", "jsmemory.testing"}
    for module in MODULES:
        if _is_in(module, "jsmemory.cli"):
            ours = {name for name in _imports(module) if name.split(".")[0] == "jsmemory"}
            assert {name for name in ours if not any(_is_in(name, door) for door in doors)} == set(), module


def test_no_module_is_longer_than_a_few_screens() -> None:
    """A room that nobody overlooks is two rooms with one door."""
    long = {module for module, path in MODULES.items() if len(path.read_text().splitlines()) > LONGEST}
    assert long == set(LONGER)


@pytest.mark.parametrize(
    ("statement", "unwanted"),
    [
        ("import jsmemory", {"nats", "yaml", "typer", "rich", "pytest", "anyio"}),
        ("import jsmemory.tools", {"nats", "typer", "rich", "pytest"}),
        ("import jsmemory.testing", {"nats", "typer", "rich", "pytest", "_pytest", "hypothesis"}),
        ("from jsmemory.testing import servers", {"typer", "rich", "pytest", "_pytest"}),
        ("from jsmemory import FileStore", {"nats", "typer", "rich", "pytest"}),
        ("from jsmemory import JetStreamStore", {"typer", "rich", "pytest"}),
        ("from jsmemory.cli.application import command; command(['list'])", {"nats", "pytest"}),
    ],
)
def test_an_import_brings_only_what_it_needs(statement: str, unwanted: set[str]) -> None:
    """Every process of a fleet pays for an import, in time and in what has to be installed."""
    script = f"{statement}; import sys; print(*sorted({{name.split('.')[0] for name in sys.modules}}))"
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert set(ran.stdout.split()) & unwanted == set()
